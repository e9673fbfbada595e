"""How late an evaluation ends that is stopped by its deadline, and what it holds up meanwhile.

    python benchmarks/deadline.py

Each expression would take longer than the deadline; printed is by how many milliseconds it
overran, the best of five because machines are busy.  What cannot be interrupted is refused before
it begins, and shows as a negative number.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from typing import Any

from policyd.chain import Chain
from policyd.compiler import compile_bundle
from policyd.engine import Engine
from policyd.errors import Cause, EvaluationError
from policyd.expr.cel import Program, compile_cel
from policyd.expr.jmes import compile_jmespath
from policyd.expression import Budget, Scope
from policyd.source import make_bundle

SECONDS = 0.02
MB = 1 << 20


def nested(depth: int) -> Any:
    """A list in a list in a list."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def payloads() -> Iterator[tuple[str, str, Any]]:
    """What is slow about it, the expression, and the payload, about 4 MB as JSON."""
    numbers = list(range(500_000))
    letters = "".join(random.Random(1).choices("ab", k=4 * MB))
    words = [f"word {number}" for number in range(300_000)]
    rows = [{"id": number, "tags": ["a", "b"]} for number in range(100_000)]
    yield "3 loops", "p.all(x, p.all(y, p.all(z, x.id + y.id + z.id >= 0)))", rows
    yield "3 loops that build", "p.map(x, p.map(y, p.map(z, [x.id, y.id, z.id])))", rows[:2000]
    yield "a loop over a map", "p.all(k, p[k] >= 0)", {str(number): number for number in numbers}
    yield "equality", "p[0] == p[1]", [numbers, list(numbers)]
    yield "equality of deep lists", "p[0] == p[1]", [nested(MB), nested(MB)]
    yield "in, of texts", "'x' in p", words
    yield "in, of numbers", "-1 in p", numbers
    yield "sort", "p.sort()", words[:100_000]
    yield "sortBy", "p.sortBy(x, -x)", numbers[:100_000]
    yield "distinct", "p.distinct()", [number * (2**61 - 1) for number in numbers[:100_000]]
    yield "sets", "sets.equivalent(p, p)", words
    yield "flatten", "p.flatten(9)", [[[1]]] * 90_000
    yield "join", "p.map(x, p.join().size())", words[:60_000]
    yield "format", "'%s'.format([p])", dict.fromkeys(words[:90_000], 1)
    yield "replace", "lists.range(1000).map(x, p.replace('a', 'b'))", letters[:MB]
    yield "contains", "lists.range(1000).map(x, p.contains('bbbbbbbbbbbbbbbbbbbbbbbbb'))", letters
    yield "a plain pattern", "lists.range(1000).exists(x, p.matches('[cd]$'))", letters
    yield "a pattern that is slow", "p.matches('(?:a|b)*a(?:a|b){40}c')", letters
    yield "a pattern that is slower", r"p.matches('\\p{L}{100}x')", "é" * (2 * MB)
    yield "extractAll", "regex.extractAll(p, 'ab').size()", "ab" * 99_000
    yield "json", "json(p)", "[" + "[]," * (MB // 3 - 2) + "1]"
    yield "normalize", "normalize(p)", "㌀" * 200_000
    yield "detect", "detect(p, 'pii')", "1234567890" * 400_000
    yield "glob", "glob(p, '*a??????????????????b')", letters


def overrun(program: Any, payload: Any, name: str) -> tuple[float, str]:
    """Milliseconds after the deadline, and how the evaluation ended."""
    deadline = time.monotonic() + SECONDS
    try:
        program({name: payload}, Budget(10**12, deadline))
        how = "done"
    except EvaluationError as error:
        how = "stopped" if error.cause is Cause.DEADLINE else error.reason
    return (time.monotonic() - deadline) * 1e3, how


POLICY = """
policyd: v1
validators:
  - name: slow
    timeout: 500ms
    match: {events: [x], phase: request}
    rules:
      - id: r
        deny: payload.l.exists(a, payload.l.exists(b, payload.l.exists(c, a + b + c < 0)))
        message: m
"""
PROBE = 0.01


async def held(payload: Any) -> float:
    """The most milliseconds that an event loop is held while a chain runs out of time."""
    compilation = compile_bundle(make_bundle({"p.yaml": POLICY}))
    assert compilation.snapshot is not None
    chain = Chain()
    chain.add_engine(Engine(compilation.snapshot))
    running = asyncio.create_task(chain.execute("x", "request", payload))
    worst, last = 0.0, time.monotonic()
    while not running.done():
        await asyncio.sleep(PROBE)
        now = time.monotonic()
        worst, last = max(worst, now - last - PROBE), now
    return worst * 1e3


def main() -> None:
    """Print the table."""
    print(f"deadline {SECONDS * 1e3:.0f} ms; milliseconds from it to the end\n")
    for title, text, payload in payloads():
        program = compile_cel(text, Scope(frozenset({"p"})))
        assert isinstance(program, Program), program
        late, how = min(overrun(program, payload, "p") for _ in range(5))
        print(f"{title:26}{late:8.1f}  {how}")
    rows = [{"id": number, "tags": ["a", "b"]} for number in range(100_000)]
    for text in ("[?tags[?@ == 'c']].id", "sort_by(@, &id)[0]", "[].tags[] | sort(@)"):
        jmespath: Any = compile_jmespath(text)
        late, how = min(overrun(jmespath, rows, "payload") for _ in range(5))
        print(f"{'JMESPath ' + text:40.40}{late:8.1f}  {how}")
    print(f"\nthree loops for 500 ms; a probe every {PROBE * 1e3:.0f} ms is late by milliseconds\n")
    for title, count in (("4 KB", 1_000), ("4 MB", 600_000)):
        payload = {"l": list(range(count))}
        print(f"{title:26}{min(asyncio.run(held(payload)) for _ in range(5)):8.1f}")


main()
