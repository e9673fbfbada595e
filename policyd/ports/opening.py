"""From whatever stands for an interceptor server to its port.

Knows the kinds of targets.  Opens nothing: a port connects at its first call.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from policyd.ports.port import Port
from policyd.ports.url import URLPort

if TYPE_CHECKING:
    from mcp import Client, StdioServerParameters
    from mcp.client.session import ClientSession
    from mcp.server.lowlevel.server import Server
    from mcp.server.mcpserver import MCPServer

Target: TypeAlias = (
    "str | list[str] | tuple[str, ...] | StdioServerParameters"
    " | Client | ClientSession | Server[Any] | MCPServer"
)
"""What stands for an interceptor server.

A URL; a command line, or the SDK's parameters of one, for a subprocess; an SDK client or
session that is open and stays its owner's; a server of the SDK, in this process.
"""


def open_port(target: Target, *, headers: Mapping[str, str] | None = None) -> Port:
    """The port of the server that *target* stands for; it connects at its first call.

    headers: go with every request to a URL, such as `authorization`.

    Raises ValueError for a string that is no http or https URL, an empty command line, and
    headers without a URL; TypeError for any other target.
    """
    if isinstance(target, str):
        return URLPort(_checked_url(target), dict(headers or {}))
    if headers:
        raise ValueError("`headers` go with a URL only")
    return _sdk_port(target)


def _sdk_port(target: Any) -> Port:
    from mcp import Client, StdioServerParameters
    from mcp.client.session import ClientSession
    from mcp.server.lowlevel.server import Server
    from mcp.server.mcpserver import MCPServer

    from policyd.ports.client import ClientPort, command_line, in_memory, subprocess
    from policyd.ports.session import SessionPort

    if isinstance(target, Client | ClientSession):
        return SessionPort(target)
    if isinstance(target, Server | MCPServer):
        return ClientPort(partial(in_memory, target))
    if isinstance(target, list | tuple):
        if not target:
            raise ValueError("a command line needs at least the command")
        target = command_line(target)
    if isinstance(target, StdioServerParameters):
        return ClientPort(partial(subprocess, target))
    raise TypeError("`target` is no URL, command, client, session or server of the MCP SDK")


def _checked_url(url: str) -> str:
    """*url*, which no error repeats: it may hold a password."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        valid = valid and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise ValueError("`target` is no http or https URL")
    return url
