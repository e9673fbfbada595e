"""Which ways of telling callers apart fit together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policyd.settings import Settings, access_flaw

FILE = Path("x")
ANYWHERE = ("0.0.0.0", 8765)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"http": ("localhost", 1)},
        {"http": ("::1", 1)},
        {"http": ("127.8.9.1", 1)},
        {"http": ANYWHERE, "stdio": True},
        {"http": ANYWHERE, "insecure": True},
        {"http": ANYWHERE, "token_file": FILE},
        {"http": ANYWHERE, "jwks": "k", "jwt_audience": "a", "jwt_issuer": "i"},
        {"http": ANYWHERE, "tls_cert": FILE, "tls_key": FILE, "tls_client_ca": FILE},
        {"tls_cert": FILE, "tls_key": FILE},
    ],
)
def test_what_fits(given: dict[str, Any]) -> None:
    assert access_flaw(Settings(**given)) is None


@pytest.mark.parametrize(
    ("given", "flaw"),
    [
        ({"http": ANYWHERE}, "`0.0.0.0` can be reached from other machines: say who may call"),
        ({"http": ("policyd.internal", 1)}, "`policyd.internal` can be reached from other"),
        ({"http": ANYWHERE, "tls_cert": FILE, "tls_key": FILE}, "can be reached from other"),
        ({"jwks": "k"}, "`--jwks` needs `--jwt-audience`"),
        ({"jwt_audience": "a"}, "`--jwt-audience` and `--jwt-issuer` go with `--jwks` only"),
        ({"jwt_issuer": "a"}, "`--jwt-audience` and `--jwt-issuer` go with `--jwks` only"),
        ({"tls_cert": FILE}, "`--tls-cert` and `--tls-key` go together"),
        ({"tls_key": FILE}, "`--tls-cert` and `--tls-key` go together"),
        ({"tls_client_ca": FILE}, "`--tls-client-ca` needs `--tls-cert` and `--tls-key`"),
    ],
)
def test_what_does_not_is_told(given: dict[str, Any], flaw: str) -> None:
    assert flaw in str(access_flaw(Settings(**given)))
