// The v2 line of the Node SDK against a policyd server.
// Arguments: legacy|auto, then http URL | stdio COMMAND ARGUMENTS...; prints what it saw as JSON.
import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import * as z from 'zod';
import { converse } from './conversation.mjs';

const [mode, kind, target, ...args] = process.argv.slice(2);
const transport =
  kind === 'http'
    ? new StreamableHTTPClientTransport(new URL(target))
    : new StdioClientTransport({ command: target, args, stderr: 'ignore' });
const client = new Client(
  { name: 'node-v2', version: '1.0.0' },
  { versionNegotiation: { mode }, capabilities: {} },
);
await client.connect(transport);
const anything = z.looseObject({});
const ask = (method, params) => client.request({ method, params }, anything, { timeout: 10000 });
const seen = await converse(ask, ProtocolError);
seen.capabilities = client.getServerCapabilities();
seen.server = client.getServerVersion();
seen.protocol = client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify(seen));
