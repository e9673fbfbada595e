"""When the list of a server is read again."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from policyd.chain import Chain, Terms
from policyd.wire import Dialect
from tests.chain.support import NO_RM, call, run, server, snapshot


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
