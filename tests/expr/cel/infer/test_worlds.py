"""What may be right is not refused: what is open, what conditions say, several events."""

from __future__ import annotations

import pytest

from policyd.expr.cel import Program, Result, compile_cel
from policyd.expr.cel.infer import infer
from policyd.expr.cel.tree import Select, walk
from policyd.expression import Scope
from policyd.types import STRING, OptionalOf, member_of, moment, payload_type, with_arguments
from tests.expr.cel.infer.support import CALL, KNOWN, TOOLS, flaws, refuse, scope


@pytest.mark.parametrize(
    ("text", "event", "phase"),
    [
        ("args.anything.below == 5", CALL, "request"),
        ("args.n == '5' || args.n == 5 || args.n == null", CALL, "request"),
        ("payload.arguments[tool] == 1", CALL, "request"),
        ("payload[tool] == 1", CALL, "request"),
        ("payload._meta.vendor.x == 1", CALL, "request"),
        ("has(payload.task) && payload.task.ttl > 5", CALL, "request"),
        ("payload.task == null", CALL, "request"),
        ("payload.?task.?ttl.orValue(0) == null", CALL, "request"),
        ("payload.name != null && null != payload.name", CALL, "request"),
        ("'name' in payload && tool in payload", CALL, "request"),
        ("tool in args && 5 in args", CALL, "request"),
        ("principal.claims.roles.exists(r, r == 'admin')", CALL, "request"),
        ("context.vendor == 1 && context.principal.id == ''", CALL, "request"),
        ("now - duration('1h') < now && now.getHours() < 7", CALL, "request"),
        ("config.mode == null || config.mode in ['strict', 'x']", CALL, "request"),
        ("config.limit == 5.0 && config.level > 0.5", CALL, "request"),
        ("payload.content.exists(c, c.text.contains('x'))", CALL, "response"),
        ("payload.content.exists(c, c.type == 'text' && size(c.text) > 1)", CALL, "response"),
        ("payload.structuredContent.a.b == 1", CALL, "response"),
        (
            "has(payload.inputRequests) || has(payload.task) || has(payload.taskId)",
            CALL,
            "response",
        ),
        ("payload.content.map(c, c.text).join('').contains('x')", CALL, "response"),
        (
            "payload.content.filter(c, c.type == 'image').sortBy(c, c.mimeType)[0].data == ''",
            CALL,
            "response",
        ),
        (
            "payload.content.transformMap(i, c, c.type).transformMapEntry(k, v, {v: k}) == {}",
            CALL,
            "response",
        ),
        ("payload.content.transformList(i, c, i + 1)[0] > 0", CALL, "response"),
        ("payload.content.first().orValue({}) == {}", CALL, "response"),
        ("payload.?content[?0].?text.optMap(t, size(t)).orValue(0) > 5", CALL, "response"),
        (
            "payload.?content.optFlatMap(c, c.first()).or(optional.none()).hasValue()",
            CALL,
            "response",
        ),
        ("optional.of(payload).value().isError", CALL, "response"),
        ("cel.bind(c, payload.content, c.size() > 0)", CALL, "response"),
        (
            "payload.messages[0].content.text == '' || payload.messages[0].content[0].text == ''",
            "sampling/createMessage",
            "request",
        ),
        ("payload.whatever.x == 1 && payload == 1", "vendor/thing", "request"),
        ("payload.whatever.map(x, x).size() == 1", "llm/completion", "request"),
        ("{'a': tool, tool: 1, 'b': 2}.c == 3 && {'b': 2}.b == 2", CALL, "request"),
        ("{?'a': args.?x}.a == 3 && [?args.?x, 1] == [1]", CALL, "request"),
        ("[tool, 1].exists(x, x == 1 || x == 'a')", CALL, "request"),
        ("(args.x ? tool : 5) == 5", CALL, "request"),
        ("variables.many.exists(x, x == 1) && variables.unknown.y > 1", CALL, "request"),
        ("json(tool).a.b == 1 && [3, 1].sort()[0] == 1 && 'ab'.reverse() == 'ba'", CALL, "request"),
        (
            "[1].reverse()[0] == 1 && args.x.reverse() == 'a' && [[1]].flatten()[0] == 1",
            CALL,
            "request",
        ),
        (
            "args.x.slice(0, 1) == [] && args.x.first().hasValue() && args.?y.value() == 1",
            CALL,
            "request",
        ),
        ("1 + 1 == 2 && 1.5 + config.limit > 1.5 && (args.x + args.y) == 'ab'", CALL, "request"),
        ("[1] + ['a'] == [] && [1] + args.x == []", CALL, "request"),
        ("-config.limit < 0 && -args.x < 0", CALL, "request"),
        ("1u == 1u && b'a' == b'a' && type(1) == int", CALL, "request"),
        ("type(args.x) in [int, double] ? args.x > 1 : false", CALL, "request"),
        ("[args.x, [2]] == [1]", CALL, "request"),
        ("payload.arguments == {} && args == {}", CALL, "request"),
        ("args.x[0][tool] < args.y[?0].orValue(1)", CALL, "request"),
        (
            "(type(args.x + 1) == int || type(args.x) == optional_type) && args.x == 1",
            CALL,
            "request",
        ),
        ("tool in args.tools && [] != args.list", CALL, "request"),
    ],
)
def test_nothing_that_may_be_right_is_refused(text: str, event: str, phase: str) -> None:
    assert flaws(text, [moment(event, phase)]) == []


