// An interceptor chain as the TypeScript interceptors SDK runs it: our own restatement of what
// its schemas accept and what it makes of the answers (that package is not published).
import * as z from 'zod';

// optional members may be missing, never null
const phase = z.enum(['request', 'response']);
const priority = z.object({ request: z.number().optional(), response: z.number().optional() });
const severity = z.enum(['info', 'warn', 'error']);

const descriptor = z.object({
  name: z.string(),
  version: z.string().optional(),
  description: z.string().optional(),
  type: z.enum(['validation', 'mutation', 'sink']),
  hooks: z.array(z.object({ events: z.array(z.string()), phase })),
  mode: z.enum(['active', 'enforce', 'audit']).optional(),
  failOpen: z.boolean().optional(),
  priorityHint: z.union([z.number(), priority]).optional(),
  compat: z.object({ minProtocol: z.string(), maxProtocol: z.string().optional() }).optional(),
  configSchema: z.unknown(),
});

const list = z.object({ interceptors: z.array(descriptor), nextCursor: z.string().optional() });

const envelope = {
  interceptor: z.string().optional(),
  phase,
  durationMs: z.number().optional(),
  info: z.record(z.string(), z.unknown()).optional(),
};

const validation = z.object({
  ...envelope,
  type: z.literal('validation'),
  valid: z.boolean(),
  severity: severity.optional(),
  messages: z
    .array(z.object({ path: z.string().optional(), message: z.string(), severity }))
    .optional(),
  suggestions: z.array(z.object({ path: z.string(), value: z.unknown() })).optional(),
});

const mutation = z.object({
  ...envelope,
  type: z.literal('mutation'),
  modified: z.boolean(),
  payload: z.unknown().optional(),
});

const sink = z.object({
  ...envelope,
  type: z.literal('sink'),
  recorded: z.boolean(),
  metrics: z.record(z.string(), z.number()).optional(),
});

const result = z.discriminatedUnion('type', [validation, mutation, sink]);

export const readList = (answer) => list.parse(answer).interceptors;
export const readResult = (answer) => result.parse(answer);

// of a verdict only the severity on top decides
const blocks = (verdict) => verdict.valid === false && verdict.severity === 'error';
const replaces = ({ modified, payload }) => modified === true && payload !== undefined;

export const outcome = (read) =>
  blocks(read) ? 'blocks' : replaces(read) ? 'replaces' : 'passes';

export const matches = (entry, event, at) =>
  entry.hooks.some(
    (hook) => hook.phase === at && (hook.events.includes(event) || hook.events.includes('*')),
  );

const priorityAt = (entry, at) =>
  typeof entry.priorityHint === 'object' ? entry.priorityHint[at] ?? 0 : entry.priorityHint ?? 0;

// One execution: `ask(method, params)` reaches the server, which is listed anew each time.
export async function execute(ask, { event, phase: at, payload, context }) {
  const entries = readList(await ask('interceptors/list', {}));
  const done = { status: 'success', aborts: [], findings: [], failures: [], called: [] };
  let current = payload;

  const matching = (type) => {
    const found = entries.filter((entry) => entry.type === type && matches(entry, event, at));
    done.called.push(...found.map((entry) => entry.name));
    return found;
  };
  const invoke = async ({ name }) =>
    readResult(await ask('interceptor/invoke', { name, event, phase: at, payload: current, context }));
  const abort = (entry, reason, status) => {
    done.status = status;
    done.aborts.push({ interceptor: entry.name, reason, type: entry.type });
  };
  const fail = (entry, { code = 0, message, data }, status) => {
    done.failures.push({ interceptor: entry.name, code, message, data });
    if (entry.mode !== 'audit' && !entry.failOpen) abort(entry, message, status);
  };

  async function validate() {
    const validators = matching('validation');
    const answers = await Promise.allSettled(validators.map(invoke));
    answers.forEach(({ value, reason }, i) => {
      const entry = validators[i];
      if (value === undefined) return fail(entry, reason, 'validation_failed');
      for (const told of value.messages ?? []) {
        done.findings.push({ interceptor: entry.name, ...told });
      }
      if (blocks(value) && entry.mode !== 'audit') {
        abort(entry, value.messages?.[0]?.message ?? '', 'validation_failed');
      }
    });
  }

  async function mutate() {
    const mutators = matching('mutation').sort(
      (a, b) => priorityAt(a, at) - priorityAt(b, at) || a.name.localeCompare(b.name),
    );
    for (const entry of mutators) {
      try {
        const answer = await invoke(entry);
        if (replaces(answer) && entry.mode !== 'audit') current = answer.payload;
      } catch (error) {
        fail(entry, error, 'mutation_failed');
        if (done.status !== 'success') return;
      }
    }
  }

  // a client's posture: what it sends is changed and then judged, what it gets the other way
  const steps = at === 'request' ? [mutate, validate] : [validate, mutate];
  for (const step of steps) if (done.status === 'success') await step();
  return { ...done, finalPayload: current }; // after an abort: what there was until then
}
