// Chains over the sessions of one generation of the client.  Reads one JSON object a line from
// standard input and answers each with one on standard output:
// {"op": "attach" | "ask" | "execute" | "detach" | "descriptors" | "result", ...}.
import { createInterface } from 'node:readline';
import { execute, matches, outcome, readList, readResult } from './chain.mjs';

// `connect({url, command, era})` makes a client; `request` sends whatever method over it
export async function run({ connect, request, refused }) {
  const clients = new Map();
  const asking = (client) => (method, params) => request(client, method, params);
  const ops = {
    async attach(question) {
      const client = await connect(question);
      const chain = clients.size + 1;
      clients.set(chain, client);
      readList(await request(client, 'interceptors/list', {})); // throws
      return {
        chain,
        protocol: client.getNegotiatedProtocolVersion?.(),
        server: client.getServerVersion(),
        capabilities: client.getServerCapabilities(),
      };
    },
    async ask({ chain, method, params }) {
      try {
        return { result: await request(clients.get(chain), method, params) };
      } catch (error) {
        if (!(error instanceof refused)) throw error;
        return { refusal: { code: error.code, message: error.message, data: error.data } };
      }
    },
    execute: ({ chain, ...invocation }) => execute(asking(clients.get(chain)), invocation),
    async detach({ chain }) {
      await clients.get(chain).close();
      return {};
    },
    descriptors({ answer }) {
      const hooked = readList(answer).filter((entry) => matches(entry, 'tools/call', 'request'));
      return { hooked: hooked.map((entry) => entry.name) };
    },
    result: ({ answer }) => ({ outcome: outcome(readResult(answer)) }),
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const { op, ...question } = JSON.parse(line);
    let reply;
    try {
      reply = await ops[op](question);
    } catch (error) {
      reply = { error: String(error) };
    }
    console.log(JSON.stringify(reply));
  }
}
