"""What types refuse, at which character, in which words: tables of expressions."""

from __future__ import annotations

import pytest

from policyd.types import moment
from tests.expr.cel.infer.support import CALL, KNOWN, refuse

FIELDS = [
    (
        "payload.⟦nam⟧ == 'x'",
        CALL,
        "request",
        "`payload` has no field `nam` in the request of `tools/call`",
        "did you mean `name`?",
    ),
    (
        "payload['⟦nam⟧'] == 'x'".replace("'⟦nam⟧'", "⟦'nam'⟧"),
        CALL,
        "request",
        "`payload` has no field `nam` in the request of `tools/call`",
        "did you mean `name`?",
    ),
    (
        "size(payload.⟦content⟧) > 0",
        CALL,
        "request",
        "`payload` has no field `content` in the request of `tools/call`",
        "`content` exists in the response of `tools/call`, and this is its request",
    ),
    (
        "payload.⟦arguments⟧.x == 1",
        CALL,
        "response",
        "`payload` has no field `arguments` in the response of `tools/call`",
        "`arguments` exists in the request of `tools/call`, and this is its response",
    ),
    (
        "result.⟦arguments⟧.x == 1",
        "resources/read",
        "response",
        "`result` has no field `arguments` in the response of `resources/read`",
        "`arguments` exists in the request of `prompts/get`, `tools/call`",
    ),
    (
        "payload.⟦params⟧.name == 'x'",
        CALL,
        "request",
        "`payload` has no field `params` in the request of `tools/call`",
        "`payload` holds the params themselves",
    ),
    (
        "payload.⟦result⟧.content == []",
        CALL,
        "response",
        "`payload` has no field `result` in the response of `tools/call`",
        "`payload` holds the result itself",
    ),
    (
        "payload.⟦xyz⟧ == 1",
        CALL,
        "request",
        "`payload` has no field `xyz` in the request of `tools/call`",
        KNOWN,
    ),
    (
        "payload.content.exists(c, c.⟦txt⟧ == 'x')",
        CALL,
        "response",
        "`c` has no field `txt`",
        "did you mean `text`?",
    ),
    (
        "payload.content.exists(c, c.resource.⟦url⟧ == 'x')",
        CALL,
        "response",
        "`c.resource` has no field `url`",
        "did you mean `uri`?",
    ),
    (
        "payload.content[0].⟦txt⟧ == 'x'",
        CALL,
        "response",
        "`payload.content[0]` has no field `txt`",
        "did you mean `text`?",
    ),
    (
        "payload.content.⟦text⟧ == 'x'",
        CALL,
        "response",
        "`payload.content` is a list, which has no field `text`",
        "ask its elements, as in `payload.content.exists(x, ...)`, "
        "or one of them, as in `payload.content[0]`",
    ),
    (
        "[1].⟦text⟧ == 'x'",
        CALL,
        "response",
        "this value is a list, which has no field `text`",
        "ask its elements, as in `list.exists(x, ...)`, or one of them, as in `list[0]`",
    ),
    ("tool.⟦name⟧ == 'x'", CALL, "request", "`tool` is a string, which has no field `name`", None),
    (
        "principal.⟦clams⟧.x == 1",
        CALL,
        "request",
        "`principal` has no field `clams`",
        "did you mean `claims`?",
    ),
    (
        "'x' in principal.⟦roles⟧",
        CALL,
        "request",
        "`principal` has no field `roles`",
        "what else there is stands in `principal.claims`",
    ),
    ("config.⟦limt⟧ > 3", CALL, "request", "`config` has no field `limt`", "did you mean `limit`?"),
    (
        "constants.limits.⟦smal⟧ > 3",
        CALL,
        "request",
        "this value has no field `smal`",
        "did you mean `small`?",
    ),
    (
        "url(args.u).⟦hostname⟧ == 'x'",
        CALL,
        "request",
        "this value has no field `hostname`",
        "did you mean `host`?",
    ),
    ("{}.⟦a⟧ == 1", CALL, "request", "this value has no field `a`", None),
    (
        "has(payload.⟦xyz⟧)",
        CALL,
        "request",
        "`payload` has no field `xyz` in the request of `tools/call`",
        KNOWN,
    ),
    (
        "has(payload.⟦xyz⟧) && payload.xyz == 1",
        CALL,
        "request",
        "`payload` has no field `xyz` in the request of `tools/call`",
        KNOWN,
    ),
    (
        "⟦'nam'⟧ in payload",
        CALL,
        "request",
        "`payload` has no field `nam` in the request of `tools/call`",
        "did you mean `name`?",
    ),
    (
        "payload.?⟦nam⟧.orValue('') == 'x'",
        CALL,
        "request",
        "`payload` has no field `nam` in the request of `tools/call`",
        "did you mean `name`?",
    ),
    (
        "payload.?content[0].⟦txt⟧.orValue('') == 'x'",
        CALL,
        "response",
        "this value has no field `txt`",
        "did you mean `text`?",
    ),
    (
        "payload.tools.exists(t, t.⟦inputschema⟧ == {})",
        "tools/list",
        "response",
        "`t` has no field `inputschema`",
        "did you mean `inputSchema`?",
    ),
    (
        "payload._meta['io.modelcontextprotocol/clientInfo'].⟦nme⟧ == 'x'",
        CALL,
        "request",
        "`payload._meta['io.modelcontextprotocol/clientInfo']` has no field `nme`",
        "did you mean `name`?",
    ),
]


