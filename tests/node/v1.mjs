// The v1 line of the Node SDK (handshake era only) against a policyd server.
// Arguments: http URL | stdio COMMAND ARGUMENTS...; prints what it saw as one JSON object.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { converse } from './conversation.mjs';

const [kind, target, ...args] = process.argv.slice(2);
const transport =
  kind === 'http'
    ? new StreamableHTTPClientTransport(new URL(target))
    : new StdioClientTransport({ command: target, args, stderr: 'ignore' });
const client = new Client({ name: 'node-v1', version: '1.0.0' }, { capabilities: {} });
await client.connect(transport);
const ask = (method, params) => client.request({ method, params }, ResultSchema, { timeout: 10000 });
const seen = await converse(ask, McpError);
seen.capabilities = client.getServerCapabilities();
seen.server = client.getServerVersion();
await client.close();
console.log(JSON.stringify(seen));
