"""What a condition and a decision cost, beside other engines, in one run.

    python benchmarks/decide.py

Prints medians in microseconds and, for each engine, how many times ours it takes.  Machines
differ and are busy: compare columns, not runs.  cel-python is the interpreter that people use
from Python; cel-expr-python is Google's C++ engine (both dev dependencies).
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from policyd import Invocation, compile_bundle
from policyd.expr.cel import Program, Result, compile_cel
from policyd.expression import Budget, Scope
from policyd.source import make_bundle

PREDICATES = {
    "list": 'payload.name in ["rm", "shell"]',
    "prefix": 'has(payload.arguments.path) && payload.arguments.path.startsWith("/etc")',
    "role": 'principal.claims.roles.exists(r, r == "admin")',
    "number": "payload.arguments.timeout > 0 && payload.arguments.timeout <= 300",
    "sizes": "payload.arguments.all(k, size(k) < 100)",
    "pattern": r'payload.arguments.url.matches("^https://([a-z0-9-]+\\.)*example\\.com(/|$)")',
    "ternary": 'principal.claims.tier == "free" ? size(payload.arguments) <= 3 : true',
}

PRINCIPAL = {"type": "user", "id": "u", "claims": {"roles": ["dev", "admin"], "tier": "free"}}


def payload(size: int) -> dict[str, Any]:
    """A tool call of about *size* bytes."""
    arguments: dict[str, Any] = {
        "path": "/srv/data/a.txt",
        "url": "https://api.example.com/v1/items?limit=10",
        "timeout": 30,
    }
    base = len(json.dumps({"name": "shell", "arguments": arguments}))
    arguments["notes"] = ["lorem ipsum dolor sit amet " * 2] * max(0, (size - base) // 58)
    return {"name": "shell", "arguments": arguments}


def cost(run: Callable[[], Any], seconds: float = 0.15) -> float:
    """Median microseconds of one call, over five batches."""
    run()
    started = time.perf_counter()
    run()
    count = max(1, int(seconds / max(time.perf_counter() - started, 1e-7) / 5))
    batches = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(count):
            run()
        batches.append((time.perf_counter() - started) / count * 1e6)
    return statistics.median(batches)


def ours(text: str, values: dict[str, Any]) -> Callable[[], Any]:
    """The condition in policyd."""
    program = compile_cel(text, Scope(frozenset(values)), Result.BOOL)
    assert isinstance(program, Program)
    return lambda: program(values, Budget(1_000_000, math.inf))


def cel_python(text: str, values: dict[str, Any]) -> Callable[[], Any]:
    """The condition in cel-python's interpreter, the payload converted beforehand."""
    import celpy

    environment = celpy.Environment()
    program = environment.program(environment.compile(text))
    converted = {name: celpy.json_to_cel(value) for name, value in values.items()}
    return lambda: program.evaluate(converted)


def cel_cpp(text: str, values: dict[str, Any]) -> Callable[[], Any]:
    """The condition in Google's engine; its payload is converted lazily, once."""
    from cel_expr_python import cel

    environment = cel.NewEnv(variables=dict.fromkeys(values, cel.Type.DYN))
    program = environment.compile(text)
    activation = environment.Activation(values)
    return lambda: program.eval(activation)


ENGINES = {"policyd": ours, "cel-python": cel_python, "cel-expr-python": cel_cpp}


def predicate_rows(values: dict[str, Any]) -> Iterator[tuple[str, list[float]]]:
    """Each predicate with its cost in each engine; nan where an engine is not installed."""
    for name, text in PREDICATES.items():
        costs = []
        for engine in ENGINES.values():
            try:
                costs.append(cost(engine(text, values)))
            except ImportError:
                costs.append(math.nan)
        yield name, costs


def chain(count: int) -> str:
    """A policy file of *count* validators, one rule each, none of which fires."""
    texts = [
        'has(args.path) && args.path.startsWith("/etc")',
        'tool in ["rm", "mkfs"]',
        "args.timeout > 300",
        'args.url.matches("^http://")',
    ]
    lines = ["policyd: v1", "validators:"]
    for index in range(count):
        lines += [
            f"  - name: v{index}",
            "    match: {events: [tools/call], phase: request}",
            f"    rules: [{{id: r, deny: '{texts[index % 4]}', message: denied}}]",
        ]
    return "\n".join(lines)


def print_table(title: str, header: list[str], rows: Iterator[tuple[str, list[float]]]) -> None:
    """Print costs, the first in microseconds and the others beside it."""
    print(f"\n{title}\n{'':12}" + "".join(f"{name:>18}" for name in header))
    for name, costs in rows:
        cells = [f"{costs[0]:18.2f}"]
        cells += [f"{c:10.2f} ({c / costs[0]:4.0f}x)" for c in costs[1:]]
        print(f"{name:12}" + "".join(cells))


def decision_rows() -> Iterator[tuple[str, list[float]]]:
    """Whole decisions of growing policy sets."""
    for count in (1, 10, 100):
        snapshot = compile_bundle(make_bundle({"p.yaml": chain(count)})).snapshot
        assert snapshot is not None
        invocation = Invocation("tools/call", "request", payload(1000))
        total = cost(lambda s=snapshot, i=invocation: s.decide(i))  # type: ignore[misc]
        yield f"{count} validators", [total]


def main() -> None:
    """Print both tables."""
    for size in (264, 5000):
        values = {"payload": payload(size), "principal": PRINCIPAL}
        title = f"one condition, {size} B payload, us (times ours)"
        print_table(title, list(ENGINES), predicate_rows(values))
    print_table("one decision, 1 KB payload, us", ["policyd"], decision_rows())


if __name__ == "__main__":
    main()