@pytest.mark.parametrize(("marked", "event", "phase", "text", "help"), FIELDS)
def test_a_field_that_no_payload_has_is_refused(
    marked: str, event: str, phase: str, text: str, help: str | None
) -> None:
    assert refuse(marked, [moment(event, phase)]) == ("no-such-field", text, help)


EQUALITIES = [
    ("tool == ⟦3⟧", "`tool` is a string, and never equal to a number", "write `'3'`, with quotes"),
    ("⟦3⟧ != tool", "`tool` is a string, and never equal to a number", "write `'3'`, with quotes"),
    (
        "tool == ⟦true⟧",
        "`tool` is a string, and never equal to a bool",
        "write `'true'`, with quotes",
    ),
    ("tool == ⟦null⟧", "`tool` is a string, and never equal to null", None),
    ("tool ⟦==⟧ ['a']", "`tool` is a string, and never equal to a list", None),
    ("tool ⟦==⟧ config.limit", "`tool` is a string, and never equal to a number", None),
    (
        "config.limit == ⟦'5'⟧",
        "`config.limit` is a number, and never equal to a string",
        "write `5`, without quotes",
    ),
    (
        "config.limit == ⟦'-1.5'⟧",
        "`config.limit` is a number, and never equal to a string",
        "write `-1.5`, without quotes",
    ),
    ("config.limit == ⟦'x'⟧", "`config.limit` is a number, and never equal to a string", None),
    ("config.limit == ⟦1.5⟧", "`config.limit` is a whole number, and never equal to `1.5`", None),
    (
        "config.exact == ⟦'true'⟧",
        "`config.exact` is a bool, and never equal to a string",
        "write `true`, without quotes",
    ),
    ("config.exact == ⟦'x'⟧", "`config.exact` is a bool, and never equal to a string", None),
    ("config.mode == ⟦'strct'⟧", "`config.mode` is never `strct`", "did you mean `strict`?"),
    ("config.mode == ⟦'x'⟧", "`config.mode` is never `x`", "its values here: `loose`, `strict`"),
    ("config.level == ⟦4⟧", "`config.level` is never `4`", "its values here: `1`, `2`, `3`"),
    (
        "config.mode ⟦in⟧ ['x', 'y']",
        "`config.mode` is never `x`, `y`",
        "its values here: `loose`, `strict`",
    ),
    ("tool ⟦in⟧ [1, 2]", "`tool` is a string, and never equal to a number", None),
    (
        "⟦3⟧ in tool.split(',')",
        "an element of this list is a string, and never equal to a number",
        "write `'3'`, with quotes",
    ),
    (
        "⟦3⟧ in constants.shells",
        "an element of this list is a string, and never equal to a number",
        "write `'3'`, with quotes",
    ),
    (
        "ip(tool) == ⟦'10.0.0.1'⟧",
        "this value is an IP address, and never equal to a string",
        "write `ip('10.0.0.1')`",
    ),
    (
        "now == ⟦'2026'⟧",
        "`now` is a timestamp, and never equal to a string",
        "write `timestamp('2026')`",
    ),
    ("event == ⟦'tools/list'⟧", "`event` is never `tools/list`", "its values here: `tools/call`"),
    ("phase == ⟦'response'⟧", "`phase` is never `response`", "its values here: `request`"),
    (
        "args.exists(k, k == ⟦1⟧)",
        "`k` is a string, and never equal to a number",
        "write `'1'`, with quotes",
    ),
    (
        "args.exists(k, v, k == ⟦1⟧)",
        "`k` is a string, and never equal to a number",
        "write `'1'`, with quotes",
    ),
    (
        "cel.bind(t, tool, t == ⟦1⟧)",
        "`t` is a string, and never equal to a number",
        "write `'1'`, with quotes",
    ),
    (
        "(true ? tool : 'a') == ⟦1⟧",
        "this value is a string, and never equal to a number",
        "write `'1'`, with quotes",
    ),
    ("type(tool) ⟦==⟧ tool", "this value is a type, and never equal to a string", None),
]


