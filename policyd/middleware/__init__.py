"""A chain around an MCP server or client of the Python SDK.

    install_server(server, policyd.load("policies/"))

is all that a server's author writes.  Every request and result runs through the chain, in both
directions and in both protocol eras: handshake (2025-11-25 and older) and 2026-07-28, where
a server's own requests ride in results.  Notifications run through it too; one that may not go
on is dropped, never answered.

JSON-RPC errors do not: neither the one that a handler raises on purpose, nor what rides in its
data (the URLs of a -32042 "URL elicitation required").  Exceptions of any other kind are told
as `Internal server error`.

Fail closed: what cannot be judged does not go on.  What the chain does not change goes on as
the very object that came.
"""

from policyd.middleware.client import install_client
from policyd.middleware.context import ClientContext, ServerContext, server_context
from policyd.middleware.server import install_server

__all__ = [
    "ClientContext",
    "ServerContext",
    "install_client",
    "install_server",
    "server_context",
]
