// The v2 line of the Node SDK: both eras, `legacy` or whatever the server knows best (`auto`).
import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import * as z from 'zod';
import { run } from './program.mjs';

const anything = z.looseObject({});

await run({
  async connect({ url, command, era }) {
    const client = new Client(
      { name: 'node-v2', version: '1.0.0' },
      { versionNegotiation: { mode: era }, capabilities: {} },
    );
    await client.connect(
      url
        ? new StreamableHTTPClientTransport(new URL(url))
        : new StdioClientTransport({ command: command[0], args: command.slice(1) }),
    );
    return client;
  },
  request: (client, method, params) => client.request({ method, params }, anything),
  refused: ProtocolError,
});
