"""From the policy files of one moment to one snapshot, or to everything that is wrong in them.

Never raises for a bad policy.  Knows neither where files come from nor what is in force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from policyd.detection import Declared
from policyd.detectors import Catalog
from policyd.diagnostics import Diagnostic, Report, Span
from policyd.document import parse_document
from policyd.expr.shape import Shape
from policyd.expression import Expression
from policyd.interceptor import Guard, Interceptor, Mutator, PlacedCheck, PlacedStep, Validator
from policyd.model import Descriptor, Kind, with_priorities
from policyd.pattern import compile_glob
from policyd.policy import Node, Policy, parse_policies
from policyd.reachability import check_policies, check_reachability
from policyd.rules import CHECK_BUILDERS, STEP_BUILDERS
from policyd.schema import check_policy_document
from policyd.settings import check_settings_name, is_settings, override_policies
from policyd.site import Site, open_site
from policyd.slips import check_slips
from policyd.snapshot import Snapshot, make_snapshot
from policyd.source import Bundle
from policyd.tools import add_tools
from policyd.types import Type


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
    is empty on purpose.  A file that describes tools or detectors is no policy.
    """
    report = Report()
    for diagnostic in bundle.diagnostics:
        report.add(diagnostic)
    reading = _read(bundle, report)
    policies = reading.policies
    if not allow_empty and (not reading.files or (reading.aids and not policies)):
        _refuse_empty(bundle, report)
    overridden = override_policies(bundle.settings, policies, report)
    interceptors = _compile_policies(policies, overridden, report)
    _check_names(interceptors, report)
    check_policies(policies, report)
    if report.failed:
        return Compilation(None, report.diagnostics)
    snapshot = make_snapshot(bundle.revision, tuple(made for _, made in interceptors))
    return Compilation(snapshot, report.diagnostics)


def read_policies(bundle: Bundle, report: Report) -> list[Policy]:
    """The policies of all files, each with the tools that any of the files describes.

    Of a file with mistakes in its shape, those that have none.  They go no further than their
    own diagnostics, so that all mistakes are told at once.
    """
    return _read(bundle, report).policies


def read_detectors(bundle: Bundle, report: Report) -> Catalog:
    """The detectors that the policies of a bundle may name; mistakes are told as above."""
    for diagnostic in bundle.diagnostics:
        report.add(diagnostic)
    return _read(bundle, report).catalog


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the files hold.

    aids: any of them describes tools or detectors; files: how many of them are no settings.
    """

    policies: list[Policy]
    catalog: Catalog
    aids: bool
    files: int


def _read(bundle: Bundle, report: Report) -> _Reading:
    policies: list[Policy] = []
    tools: dict[str, Type] = {}
    detectors = Declared(bundle.rules)
    files = len(bundle.files)
    for source in bundle.files:
        own = Report()
        document = parse_document(source, own)
        if document is not None and is_settings(document):
            files -= 1
            check_settings_name(document, own)
        elif document is not None:
            broken = check_policy_document(document, own)
            policies += parse_policies(document, own, broken)
            add_tools(document, broken, tools)
            detectors.add(document, broken, own)
        for diagnostic in own.diagnostics:
            report.add(diagnostic)
    catalog = detectors.catalog()
    made = [replace(policy, tools=tools, detectors=catalog) for policy in policies]
    return _Reading(made, catalog, bool(tools or detectors), files)


def _refuse_empty(bundle: Bundle, report: Report) -> None:
    help = "a policy file is called `NAME.yaml`; `--allow-empty` serves nothing on purpose"
    if bundle.settings is not None and bundle.settings.name == bundle.name:
        help = "it is read as settings: `--settings none` reads it as policies"
    report.error("no-policies", Span(bundle.name, 1, 1, 1, 1), "no policy files were found", help)


def _compile_policies(
    policies: Iterable[Policy], overridden: Mapping[str, Policy], report: Report
) -> list[tuple[Policy, Interceptor]]:
    compiled: list[tuple[Policy, Interceptor]] = []
    for policy in policies:
        own = Report()
        made = compile_policy(policy, own, overridden.get(policy.name))
        if made:
            check_reachability(policy, made[0], own)
            check_slips(policy, made[0], own)
        for diagnostic in own.diagnostics:
            report.add(diagnostic)
        compiled += [(policy, interceptor) for interceptor in made]
    return compiled


def _check_names(made: Iterable[tuple[Policy, Interceptor]], report: Report) -> None:
    first: dict[str, Policy] = {}
    for policy, interceptor in made:
        name = interceptor.descriptor.name
        taken = first.setdefault(name, policy)
        if taken is not policy:
            span = taken.node["name"].span
            text = f"the name `{name}` is taken: {span.file}:{span.line} has it"
            report.error("name-taken", policy.node["name"].span, text)


def compile_policy(
    policy: Policy, report: Report, overridden: Policy | None = None
) -> tuple[Interceptor, ...]:
    """The interceptors of one policy: two where its phases have priorities of their own.

    What it says is compiled as written, and hooked and listed as *overridden*, which judges no
    more: so that an override cannot make a policy wrong.

    None where *report* holds an error, of this policy or of one before.
    """
    site, variables = open_site(policy, report)
    guard = _guard(policy, site)
    config_node = policy.node.get("configSchema")
    shape = None if config_node is None else site.shape(config_node)
    make = _validator if policy.kind is Kind.VALIDATION else _mutator
    finish = make(policy, site.where(guard.when))
    if report.failed or finish is None:
        return ()
    listed = overridden or policy
    descriptors = with_priorities(_descriptor(listed), listed.priority)
    return tuple(finish(descriptor, guard, variables, shape) for descriptor in descriptors)


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


def _descriptor(policy: Policy) -> Descriptor:
    value = policy.node.value
    return Descriptor(
        name=policy.name,
        kind=policy.kind,
        events=policy.hook.events,
        phases=policy.hook.phases,
        version=value.get("version"),
        description=value.get("description"),
        mode=policy.mode,
        fail_open=policy.fail_open,
        timeout=policy.timeout,
        config_schema=value.get("configSchema"),
        compat=value.get("compat"),
    )