# What the conditions before say


@pytest.mark.parametrize(
    "text",
    [
        "type(tool) == list && tool.exists(x, x == 'a')",
        "type(tool) != list || tool.exists(x, x == 'a')",
        "!(type(tool) == list) || tool.exists(x, x == 'a')",
        "type(tool) == list ? tool.exists(x, x == 'a') : tool == 'a'",
        "list == type(tool) && tool.exists(x, x == 'a')",
        "type(tool) in [list, map] && tool.exists(x, x == 'a')",
        "type(payload.name) == int && payload.name > 5",
        "args.all(k, type(k) == int ? k > 5 : k == 'a')",
        "[type(tool)].exists(t, t == list) || tool == 'a'",
        "type(tool) == type(args.x) && tool == 'a'",
        "type(tool) in [list, type(args.x)] && tool == 'a'",
        "type(tool) == net.IP && tool == 'a'".replace("net.IP", "string"),
    ],
)
def test_what_a_value_is_found_to_be_outweighs_its_schema(text: str) -> None:
    assert flaws(text, [moment(CALL, "request")]) == []


@pytest.mark.parametrize(
    "marked",
    [
        "tool == 'read' && args.⟦pth⟧ == 'x'",
        "'read' == tool && args.⟦pth⟧ == 'x'",
        "tool != 'read' || args.⟦pth⟧ == 'x'",
        "tool in ['read', 'write'] && args.⟦pth⟧ == 'x'",
        "payload.name == 'read' && args.⟦pth⟧ == 'x'",
        "tool == 'read' ? args.⟦pth⟧ == 'x' : args.whatever",
        "args.x.exists(y, tool == 'read') || (tool == 'read' && args.⟦pth⟧ == 1)",
    ],
)
def test_the_arguments_of_a_tool_are_those_that_its_schema_names(marked: str) -> None:
    text, help = "`args` has no field `pth`", "did you mean `path`?"
    assert refuse(marked, [moment(CALL, "request")]) == ("no-such-field", text, help)


@pytest.mark.parametrize(
    "text",
    [
        "tool == 'read' && args.path == 'x'",
        "tool in ['read', 'write'] && args.content == 'x'",
        "tool in ['read', 'other'] && args.content == 'x'",
        "tool in ['read', 5] && args.content == 'x'",
        "tool in ['read', args.x] && args.content == 'x'",
        "tool in [] || args.content == 'x'",
        "tool in constants.shells && args.content == 'x'",
        "tool in args.names && args.content == 'x'",
        "tool == 'other' && args.content == 'x'",
        "tool != 'read' && args.content == 'x'",
        "tool == args.name && args.content == 'x'",
        "tool > 'read' && args.content == 'x'",
        "args.content == 'x'",
        "(tool == 'read' || args.y) && args.content == 'x'",
        "(tool == 'read' && args.path == '') || args.content == 'x'",
    ],
)
def test_of_any_other_tool_the_arguments_may_be_anything(text: str) -> None:
    assert flaws(text, [moment(CALL, "request")]) == []


# Several moments

CALLS, LISTS = [moment(CALL, "request")], [moment("tools/list", "request")]


@pytest.mark.parametrize(
    "text",
    [
        "event == 'tools/call' && payload.arguments.x == 1",
        "event in ['tools/call', 'prompts/get'] && payload.arguments.x == 1",
        "event != 'tools/list' && payload.arguments.x == 1",
        "event == 'tools/list' || payload.arguments.x == 1",
        "!(event in ['tools/list']) && payload.arguments.x == 1",
        "event == 'tools/call' ? payload.name == 'x' : payload.cursor == 'y'",
        "has(payload.arguments) && payload.arguments.x == 1",
        "!has(payload.arguments) || payload.arguments.x == 1",
        "'arguments' in payload || payload._meta.x == 1",
        "payload.?arguments.x.orValue(0) == 1",
        "event == 'tools/call' || payload.?cursor.orValue('') == ''",
        "payload._meta.x == 1",
        "event == 'tools/call' && (has(payload.task) && payload.task.ttl > 3)",
    ],
)
def test_a_rule_that_asks_which_event_it_is_may_read_what_that_event_has(text: str) -> None:
    assert flaws(text, CALLS, LISTS) == []


