// The v1 line of the Node SDK: the handshake era only.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { run } from './program.mjs';

await run({
  async connect({ url, command }) {
    const client = new Client({ name: 'node-v1', version: '1.0.0' }, { capabilities: {} });
    await client.connect(
      url
        ? new StreamableHTTPClientTransport(new URL(url))
        : new StdioClientTransport({ command: command[0], args: command.slice(1) }),
    );
    return client;
  },
  request: (client, method, params) => client.request({ method, params }, ResultSchema),
  refused: McpError,
});
