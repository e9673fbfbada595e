"""Imports point down, and each third-party package has its owners.

The two tables are the law; a module that is in neither row fails.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "policyd"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("diagnostics", "events", "logs", "pointer.one", "envelope"),
    ("pointer.many",),
    ("pointer",),
    ("types.kinds",),
    ("types.relations",),
    ("types.schema",),
    ("types.moments",),
    ("types",),
    ("errors", "patch"),
    ("model", "expression"),
    ("pattern_mistakes",),
    ("pattern",),
    # places of a payload or a file
    ("source.survey", "document.scalars", "wire.dialect", "detectors.detector"),
    ("source", "document.places", "document.syntax", "wire.admission", "wire.encoding"),
    ("document.compose", "document.encoding", "wire.*", "detectors.*"),
    ("wire.answers", "detectors.catalog", "detectors.custom"),
    ("detectors.gitleaks",),
    ("document", "wire", "detectors", "activation"),
    ("redaction.readable", "redaction.names", "redaction.hidden", "redaction.embedded"),
    ("redaction.strategy", "redaction.scope"),
    ("redaction.finding",),
    ("redaction.text",),
    ("redaction.walk", "redaction.safe"),
    ("redaction.document",),
    ("redaction",),
    ("schema", "policy", "tools", "expr.jmes", "expr.recursion"),
    ("detection",),
    ("expr.shape",),
    # what a server is told
    ("settings.kinds",),
    ("settings.table",),
    ("settings.values", "settings.describe"),
    ("settings.file",),
    ("settings.overrides",),
    ("settings",),
    # CEL: text, tree, functions, check, the two ways to evaluate
    ("expr.cel.bounds",),
    ("expr.cel.function", "expr.cel.values"),
    ("expr.cel.tree",),
    ("expr.cel.macros", "expr.cel.kinds", "expr.cel.literals", "expr.cel.ordering"),
    ("expr.cel.operators", "expr.cel.optional", "expr.cel.python", "expr.cel.shortcuts"),
    ("expr.cel.lex", "expr.cel.loops"),
    ("expr.cel.interpret",),
    ("expr.cel.parse",),
    ("expr.cel.functions.addresses", "expr.cel.functions.keys", "expr.cel.functions.scalars"),
    ("expr.cel.functions.arguments",),
    ("expr.cel.functions.*",),
    ("expr.cel.functions",),
    ("expr.cel.suggest",),
    ("expr.cel.check",),
    ("expr.cel.infer.operators", "expr.cel.infer.signatures", "expr.cel.infer.world"),
    ("expr.cel.infer.told",),
    ("expr.cel.infer.visit",),
    ("expr.cel.infer.fields", "expr.cel.infer.operations"),
    ("expr.cel.infer.macros",),
    ("expr.cel.infer",),
    ("expr.cel.generate",),
    ("expr.cel.program", "expr.cel.parts"),
    ("expr.cel.trace", "expr.cel.faults"),
    ("expr.cel",),
    ("expr.message",),
    ("expr",),
    # rules, and what they make
    ("site",),
    ("rules.kinds", "rules.reach", "rules.strategy"),
    ("rules.*",),
    ("rules",),
    ("interceptor",),
    # whether what a policy says can happen
    ("reachability.globs", "reachability.identity", "reachability.places"),
    ("reachability.domain", "reachability.duplicates", "reachability.paths"),
    ("reachability.fold",),
    ("reachability.facts",),
    ("reachability.formula",),
    ("reachability.search",),
    ("reachability.words",),
    ("reachability.conditions",),
    ("reachability",),
    # what loads and is probably not meant
    ("slips.conditions", "slips.texts"),
    ("slips",),
    ("execution",),
    ("snapshot",),
    ("compiler", "engine"),
    ("functions", "observation"),
    ("explanation.terms",),
    ("explanation",),
    ("reload", "api", "testing.cases", "testing.comparison", "testing.faults"),
    ("testing.run",),
    ("testing.watch",),
    ("testing.proof", "testing.coverage"),
    ("testing",),
    # chains: how servers are called, what is hosted where, how it is run
    ("ports.port", "ports.backoff"),
    ("ports.answer", "ports.calls", "ports.connection"),
    ("ports.session", "ports.http"),
    ("ports.client",),
    ("ports.url",),
    ("ports.opening",),
    ("ports",),
    ("chain.overrides", "chain.entry", "chain.arguments"),
    ("chain.local", "chain.remote", "chain.route"),
    ("chain.run",),
    ("chain",),
    # the edge
    ("middleware.sdk", "middleware.chains", "middleware.embedded", "middleware.stamps"),
    ("middleware.context", "middleware.log", "middleware.order"),
    ("middleware.errors",),
    ("middleware.exchange",),
    ("middleware.outbound",),
    ("middleware.*",),
    ("middleware",),
    ("server.bundle", "server.judgement", "server.listings", "server.merging", "server.method"),
    ("server.methods",),
    ("server.functions", "server.protocol", "server.readiness"),
    ("server.headers", "server.lane"),
    ("server.access", "server.connection", "server.gate", "server.stdio"),
    ("server.door",),
    ("server.http",),
    ("server",),
    ("cli.exits",),
    ("cli.render",),
    ("cli.settings",),
    ("cli.catalog", "cli.policies", "cli.coverage", "cli.payload"),
    ("cli.*",),
    ("cli",),
    ("", "__main__"),
)
"""Lowest first: a module imports only from rows above its own, never sideways."""

OWNERS: dict[str, tuple[str, ...]] = {
    "ada_url": ("expr.cel.functions.network",),
    "aiohttp": ("ports.http",),
    "anyio": (
        "chain",
        "chain.*",
        "functions",
        "middleware.*",
        "ports.*",
        "reload",
        "server",
        "server.*",
        "source",
    ),
    "click": ("cli", "cli.*"),
    "httpx2": ("ports.client",),
    "jiter": ("wire.encoding",),
    "jmespath": ("expr.jmes",),
    "jsonschema": ("schema",),
    "jsonschema_rs": ("expr.shape",),
    "lark": ("expr.cel.parse",),
    "jwt": ("server.access",),
    "mcp": ("middleware.*", "ports.*", "server", "server.*"),
    "mcp_types": ("middleware.*", "ports.*", "server.*"),
    "orjson": ("wire.encoding",),
    "pydantic": ("middleware.*", "ports.*", "server.*"),
    "re2": ("pattern",),
    "rich": ("cli.render",),
    "starlette": ("server.*",),
    "stdnum": ("detectors", "detectors.*"),
    "uvicorn": ("server.*",),
    "watchfiles": ("source",),
    "yaml": ("document", "document.*"),
}
"""Who may import a third-party package."""


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), path


def covers(pattern: str, module: str) -> bool:
    if pattern.endswith(".*"):
        return module.startswith(pattern[:-1]) and "." not in module[len(pattern) - 1 :]
    return pattern == module


def layer(module: str) -> int | None:
    exact = [i for i, row in enumerate(LAYERS) if module in row]
    globbed = [i for i, row in enumerate(LAYERS) if any(covers(p, module) for p in row)]
    return next(iter(exact + globbed), None)


NAMES = dict(modules())


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner.removeprefix("policyd.") in NAMES else node.module


@pytest.mark.parametrize("module", NAMES, ids=lambda name: name or "policyd")
def test_every_module_has_a_layer_and_imports_only_from_lower_ones(module: str) -> None:
    own = layer(module)
    assert own is not None, f"{module} is in no layer"
    for name in imported(NAMES[module]):
        target = name.removeprefix("policyd.")
        if name.startswith("policyd.") and target in NAMES and target != module:
            below = layer(target)
            assert below is not None
            assert below < own, f"{module} imports {target}, which is not below it"


@pytest.mark.parametrize("module", NAMES, ids=lambda name: name or "policyd")
def test_every_third_party_package_is_imported_by_its_owners_only(module: str) -> None:
    for name in imported(NAMES[module]):
        root = name.split(".")[0]
        if root in ("policyd", "__future__") or root in sys.stdlib_module_names:
            continue
        assert root in OWNERS, f"{module} imports {root}, which has no owner"
        assert any(covers(owner, module) for owner in OWNERS[root]), f"{module} imports {root}"


def test_every_row_of_the_tables_names_something_that_exists() -> None:
    patterns = {p for row in LAYERS for p in row} | {p for row in OWNERS.values() for p in row}
    unused = {p for p in patterns if not any(covers(p, module) for module in NAMES)}
    assert unused == set()