def test_what_is_wrong_in_one_of_several_events_is_told_with_its_name() -> None:
    code, text, _ = refuse("payload.⟦arguments⟧.x == 1", CALLS, LISTS)
    assert code == "no-such-field"
    assert text == "`payload` has no field `arguments` in the request of `tools/list`"
    requests, responses = CALLS, [moment(CALL, "response")]
    assert refuse("size(payload.⟦content⟧) > 0", requests, responses)[1:] == (
        "`payload` has no field `content` in the request of `tools/call`",
        "`content` exists in the response of `tools/call`, and this is its request",
    )


def test_a_mismatch_in_one_of_several_events_is_told_with_its_name() -> None:
    reads = [with_arguments(moment(CALL, "request"), TOOLS["read"])]
    prompts = [moment("prompts/get", "request")]
    marked = "⟦{}⟧.startsWith('a')".replace("⟦{}⟧", "args.⟦limit⟧")
    assert refuse(marked, prompts, reads)[:2] == (
        "type-mismatch",
        "`startsWith` takes a string here, not a number in the request of `tools/call`",
    )
    assert flaws("args.limit == 'a'", prompts, reads) == []


def test_what_is_wrong_in_all_events_is_told_once() -> None:
    (found,) = flaws("payload.xyz == 1", CALLS, LISTS)
    assert found.text == "`payload` has no field `xyz` in the request of `tools/call`"
    (found,) = flaws("event == 'prompts/get'", CALLS, LISTS)
    assert found.help == "its values here: `tools/call`, `tools/list`"
    (found,) = flaws("has(payload.xyz)", CALLS, LISTS)
    assert found.code == "no-such-field"


def test_of_events_behind_a_wildcard_it_is_enough_that_one_has_a_field() -> None:
    both = [*CALLS, *LISTS]
    assert flaws("payload.arguments.x == 1 && payload.cursor == ''", both) == []
    assert refuse("payload.⟦xyz⟧ == 1", both)[1] == "`payload` has no field `xyz`"
    marked = "event == 'tools/list' && payload.⟦name⟧ == ''"
    assert refuse(marked, both)[1] == "`payload` has no field `name` in the request of `tools/list`"
    assert refuse("event == ⟦'x'⟧", both)[2] == "its values here: `tools/call`, `tools/list`"


def test_of_all_events_nothing_is_known_until_the_rule_asks_which_it_is() -> None:
    everything = [*CALLS, *LISTS, moment("*", "request")]
    assert flaws("payload.xyz == 1 && event == 'vendor/thing'", everything) == []
    assert flaws("event == 'vendor/thing' && payload.xyz == 1", everything) == []
    marked = "event == 'ping' && payload.⟦xyz⟧ == 1"
    assert refuse(marked, everything)[1] == "`payload` has no field `xyz` in the request of `ping`"
    marked = "event == 'tools/call' && payload.⟦xyz⟧ == 1"
    assert refuse(marked, everything)[2] == KNOWN


def test_nothing_is_refused_where_nothing_is_known() -> None:
    scope = Scope(frozenset({"payload"}))
    text = "payload.x == 1 && 'a' == 1 && [1].y == 2 && event"
    found = compile_cel(text.removesuffix(" && event"), scope, Result.BOOL)
    assert isinstance(found, Program)


def test_a_scope_without_moments_has_the_types_of_its_names() -> None:
    known = Scope(frozenset({"event", "payload"}), types={"event": STRING})
    found = compile_cel("event == 'x' && payload.x == 1 && event > 1", known)
    assert not isinstance(found, Program)
    assert [flaw.code for flaw in found] == ["type-mismatch"]


def test_a_program_says_what_its_value_is() -> None:
    program = compile_cel("payload.content", scope([[moment(CALL, "response")]]))
    assert isinstance(program, Program)
    assert program.type == member_of(payload_type(CALL, "response"), "content")
    both = compile_cel("payload.?content", scope([CALLS, [moment(CALL, "response")]]))
    assert isinstance(both, Program)
    assert isinstance(both.type, OptionalOf)


def test_each_part_that_is_reached_has_a_type_in_all_moments_together() -> None:
    known = scope([CALLS, LISTS])
    program = compile_cel("has(payload.cursor) && payload.cursor == ''", known)
    assert isinstance(program, Program)
    types = infer(program.checked.root, program.text, known).types
    selections = [node for node, _ in walk(program.checked.root) if isinstance(node, Select)]
    assert [types[id(node)] for node in selections] == [STRING]
