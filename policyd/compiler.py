"""From the policy files of one moment to one snapshot, or to everything that is wrong in them.

Never raises for a bad policy.  Knows neither where files come from nor what is in force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from policyd.diagnostics import Diagnostic, Report, Span
from policyd.document import Document, parse_document
from policyd.expr.shape import Shape
from policyd.expression import Expression
from policyd.interceptor import Guard, Interceptor, Mutator, PlacedCheck, PlacedStep, Validator
from policyd.model import Descriptor, Kind, Phase
from policyd.pattern import compile_glob
from policyd.policy import Node, Policy, parse_policies
from policyd.rules import CHECK_BUILDERS, STEP_BUILDERS
from policyd.schema import check_policy_document
from policyd.site import Site, open_site
from policyd.snapshot import Snapshot, make_snapshot
from policyd.source import Bundle


@dataclass(frozen=True, slots=True)
class Compilation:
    """What came of a bundle.

    snapshot: None when any diagnostic is an error.
    diagnostics: of all files, sorted by place.
    """

    snapshot: Snapshot | None
    diagnostics: tuple[Diagnostic, ...]


def compile_bundle(bundle: Bundle, *, allow_empty: bool = False) -> Compilation:
    """Compile all files of a bundle as one set.

    A set without policies is refused unless *allow_empty*, or each of its files says that it
    is empty on purpose.
    """
    report = Report()
    for diagnostic in bundle.diagnostics:
        report.add(diagnostic)
    policies: list[Policy] = []
    for source in bundle.files:
        own = Report()
        document = parse_document(source, own)
        if document is not None:
            policies += _policies(document, own)
        for diagnostic in own.diagnostics:
            report.add(diagnostic)
    if not bundle.files and not allow_empty:
        _refuse_empty(bundle, report)
    interceptors = _compile_policies(policies, report)
    _check_names(interceptors, report)
    if report.failed:
        return Compilation(None, report.diagnostics)
    snapshot = make_snapshot(bundle.revision, tuple(made for _, made in interceptors))
    return Compilation(snapshot, report.diagnostics)


def _policies(document: Document, report: Report) -> tuple[Policy, ...]:
    """The policies of a file; of one with mistakes in its shape, those that have none.

    They go no further than their own diagnostics, so that all mistakes are told at once.
    """
    return parse_policies(document, report, broken=check_policy_document(document, report))


def _refuse_empty(bundle: Bundle, report: Report) -> None:
    report.error(
        "no-policies",
        Span(bundle.name, 1, 1, 1, 1),
        "no policy files were found",
        "a policy file is called `NAME.yaml`; `--allow-empty` serves nothing on purpose",
    )


def _compile_policies(
    policies: Iterable[Policy], report: Report
) -> list[tuple[Policy, Interceptor]]:
    return [
        (policy, interceptor)
        for policy in policies
        for interceptor in _compile_policy(policy, report)
    ]


def _check_names(made: Iterable[tuple[Policy, Interceptor]], report: Report) -> None:
    first: dict[str, Policy] = {}
    for policy, interceptor in made:
        name = interceptor.descriptor.name
        taken = first.setdefault(name, policy)
        if taken is not policy:
            span = taken.node["name"].span
            text = f"the name `{name}` is taken: {span.file}:{span.line} has it"
            report.error("name-taken", policy.node["name"].span, text)


def _compile_policy(policy: Policy, report: Report) -> tuple[Interceptor, ...]:
    site, variables = open_site(policy, report)
    guard = _guard(policy, site)
    config_node = policy.node.get("configSchema")
    shape = None if config_node is None else site.shape(config_node)
    make = _validator if policy.kind is Kind.VALIDATION else _mutator
    finish = make(policy, site)
    if report.failed or finish is None:
        return ()
    return tuple(finish(descriptor, guard, variables, shape) for descriptor in _descriptors(policy))


_Finish = Callable[[Descriptor, Guard, Mapping[str, Expression], Shape | None], Interceptor]


def _validator(policy: Policy, site: Site) -> _Finish | None:
    placed: list[PlacedCheck] = []
    for rule in policy.rules:
        check = CHECK_BUILDERS[rule.kind](rule, site)
        if check is not None:
            place = f"{_where(rule.node[rule.kind])}: rule `{rule.id}`"
            placed.append(PlacedCheck(place, check))
    if len(placed) < len(policy.rules):
        return None
    where = _where(policy.node["name"])
    return lambda descriptor, guard, variables, shape: Validator(
        descriptor, guard, variables, shape, where, tuple(placed)
    )


def _mutator(policy: Policy, site: Site) -> _Finish | None:
    kind = policy.rules[0].kind
    step = STEP_BUILDERS[kind](policy.rules, site)
    if step is None:
        return None
    placed = PlacedStep(_where(policy.node[kind]), step)
    where = _where(policy.node["name"])
    return lambda descriptor, guard, variables, shape: Mutator(
        descriptor, guard, variables, shape, where, placed
    )


def _where(node: Node) -> str:
    span = node.span
    return f"{span.file}:{span.line}:{span.column}"


def _guard(policy: Policy, site: Site) -> Guard:
    hook = policy.hook
    when = None if hook.when is None else site.condition(hook.when)
    tools = None if hook.tools is None else _tool_test(hook.tools)
    return Guard(_where(hook.node), tools, when)


def _tool_test(tools: Node) -> Callable[[str], bool]:
    globs = tuple(compile_glob(pattern) for pattern in tools.value)
    return lambda name: any(glob(name) for glob in globs)


def _descriptors(policy: Policy) -> tuple[Descriptor, ...]:
    """One descriptor, or one for each phase where their priorities differ.

    The wire has a form for two priorities that older SDKs cannot read
    (SEP-2624 `priorityHint`), so the policy is split instead.
    """
    phases = policy.hook.phases
    if len({policy.priority[phase] for phase in phases}) == 1:
        return (_descriptor(policy, policy.name, phases),)
    return tuple(_descriptor(policy, f"{policy.name}/{phase}", (phase,)) for phase in phases)


def _descriptor(policy: Policy, name: str, phases: tuple[Phase, ...]) -> Descriptor:
    value = policy.node.value
    return Descriptor(
        name=name,
        kind=policy.kind,
        events=policy.hook.events,
        phases=phases,
        version=value.get("version"),
        description=value.get("description"),
        mode=policy.mode,
        fail_open=policy.fail_open,
        priority=policy.priority[phases[0]] if policy.kind is Kind.MUTATION else 0,
        timeout=policy.timeout,
        config_schema=value.get("configSchema"),
        compat=value.get("compat"),
    )
