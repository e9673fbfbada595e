"""How one interceptor server is called: in memory, as a subprocess, over HTTP.

Knows transports and JSON-RPC.  Knows no interceptor and no chain.  Neither `mcp` nor aiohttp is
imported before a port needs it.
"""

from policyd.ports.opening import Target, open_port
from policyd.ports.port import Port, Refusal, Unreachable

__all__ = ["Port", "Refusal", "Target", "Unreachable", "open_port"]