@pytest.mark.parametrize(("marked", "text", "help"), EQUALITIES)
def test_a_comparison_that_no_value_makes_true_is_refused(
    marked: str, text: str, help: str | None
) -> None:
    assert refuse(marked, [moment(CALL, "request")]) == ("never-equal", text, help)


def test_a_value_that_a_schema_does_not_list_is_refused() -> None:
    sampling = [moment("sampling/createMessage", "request")]
    marked = "payload.messages[0].role == ⟦'system'⟧"
    text = "`payload.messages[0].role` is never `system`"
    help = "its values here: `assistant`, `user`"
    assert refuse(marked, sampling) == ("never-equal", text, help)


MISMATCHES = [
    ("tool ⟦>⟧ 3", "`>` does not take a string and a number", None),
    ("now ⟦<=⟧ tool", "`<=` does not take a timestamp and a string", None),
    ("[1] ⟦<⟧ [2]", "`<` does not take a list and a list", None),
    ("tool ⟦+⟧ 1 == ''", "`+` does not take a string and a number", None),
    ("(now ⟦+⟧ now) == now", "`+` does not take a timestamp and a timestamp", None),
    ("(tool ⟦-⟧ tool) == ''", "`-` does not take a string and a string", None),
    ("tool ⟦*⟧ 2 == 4", "`*` does not take a string and a number", None),
    ("⟦-⟧tool == 1", "`-` does not take a string", None),
    ("tool⟦[⟧0] == 'a'", "`[]` does not take a string and a number", None),
    ("constants.shells⟦[⟧true] == 'a'", "`[]` does not take a list and a bool", None),
    ("payload⟦[⟧[1]] == 'a'", "`[]` does not take a map and a list", None),
    ("tool ⟦in⟧ 'abc'", "`in` does not take a string and a string", "write `text.contains(part)`"),
    ("tool ⟦in⟧ 5", "`in` does not take a string and a number", None),
    ("tool.startsWith(⟦3⟧)", "`startsWith` takes a string here, not a number", None),
    ("⟦config⟧.startsWith('a')", "`startsWith` takes a string here, not a map", None),
    ("size(⟦3⟧) > 1", "`size` takes a string, bytes, a map or a list here, not a number", None),
    (
        "cidr('10.0.0.0/8').contains(⟦3⟧)",
        "`contains` takes a string or an IP address here, not a number",
        None,
    ),
    ("tool.⟦exists⟧(x, true)", "`exists` visits a list or a map, not a string", None),
    (
        "5.⟦map⟧(x, x) == []".replace("5.", "(5)."),
        "`map` visits a list or a map, not a number",
        None,
    ),
    ("tool.⟦optMap⟧(x, x).hasValue()", "`optMap` does not take a string", None),
    ("tool.⟦optFlatMap⟧(x, x).hasValue()", "`optFlatMap` does not take a string", None),
    ("tool.⟦orValue⟧('') == ''", "`orValue` does not take a string", None),
    ("tool.⟦or⟧(optional.none()).hasValue()", "`or` does not take a string", None),
    ("[⟦?⟧tool] == []", "`?` does not take a string", None),
]


@pytest.mark.parametrize(("marked", "text", "help"), MISMATCHES)
def test_what_cannot_be_worked_out_is_refused(marked: str, text: str, help: str | None) -> None:
    assert refuse(marked, [moment(CALL, "request")]) == ("type-mismatch", text, help)


CONDITIONS = [
    ("⟦tool⟧", "a condition is needed, but this yields a string"),
    ("⟦size⟧(tool)", "a condition is needed, but this yields a number"),
    ("⟦!⟧tool".replace("⟦!⟧tool", "!⟦tool⟧"), "`!` needs a condition, but this yields a string"),
    ("args.x && ⟦tool⟧", "`&&` needs conditions, but this yields a string"),
    ("⟦tool⟧ || args.x", "`||` needs conditions, but this yields a string"),
    ("⟦tool⟧ ? true : false", "`?` needs a condition, but this yields a string"),
    ("args.all(k, ⟦k⟧)", "`all` needs a condition, but this yields a string"),
    ("args.x ⟦+⟧ args.y", "a condition is needed, but this yields something else"),
]


@pytest.mark.parametrize(("marked", "text"), CONDITIONS)
def test_what_cannot_be_a_condition_is_refused(marked: str, text: str) -> None:
    help = "compare it, as in `... == ...`"
    assert refuse(marked, [moment(CALL, "request")]) == ("cel-not-boolean", text, help)


def test_an_optional_is_no_condition_and_the_advice_says_how_to_make_it_one() -> None:
    text = "a condition is needed, but this yields an optional"
    help = "say what holds where there is no value, as in `... .orValue(false)`"
    marked = "args.?⟦x⟧"
    assert refuse(marked, [moment(CALL, "request")]) == ("cel-not-boolean", text, help)
