"""Who and how many come in: access, requests at once, requests a second.

Knows ASGI, who may call, and counters.  Knows nothing of what is asked.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

from starlette.types import Receive, Scope, Send

from policyd.server.access import Access, Invoker
from policyd.server.connection import CERTIFICATE
from policyd.server.gate import MessageGate
from policyd.server.lane import Answer
from policyd.server.method import INVOKER
from policyd.wire import dump_json

OPEN: Final = ("/healthz", "/readyz")
"""Paths that everybody may ask; of `/readyz` a stranger sees only whether it is ready."""

CLIENTS: Final = 10_000
"""Clients of which the rate is known; those that were quiet for the longest are forgotten."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What a process takes on.

    concurrency: requests at once; further ones are answered 503 at once.
    rate: requests a second of one client, which may save up as many; None for any number.
    """

    concurrency: int = 256
    rate: float | None = None


class Door:
    """ASGI middleware: lets in whoever may come, while there is room."""

    def __init__(
        self, gate: MessageGate, access: Access | None = None, limits: RequestLimits | None = None
    ) -> None:
        self._gate = gate
        self._access = access
        self._limits = limits or RequestLimits()
        self._running = 0
        self._rates = None if self._limits.rate is None else Rates(self._limits.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI event."""
        if scope["type"] != "http" or scope["path"] in OPEN:
            await self._gate(await self._marked(scope), receive, send)
            return
        if self._running >= self._limits.concurrency:
            await _refuse(send, 503, "too many requests at once; try again", retry=1)
            return
        self._running += 1
        try:
            await self._admit(scope, receive, send)
        finally:
            self._running -= 1

    def at_once(self, scope: Scope, body: bytes) -> Answer | None:
        """The answer to a small request of somebody who is known; None where it needs more."""
        if self._rates is not None:
            return None
        if self._access is not None:
            invoker = self._access.known(_authorization(scope))
            if invoker is None:
                return None
            scope[INVOKER] = invoker
        elif CERTIFICATE in scope:
            scope[INVOKER] = certified(scope[CERTIFICATE])
        return self._gate.at_once(scope, body)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = await self._marked(scope)
        invoker = scope.get(INVOKER)
        if self._access is not None and invoker is None:
            text = "a token is needed that is known here: `Authorization: Bearer TOKEN`"
            await _refuse(send, 401, text, (b"www-authenticate", _challenge(scope)))
            return
        if self._rates is not None:
            client = invoker["id"] if invoker else (scope.get("client") or ("",))[0]
            wait = self._rates.wait(client)
            if wait > 0:
                await _refuse(send, 429, "too many requests a second; wait", retry=wait)
                return
        await self._gate(scope, receive, send)

    async def _marked(self, scope: Scope) -> Scope:
        """The scope with who calls in it, where that is known."""
        invoker: Invoker | None = None
        if scope["type"] == "http" and self._access is not None:
            invoker = await self._access.invoker(_authorization(scope))
        elif CERTIFICATE in scope:
            invoker = certified(scope[CERTIFICATE])
        return scope if invoker is None else {**scope, INVOKER: invoker}


class Rates:
    """How fast each client asks: a bucket each, of a second's worth of requests."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._most = max(1.0, rate)
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """0.0 where the client may ask now, which is then counted; else the seconds to wait."""
        now = time.monotonic()
        left, at = self._clients.pop(client, (self._most, now))
        left = min(self._most, left + (now - at) * self._rate)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate
        self._clients[client] = (left - 1 if left >= 1 else left, now)
        while len(self._clients) > CLIENTS:
            self._clients.popitem(last=False)
        return wait


def certified(certificate: dict[str, Any]) -> Invoker:
    """Who has the certificate, as `ssl.SSLSocket.getpeercert` gives it."""
    subject = {name: value for group in certificate.get("subject", ()) for name, value in group}
    names = [value for _, value in certificate.get("subjectAltName", ())]
    return {
        "type": "certificate",
        "id": subject.get("commonName") or (names[0] if names else ""),
        "scopes": [],
        "claims": {"subject": subject, "names": names},
    }


def _authorization(scope: Scope) -> bytes | None:
    """The header, or None where there is none or more than one."""
    found = [value for name, value in scope["headers"] if name == b"authorization"]
    return found[0] if len(found) == 1 else None


def _challenge(scope: Scope) -> bytes:
    """RFC 6750 section 3: what was wrong is told only to who tried."""
    return b"Bearer" if _authorization(scope) is None else b'Bearer error="invalid_token"'


async def _refuse(
    send: Send, status: int, text: str, *headers: tuple[bytes, bytes], retry: float | None = None
) -> None:
    body = dump_json({"error": text})
    fixed = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if retry is not None:
        fixed.append((b"retry-after", b"%d" % max(1, math.ceil(retry))))
    await send({"type": "http.response.start", "status": status, "headers": [*fixed, *headers]})
    await send({"type": "http.response.body", "body": body})
