"""Who may call: tokens of a file, JWTs, and what becomes of everybody else."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import anyio
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from policyd.server import access as access_module
from policyd.server.access import (
    Access,
    AccessError,
    FileTokens,
    Jwts,
    make_access,
    make_tls,
)
from policyd.settings import Settings

ALICE, BOB = "a" * 20, "b" * 20
KEY, OTHER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
AUDIENCE, ISSUER = "https://policyd.example", "https://issuer.example"


def jwks(*keys: Ed25519PrivateKey) -> str:
    public = [json.loads(jwt.get_algorithm_by_name("EdDSA").to_jwk(k.public_key())) for k in keys]
    return json.dumps({"keys": [{**key, "kid": f"k{n}"} for n, key in enumerate(public)]})


def token(key: Ed25519PrivateKey = KEY, kid: str | None = "k0", **changed: Any) -> str:
    claims = {
        "sub": "u-1",
        "aud": AUDIENCE,
        "iss": ISSUER,
        "exp": int(time.time()) + 10**6,
        **changed,
    }
    given = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(given, key, algorithm="EdDSA", headers={"kid": kid} if kid else None)


def told(access: Access, *authorizations: bytes | str | None) -> list[Any]:
    async def body() -> list[Any]:
        headers = [a.encode() if isinstance(a, str) else a for a in authorizations]
        return [await access.invoker(header) for header in headers]

    return anyio.run(body)


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text(f"# who may call\n\nalice: {ALICE}\n  bob :{BOB}  \n", encoding="utf-8")
    return path


def test_a_token_of_the_file_is_known_by_its_name(tokens: Path) -> None:
    alice = {"type": "token", "id": "alice", "scopes": [], "claims": {}}
    found = told(
        Access(FileTokens(tokens)), f"Bearer {ALICE}", f"bearer  {BOB} ", f"Bearer {ALICE}"
    )
    assert found == [alice, {**alice, "id": "bob"}, alice]


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"Bearer",
        b"Bearer ",
        b"Basic " + ALICE.encode(),
        ALICE.encode(),
        b"Bearer \xff\xfe",
        b"Bearer " + ALICE[:-1].encode(),
        b"Bearer " + ALICE.encode() + b" x",
    ],
)
def test_everybody_else_is_nobody(header: bytes | None, tokens: Path) -> None:
    assert told(Access(FileTokens(tokens)), header) == [None]


def test_an_edit_of_the_file_counts_and_a_broken_one_does_not(
    tokens: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(access_module, "REMEMBERED_SECONDS", 0.0)
    access = Access(FileTokens(tokens))
    edit(tokens, f"carol: {BOB}\n")
    (nobody, carol) = told(access, f"Bearer {ALICE}", f"Bearer {BOB}")
    assert (nobody, carol["id"]) == (None, "carol")
    edit(tokens, "what is this\n")
    assert told(access, f"Bearer {BOB}")[0]["id"] == "carol"
    assert f"{tokens}:1: a line is `NAME: TOKEN`; the tokens of before count" in caplog.text
    tokens.unlink()
    assert told(access, f"Bearer {BOB}")[0]["id"] == "carol"


def edit(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(1, time.time_ns()))


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("", "has no token; a line is `NAME: TOKEN`"),
        ("alice\n", ":1: a line is `NAME: TOKEN`"),
        (f"alice: {ALICE}\nbob: short\n", ":2: the token is too short: 20 characters at least"),
        (f"alice: {ALICE}\nbob: {ALICE}\n", ":2: the token stands in an earlier line as well"),
        (f"alice: {ALICE} # mine\n", ":1: a line is `NAME: TOKEN`"),
        ("alice: ü" + ALICE, ":1: a line is `NAME: TOKEN`"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(tokens: Path, text: str, flaw: str) -> None:
    tokens.write_text(text, encoding="utf-8")
    with pytest.raises(AccessError) as caught:
        FileTokens(tokens)
    assert flaw in str(caught.value)
    assert ALICE not in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match="cannot be read"):
        FileTokens(tmp_path / "none")


# JWTs


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    path.write_text(jwks(KEY), encoding="utf-8")
    return path


def test_a_jwt_is_known_by_its_subject_with_its_claims(key_file: Path) -> None:
    given = token(scope="read write", team="red")
    (invoker,) = told(Access(Jwts(str(key_file), AUDIENCE, ISSUER)), f"Bearer {given}")
    assert (invoker["type"], invoker["id"], invoker["scopes"]) == ("jwt", "u-1", ["read", "write"])
    assert invoker["claims"]["team"] == "red"


@pytest.mark.parametrize(
    ("given", "id", "scopes"),
    [
        ({"sub": None, "azp": "app"}, "app", []),
        ({"sub": None}, "", []),
        ({"client_id": "app", "scp": ["a", 7, "b"]}, "u-1", ["a", "b"]),
        ({"scope": 7}, "u-1", []),
    ],
)
def test_what_a_jwt_leaves_out_has_a_value(
    given: dict[str, Any], id: str, scopes: list[str], key_file: Path
) -> None:
    (invoker,) = told(Access(Jwts(str(key_file), AUDIENCE)), f"Bearer {token(kid=None, **given)}")
    assert (invoker["id"], invoker["scopes"]) == (id, scopes)


def unsigned() -> str:
    return jwt.encode({"sub": "u", "aud": AUDIENCE, "exp": 2**40}, "", algorithm="none")


def by_secret() -> str:
    """Signed with a secret, which anybody could share."""
    claims = {"sub": "u", "aud": AUDIENCE, "iss": ISSUER, "exp": 2**40}
    return jwt.encode(claims, "s" * 32, algorithm="HS256", headers={"kid": "k0"})


@pytest.mark.parametrize(
    "given",
    [
        token(OTHER),
        token(kid="k7"),
        token(aud="https://other.example"),
        token(aud=None),
        token(iss="https://other.example"),
        token(exp=int(time.time()) - 60),
        token(exp=None),
        token(nbf=int(time.time()) + 600),
        token()[:-2],
        unsigned(),
        by_secret(),
        "x",
        "x.y.z",
    ],
)
def test_a_jwt_that_proves_nothing_is_nobody(given: str, key_file: Path) -> None:
    assert told(Access(Jwts(str(key_file), AUDIENCE, ISSUER)), f"Bearer {given}") == [None]


def test_a_judgement_ends_with_its_token(key_file: Path) -> None:
    access = Access(Jwts(str(key_file), AUDIENCE, ISSUER))
    header = f"Bearer {token(exp=int(time.time()) + 1)}".encode()
    assert told(access, header)[0]["id"] == "u-1"
    assert access.known(header) is not None
    deadline = time.monotonic() + 10
    while access.known(header) is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert told(access, header) == [None]


def test_judgements_are_kept_within_bounds(tokens: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_module, "REMEMBERED", 1)
    access = Access(FileTokens(tokens))
    told(access, f"Bearer {ALICE}", f"Bearer {BOB}")
    assert access.known(f"Bearer {ALICE}".encode()) is None
    assert access.known(f"Bearer {BOB}".encode()) is not None


class Issuer:
    """A JWK Set at an address; counts how often it is fetched."""

    def __init__(self) -> None:
        self.keys = jwks(KEY)
        self.fetched = 0
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.fetched += 1
                self.send_response(200 if issuer.keys else 500)
                self.end_headers()
                self.wfile.write(issuer.keys.encode())

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/keys"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    yield made
    made.stop()


def test_the_keys_of_an_issuer_are_fetched_once(issuer: Issuer) -> None:
    access = Access(Jwts(issuer.url, AUDIENCE, ISSUER))
    first, second = token(), token(sub="u-2")
    found = told(access, f"Bearer {first}", f"Bearer {second}", f"Bearer {token(OTHER)}")
    assert [invoker and invoker["id"] for invoker in found] == ["u-1", "u-2", None]
    assert issuer.fetched == 1


def test_an_issuer_that_is_down_lets_nobody_in_and_is_not_asked_each_time(
    issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    issuer.keys = ""
    access = Access(Jwts(issuer.url, AUDIENCE, ISSUER))
    assert told(access, f"Bearer {token()}", f"Bearer {token()}") == [None, None]
    assert issuer.fetched == 1
    assert "the keys of the issuer cannot be fetched" in caplog.text


@pytest.mark.parametrize(
    ("keys", "flaw"),
    [
        ("http://issuer.example/keys", "must be fetched over `https`"),
        ("none.json", "cannot be read"),
        (__file__, "holds no JWK Set"),
    ],
)
def test_keys_that_cannot_be_used_are_told(keys: str, flaw: str) -> None:
    with pytest.raises(AccessError, match=flaw):
        Jwts(keys, AUDIENCE)


# Settings


def test_settings_say_who_may_call(tokens: Path, key_file: Path) -> None:
    assert make_access(Settings()) is None
    named = make_access(Settings(token_file=tokens))
    assert named is not None
    assert told(named, f"Bearer {ALICE}")[0]["id"] == "alice"
    signed = make_access(Settings(jwks=str(key_file), jwt_audience=AUDIENCE))
    assert signed is not None
    assert told(signed, f"Bearer {token()}")[0]["id"] == "u-1"


def test_settings_that_do_not_fit_are_told() -> None:
    with pytest.raises(AccessError, match="needs `--jwt-audience`"):
        make_access(Settings(jwks="keys.json"))


def test_certificates_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    none = tmp_path / "none.pem"
    assert make_tls(Settings()) is None
    with pytest.raises(AccessError, match="are no certificate and its key"):
        make_tls(Settings(tls_cert=none, tls_key=none))
