"""Servers that ask who calls, in processes of their own."""

from __future__ import annotations

import datetime
import http.client
import json
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from tests.conftest import Running

POLICY = """
policyd: v1
validators:
  - name: told
    match: {events: [tools/call], phase: request}
    rules: [{id: who, deny: "tool == 'x'", message: "{{ invoker.type }} {{ invoker.id }}"}]
"""
CALL = {"name": "told", "event": "tools/call", "phase": "request", "payload": {"name": "x"}}
TOKEN = "t" * 24


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "p.yaml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "tokens").write_text(f"gateway: {TOKEN}\n", encoding="utf-8")
    return tmp_path


class Authority:
    """A CA, and the certificates that it signs, as files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
        self.certificate = self._signed(self.name, self.key, x509.BasicConstraints(True, None))
        (folder / "ca.pem").write_bytes(self.certificate.public_bytes(Encoding.PEM))

    def issue(self, name: str) -> None:
        """Write NAME.pem and NAME.key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
        made = self._signed(subject, key, names)
        (self.folder / f"{name}.pem").write_bytes(made.public_bytes(Encoding.PEM))
        form = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (self.folder / f"{name}.key").write_bytes(form)

    def _signed(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, extension: Any
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(extension, critical=False)
            .sign(self.key, hashes.SHA256())
        )


def ask(running: Running, tls: ssl.SSLContext | None = None, **headers: str) -> tuple[int, Any]:
    place = urlsplit(running.url)
    if tls is None:
        connection = http.client.HTTPConnection(place.netloc, timeout=20)
    else:
        connection = http.client.HTTPSConnection(f"localhost:{place.port}", timeout=20, context=tls)
    message = {"jsonrpc": "2.0", "id": 1, "method": "interceptor/invoke", "params": CALL}
    sent = {"content-type": "application/json", "accept": "application/json", **headers}
    try:
        connection.request("POST", "/mcp", json.dumps(message), sent)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def told(answer: tuple[int, Any]) -> str:
    status, body = answer
    assert status == 200
    text: str = body["result"]["messages"][0]["message"]
    return text


def test_callers_send_a_token_of_the_file(folder: Path, serve: type[Running]) -> None:
    running = serve([str(folder / "policies"), "--token-file", str(folder / "tokens")])
    bearer = f"Bearer {TOKEN}"
    assert ask(running)[0] == 401
    assert [told(ask(running, authorization=bearer)) for _ in range(2)] == ["token gateway"] * 2
    assert ask(running, authorization="Bearer " + "w" * 24)[0] == 401
    assert TOKEN not in "\n".join(running.log)
    assert running.stop() == 0


def test_callers_show_a_certificate(folder: Path, serve: type[Running]) -> None:
    authority = Authority(folder)
    authority.issue("server")
    authority.issue("caller")
    files = {name: str(folder / name) for name in ("server.pem", "server.key", "ca.pem")}
    running = serve(
        [
            *(str(folder / "policies"), "--tls-cert", files["server.pem"]),
            *("--tls-key", files["server.key"], "--tls-client-ca", files["ca.pem"]),
        ]
    )
    tls = ssl.create_default_context(cafile=files["ca.pem"])
    with pytest.raises((ssl.SSLError, OSError, http.client.HTTPException)):
        ask(running, tls)
    tls.load_cert_chain(folder / "caller.pem", folder / "caller.key")
    assert [told(ask(running, tls)) for _ in range(2)] == ["certificate caller"] * 2
    assert running.stop() == 0
