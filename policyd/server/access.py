"""Who may call, and as whom policies know the caller.

Knows bearer tokens (RFC 6750) and the SDK's `TokenVerifier`: tokens of a file, JWTs of an issuer.
Knows nothing of what is asked.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import ssl
import time
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import jwt
from anyio import Lock, to_thread
from mcp.server.auth.provider import AccessToken, TokenVerifier

from policyd.errors import PolicydError
from policyd.settings import Settings, access_flaw

MIN_TOKEN: Final = 20
"""Characters of the shortest token: with fewer, it can be guessed."""

REMEMBERED_SECONDS: Final = 5.0
"""So long is the judgement of a token kept, and an edit of its file takes to count."""

RETRY_SECONDS: Final = 5.0
"""So long an issuer that gave no keys is not asked again."""

REMEMBERED: Final = 1_024
"""Tokens of which the judgement is kept."""

ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip
"""Signatures of JWTs that count: those whose key is no secret of ours."""

Invoker = Mapping[str, Any]
"""Who calls, as `invoker` in expressions: `type`, `id`, `scopes`, `claims`."""

logger = logging.getLogger(__name__)


class AccessError(PolicydError):
    """What should say who may call cannot be used; the text says why, in one line."""


class FileTokens(TokenVerifier):
    """Tokens of a file, one a line as `NAME: TOKEN`; blank lines and `#` comments aside.

    The file is read again when it has changed; while it cannot be used, the tokens of before
    count, and the log says why.
    """

    type = "token"

    def __init__(self, path: Path) -> None:
        """Raises AccessError when the file cannot be used."""
        self._path = path
        self._names: dict[bytes, str] = {}
        self._seen: tuple[int, int] | None = None
        self._load()

    async def verify_token(self, token: str) -> AccessToken | None:
        """The name that the token stands for; None for a token that is in no line."""
        try:
            self._load()
        except AccessError as error:
            logger.error("%s; the tokens of before count", error)
        name = self._names.get(_digest(token))
        return None if name is None else AccessToken(token="", client_id=name, scopes=[])

    def _load(self) -> None:
        try:
            status = self._path.stat()
            seen = (status.st_mtime_ns, status.st_size)
            if seen == self._seen:
                return
            text = self._path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            raise AccessError(f"the token file `{self._path}` cannot be read") from None
        self._names = _tokens(text, self._path)
        self._seen = seen


def _tokens(text: str, path: Path) -> dict[bytes, str]:
    names: dict[bytes, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        found = _ENTRY.fullmatch(entry)
        if found is None:
            raise AccessError(f"{path}:{number}: a line is `NAME: TOKEN`")
        if len(found["token"]) < MIN_TOKEN:
            flaw = f"the token is too short: {MIN_TOKEN} characters at least"
            raise AccessError(f"{path}:{number}: {flaw}; `openssl rand -hex 32` makes a good one")
        if names.setdefault(_digest(found["token"]), found["name"]) != found["name"]:
            raise AccessError(f"{path}:{number}: the token stands in an earlier line as well")
    if not names:
        raise AccessError(f"the token file `{path}` has no token; a line is `NAME: TOKEN`")
    return names


_ENTRY: Final = re.compile(r"(?P<name>[^\s:]+)\s*:\s*(?P<token>[A-Za-z0-9._~+/=-]+)")
"""RFC 6750 section 2.1 says what a token is made of."""


def _digest(token: str) -> bytes:
    """What tokens are compared by, so that the time tells nothing of how near a guess is."""
    return hmac.digest(_PEPPER, token.encode("utf-8", "surrogatepass"), hashlib.sha256)


_PEPPER: Final = b"policyd"


class Jwts(TokenVerifier):
    """JWTs that an issuer has signed (RFC 7519), for an audience, by the keys of a JWK Set."""

    type = "jwt"

    def __init__(self, keys: str, audience: str, issuer: str | None = None) -> None:
        """*keys* is a file or an `https` address.  Raises AccessError when it cannot be used."""
        self._audience = audience
        self._issuer = issuer
        self._fetching = Lock()
        self._down_until = 0.0
        if "://" in keys:
            if not keys.startswith(("https://", "http://127.0.0.1", "http://localhost")):
                raise AccessError(f"the keys at `{keys}` must be fetched over `https`")
            self._remote: jwt.PyJWKClient | None = jwt.PyJWKClient(keys, timeout=5)
            self._local: jwt.PyJWKSet | None = None
        else:
            self._remote, self._local = None, _key_set(Path(keys))

    async def verify_token(self, token: str) -> AccessToken | None:
        """What the token says; None unless it is signed, in date, and for the audience."""
        try:
            key = await self._key(token)
            claims = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self._audience,
                issuer=self._issuer,
                options={"require": ["exp"]},
            )
        except (jwt.PyJWTError, ValueError) as error:
            logger.info("a token is refused: %s", type(error).__name__)
            return None
        subject = claims.get("sub")
        client = claims.get("client_id") or claims.get("azp") or subject or ""
        return AccessToken(
            token="",
            client_id=str(client),
            scopes=_scopes(claims),
            expires_at=int(claims["exp"]),
            subject=subject if isinstance(subject, str) else None,
            claims=claims,
        )

    async def _key(self, token: str) -> jwt.PyJWK:
        name = jwt.get_unverified_header(token).get("kid")
        if self._remote is not None:
            return await self._fetched(self._remote, str(name))
        for key in () if self._local is None else self._local.keys:
            if name is None or key.key_id == name:
                return key
        raise jwt.PyJWKError("no such key")

    async def _fetched(self, remote: jwt.PyJWKClient, name: str) -> jwt.PyJWK:
        """The key of that name, from the issuer; it is asked once, whoever waits for it."""
        async with self._fetching:
            if time.monotonic() < self._down_until:
                raise jwt.PyJWKClientConnectionError("the issuer did not answer a moment ago")
            try:
                return await to_thread.run_sync(remote.get_signing_key, name)
            except jwt.PyJWKClientConnectionError:
                self._down_until = time.monotonic() + RETRY_SECONDS
                logger.error("the keys of the issuer cannot be fetched; no token counts until then")
                raise


def _key_set(path: Path) -> jwt.PyJWKSet:
    try:
        return jwt.PyJWKSet.from_json(path.read_text(encoding="utf-8"))
    except OSError:
        raise AccessError(f"the key file `{path}` cannot be read") from None
    except (jwt.PyJWTError, ValueError):
        raise AccessError(f"the key file `{path}` holds no JWK Set (RFC 7517)") from None


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    """The scopes of a token, in the two ways in which issuers write them."""
    found = claims.get("scope", claims.get("scp", ()))
    if isinstance(found, str):
        return found.split()
    return [scope for scope in found if isinstance(scope, str)] if isinstance(found, list) else []


def make_access(settings: Settings) -> Access | None:
    """Who may call by token or JWT, as *settings* say; None where that is not asked.

    Raises AccessError.
    """
    flaw = access_flaw(settings)
    if flaw is not None:
        raise AccessError(flaw)
    if settings.token_file is not None:
        return Access(FileTokens(settings.token_file))
    if settings.jwks is not None and settings.jwt_audience is not None:
        return Access(Jwts(settings.jwks, settings.jwt_audience, settings.jwt_issuer))
    return None


def make_tls(settings: Settings) -> ssl.SSLContext | None:
    """The server's side of TLS, as *settings* say; None for plain HTTP.  Raises AccessError."""
    cert, key, ca = settings.tls_cert, settings.tls_key, settings.tls_client_ca
    if cert is None or key is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # without a password a key in the file that needs one would be asked for at the terminal
    try:
        context.load_cert_chain(cert, key, password="")
    except (OSError, ValueError):
        raise AccessError(f"`{cert}` and `{key}` are no certificate and its key, in PEM") from None
    if ca is not None:
        try:
            context.load_verify_locations(ca)
        except (OSError, ValueError):
            raise AccessError(f"`{ca}` holds no certificates of CAs, in PEM") from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class Access:
    """Who the bearer of a token is.

    A judgement is kept for REMEMBERED_SECONDS, so that most requests are told at once.
    """

    def __init__(self, verifier: FileTokens | Jwts) -> None:
        self._verifier = verifier
        self._known: OrderedDict[bytes, tuple[float, Invoker]] = OrderedDict()

    def known(self, authorization: bytes | None) -> Invoker | None:
        """Who sent this header, where that was told a moment ago; else None."""
        held = self._known.get(authorization or b"")
        return held[1] if held is not None and held[0] > time.monotonic() else None

    async def invoker(self, authorization: bytes | None) -> Invoker | None:
        """Who sent this header; None for nobody who may call."""
        known = self.known(authorization)
        if known is not None:
            return known
        token = _bearer(authorization)
        access = None if token is None else await self._verifier.verify_token(token)
        if access is None or authorization is None:
            return None
        invoker: Invoker = {
            "type": self._verifier.type,
            "id": access.subject or access.client_id,
            "scopes": access.scopes,
            "claims": access.claims or {},
        }
        lasts = REMEMBERED_SECONDS
        if access.expires_at is not None:
            lasts = min(lasts, access.expires_at - time.time())
        self._known[authorization] = (time.monotonic() + lasts, invoker)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return invoker


def _bearer(authorization: bytes | None) -> str | None:
    scheme, _, token = (authorization or b"").partition(b" ")
    if scheme.lower() != b"bearer" or not token.strip():
        return None
    return token.strip().decode("latin-1")
