"""When the list of a server is read again."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from policyd.chain import Chain, ServerError, Terms
from policyd.chain.route import MAX_ROUTES
from policyd.errors import Cause
from policyd.functions import Interceptors
from policyd.wire import Dialect
from tests.chain.support import NO_RM, call, engine, run, server, snapshot


def test_a_list_is_read_again_once_an_answer_names_another_generation() -> None:
    hosted, policies = server("validators:" + NO_RM)
    more = NO_RM + NO_RM.replace("no-rm", "no-ls").replace("'rm'", "'ls'")

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted)
        policies.install(snapshot("validators:" + more))
        # what was added is enforced at once: the server's catch-up interceptor runs it
        first = await chain.execute("tools/call", "request", call("ls"))
        second = await chain.execute("tools/call", "request", call("ls"))
        by = [
            [finding.interceptor.split("@")[0] for finding in d.findings] for d in (first, second)
        ]
        assert by == [["policyd/catch-up-validators"], ["no-ls"]]

    run(body)


def test_a_list_is_read_again_once_a_name_is_gone() -> None:
    hosted, policies = server("validators:" + NO_RM, Dialect.SEP)

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted)
        policies.install(snapshot("validators:" + NO_RM.replace("no-rm", "renamed")))
        assert not (await chain.execute("tools/call", "request", call("ls"))).allowed
        assert (await chain.execute("tools/call", "request", call("ls"))).allowed
        assert [descriptor.name for descriptor in chain.descriptors] == ["renamed"]

    run(body)


def test_a_list_is_read_again_after_a_time_and_kept_when_that_fails() -> None:
    entries: list[dict[str, Any]] = [
        {"name": "a", "type": "validation", "hooks": [{"events": ["x"], "phase": "request"}]}
    ]
    listing = {"interceptors": entries}
    hosted: Server[Any] = Server("others")

    async def list_(context: Any, params: Any) -> dict[str, Any]:
        if not listing:
            raise MCPError(-32603, "broken")
        return listing

    hosted.add_request_handler("interceptors/list", types.RequestParams, list_)

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted, terms=Terms("others", refresh_every=0.0))
        entries.append({**entries[0], "name": "b"})
        await chain.execute("y", "request", {})
        names = [descriptor.name for descriptor in chain.descriptors]
        listing.clear()
        await chain.execute("y", "request", {})
        assert names == [descriptor.name for descriptor in chain.descriptors] == ["a", "b"]

    run(body)


def test_a_list_of_several_pages_is_read_as_a_whole() -> None:
    hosted: Server[Any] = Server("others")
    hook = [{"events": ["x"], "phase": "request"}]

    async def list_(context: Any, params: Any) -> dict[str, Any]:
        page = int((context.params or {}).get("cursor", 0))
        entry = {"name": f"v{page}", "type": "validation", "hooks": hook}
        more = {"nextCursor": str(page + 1)} if page < 2 else {}
        return {"interceptors": [entry], **more}

    hosted.add_request_handler("interceptors/list", types.RequestParams, list_)

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted)
        assert [descriptor.name for descriptor in chain.descriptors] == ["v0", "v1", "v2"]

    run(body)


def others(*pages: Any) -> Server[Any]:
    """A server that somebody else wrote, which lists *pages*."""
    hosted: Server[Any] = Server("others")

    async def list_(context: Any, params: Any) -> Any:
        return pages[int((context.params or {}).get("cursor", 0))]

    hosted.add_request_handler("interceptors/list", types.RequestParams, list_)
    return hosted


HOOKS = [{"events": ["x"], "phase": "request"}]


def test_an_interceptor_of_a_type_that_is_not_run_is_left_out_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    entries = [{"name": "s\n", "type": "sink", "hooks": HOOKS}]

    async def body(chain: Chain) -> None:
        await chain.add_server(others({"interceptors": entries}), terms=Terms("others"))
        assert chain.descriptors == ()

    run(body)
    assert "`others` lists types that are not run: 's\\n'" in caplog.text


@pytest.mark.parametrize(
    ("pages", "reason"),
    [
        ([{"interceptors": 1}], "`interceptors` must be a list"),
        ([{"interceptors": [], "nextCursor": "1"}, {}], "the answer has no `interceptors`"),
        ([{"interceptors": [], "nextCursor": "0"}], "the list has more than 100 pages"),
        (
            [{"interceptors": [{"name": "a", "type": "validation", "hooks": HOOKS}] * 2}],
            "name",
        ),
    ],
)
def test_a_list_that_cannot_be_read_as_a_whole_is_not_taken(pages: list[Any], reason: str) -> None:
    async def body(chain: Chain) -> None:
        with pytest.raises(ServerError, match=reason):
            await chain.add_server(others(*pages))
        assert chain.descriptors == ()

    run(body)


def test_a_server_that_never_answers_is_a_failing_interceptor() -> None:
    hosted = others({"interceptors": [{"name": "a", "type": "validation", "hooks": HOOKS}]})

    async def invoke(context: Any, params: Any) -> Any:
        await anyio.sleep_forever()

    hosted.add_request_handler("interceptor/invoke", types.RequestParams, invoke)

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted, terms=Terms("others", timeout=0.3))
        decision = await chain.execute("x", "request", {})
        assert [failure.cause for failure in decision.failures] == [Cause.DEADLINE]

    run(body)


def test_what_changes_in_this_process_counts_at_once() -> None:
    policies = engine("validators:" + NO_RM)
    interceptors = Interceptors()

    async def body(chain: Chain) -> None:
        chain.add_engine(policies)
        chain.add_functions(interceptors)
        assert not (await chain.execute("tools/call", "request", call("rm"))).allowed
        policies.install(snapshot("validators:" + NO_RM.replace("'rm'", "'ls'")))
        assert (await chain.execute("tools/call", "request", call("rm"))).allowed
        interceptors.validator("f", events=["*"], phase="both")(lambda invocation: "no")
        assert not (await chain.execute("tools/call", "request", call("rm"))).allowed

    run(body)


def test_any_number_of_event_names_is_routed() -> None:
    interceptors = Interceptors()
    interceptors.validator("f", events=["x/*"], phase="both")(lambda invocation: "no")

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        for number in range(MAX_ROUTES + 2):
            assert (await chain.execute(f"y/{number}", "request", {})).allowed
        assert not (await chain.execute("x/1", "request", {})).allowed
        assert not (await chain.execute("x/" + "1" * 1_000, "request", {})).allowed

    run(body)
