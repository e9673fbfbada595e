// What every Node client asks; test_node.py says what it must be told.
const call = {
  name: 'no-rm',
  event: 'tools/call',
  phase: 'request',
  payload: { name: 'shell', arguments: { command: 'rm -rf /' } },
};

export async function converse(ask, ErrorType) {
  const invoke = (changed) => ask('interceptor/invoke', { ...call, ...changed });
  const refusal = async (changed) => {
    try {
      return { answered: await invoke(changed) };
    } catch (error) {
      if (!(error instanceof ErrorType)) throw error;
      return { code: error.code, data: error.data };
    }
  };
  return {
    list: await ask('interceptors/list', {}),
    denied: await invoke({ timeoutMs: 500 }),
    allowed: await invoke({ payload: { name: 'shell', arguments: { command: 'ls' } } }),
    masked: await invoke({ name: 'mask', payload: { name: 'employee-7', n: 1.5 } }),
    unknown: await refusal({ name: 'nobody' }),
    fragile: await refusal({ name: 'fragile' }),
    phase: await refusal({ phase: 'both' }),
  };
}
