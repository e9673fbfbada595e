"""Detectors of credentials that are known by structure or by what stands beside them.

The weakest of them, an assignment to a name such as `password`, is a group of its own: see
`generic-secret`.
"""

from __future__ import annotations

import base64
import binascii
import json
from string import ascii_lowercase, ascii_uppercase, digits

from policyd.detectors.detector import (
    ALNUM,
    Detector,
    Evidence,
    compiled,
    entropy,
    filler,
    has_digit,
    has_upper,
    whole,
)

_SECRETS = ("secrets",)

# A key block.  It needs a line of key text: a header alone is documentation.  Without an end it
# reaches to the end of the text, because a truncated key is as secret as a whole one.
_LABEL = r"(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_PRIVATE_KEY = (
    rf"(-{{4,5}} ?BEGIN {_LABEL}"
    r"(?:[^-]|-[^-]){0,200}?[A-Za-z0-9+/=]{16}"
    rf"(?s:.*?-{{4,5}} ?END {_LABEL}|.*))"
)


def _private_key() -> str:
    lines = "\n".join(filler(f"pem{number}", 64, ALNUM + "+/") for number in range(4))
    edge = "-" * 5
    return f"{edge}BEGIN PRIVATE KEY{edge}\n{lines}\n{edge}END PRIVATE KEY{edge}"


# JSON Web Tokens (RFC 7519), signed or encrypted.  They start with a brace and a quote, blank or
# line break, encoded; the filter needs three letters to look for.
_JWT_START = r"\b((?:eyJ|eyA|ewo|ew0)[A-Za-z0-9_-]{8,}\."

MAX_JWT_HEADER = 4096
"""Characters of a JWT header that are decoded; real ones have less than a hundred."""


def _has_jose_header(text: str) -> bool:
    encoded = text[: text.index(".")]
    if len(encoded) > MAX_JWT_HEADER:
        return False
    try:
        header = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and isinstance(header.get("alg"), str)


def _jwt() -> str:
    parts = (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"someone","iat":1}', b"not signed by anyone")
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


# AWS secret keys are 40 characters without a prefix, so something beside them must say so.
_AWS_END = r"([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"


def _is_mixed(text: str) -> bool:
    """True with capitals, small letters and digits, which a hex digest does not have."""
    chars = set(text)
    return bool(chars & {*ascii_uppercase} and chars & {*ascii_lowercase} and chars & {*digits})


# Credentials in URLs.  Everything before the last `@` of the authority is userinfo (WHATWG).

_STAND_INS = frozenset({"password", "passwd", "pass", "pwd", "secret", "token", "changeme"})
_TEMPLATE = compiled(
    r"\$[A-Z_][A-Z0-9_]*|\$?\{.*\}|\$\(.*\)|%\(\w+\)s|%s|<.*>|\[.*\]|sha256:[0-9a-f]{64}.*"
)


def _has_password(userinfo: str) -> bool:
    password = userinfo[userinfo.index(":") + 1 :]
    return not (_is_stand_in(password) or _TEMPLATE.fullmatch(userinfo))


def _is_stand_in(value: str) -> bool:
    """True for what documentation, templates and redactors write instead of a secret."""
    return value.casefold() in _STAND_INS or len(set(value)) == 1 or _TEMPLATE.fullmatch(value)


def _is_basic_credentials(text: str) -> bool:
    padded = text.rstrip("=")
    try:
        decoded = base64.urlsafe_b64decode(padded + "=" * (-len(padded) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return ":" in decoded and decoded.isprintable()


def _is_token(text: str) -> bool:
    """True for text that looks drawn at random rather than written."""
    return has_digit(text) and not text.isdigit() and entropy(text) >= 3.2


def _is_generic_secret(text: str) -> bool:
    """True for a value that mixes digits with letters and repeats little.

    Words, paths, dotted names, calls and bare numbers are what such names are mostly set to.
    """
    if _is_stand_in(text) or not has_digit(text) or not _letters(text):
        return False
    if "://" in text or text[0] in "/.~" or _is_dotted_name(text):
        return False
    return entropy(text) >= 3.0 and (has_upper(text) or _digit_share(text) >= 0.15)


def _is_dotted_name(text: str) -> bool:
    return "." in text and all(part.isidentifier() for part in text.split("."))


def _letters(text: str) -> bool:
    return any(char.isalpha() for char in text)


def _digit_share(text: str) -> float:
    return sum(char in digits for char in text) / len(text)


_SECRET_NAME = (
    r"(?:pass(?:word|wd|phrase)|pwd|secret|api[_-]?key|(?:access|auth|refresh|session)[_-]?token"
    r"|client[_-]?secret|(?:encryption|signing|private)[_-]?key)"
)

CREDENTIALS: tuple[Detector, ...] = (
    Detector(
        name="private-key",
        groups=_SECRETS,
        evidence=Evidence.CHECKSUM,
        patterns=(_PRIVATE_KEY,),
        sample=_private_key,
        look_alikes=(
            "the file starts with -----BEGIN PRIVATE" + " KEY----- and ends with a similar line",
            "-----BEGIN CERTIFICATE-----\n" + "A" * 64,
        ),
    ),
    Detector(
        name="jwt",
        groups=_SECRETS,
        evidence=Evidence.CHECKSUM,
        patterns=(
            _JWT_START + r"[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*)",
            _JWT_START
            + r"[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,})",
        ),
        sample=_jwt,
        check=whole(_has_jose_header),
        look_alikes=(
            "eyebrowsandlashes.example.com",
            "eyJ" + "hbGciOiJIUzI1NiJ9",
            "ewoAAAAAAAAAA.bbbb.c",
        ),
    ),
    Detector(
        name="aws-secret-access-key",
        groups=_SECRETS,
        evidence=Evidence.CONTEXT,
        patterns=(
            r"(?i:secret[_ -]?(?:access[_ -]?)?key|aws[_ -]?secret)(?: is)?"
            r"[^A-Za-z0-9/+\n]{1,12}" + _AWS_END,
            r"\bA[KS]IA[A-Z0-9]{16}[^A-Za-z0-9/+=]{1,12}" + _AWS_END,
        ),
        sample=lambda: "aws_secret_access_" + "key=" + filler("aws secret", 40, ALNUM + "+/"),
        check=whole(_is_mixed),
        look_alikes=(
            "secret access key digest: 3f1c9a0b7d2e4f5a6b7c8d9e0f1a2b3c4d5e6f70",
            "aws_secret_access_key = read_from_the_environment",
        ),
    ),
    Detector(
        name="basic-auth-url",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(
            r"(?i)\b[a-z][a-z0-9+.-]{1,30}://"
            r"""([^\x00\s/?#"'`<>\\@:]*:[^\x00\s/?#"'`<>\\]+)@""",
        ),
        sample=lambda: "postgres://svc:" + filler("url", 12) + "@db.example/main",
        check=whole(_has_password),
        look_alikes=(
            "http://localhost:8080/@scope/name",
            "https://user@host.example/",
            "postgres://user:password@localhost/db",
            "https://$USER:$PASS@host.example",
            "redis://:<password>@host.example",
        ),
    ),
    Detector(
        name="basic-auth-header",
        groups=_SECRETS,
        evidence=Evidence.CHECKSUM,
        patterns=(r"(?i)\bbasic\s{1,3}([A-Za-z0-9+/_-]{8,}={0,2})",),
        sample=lambda: "Basic " + base64.b64encode(b"deploy:" + filler("b", 12).encode()).decode(),
        check=whole(_is_basic_credentials),
        look_alikes=("Basic authentication is off", "Basic knowledge_of_something"),
    ),
    Detector(
        name="bearer-token",
        groups=_SECRETS,
        evidence=Evidence.CONTEXT,
        patterns=(r"(?i)\bbearer[\s:=]{1,3}([A-Za-z0-9._~+/-]{16,}=*)",),
        sample=lambda: "Authorization: Bearer " + filler("bearer", 32),
        check=whole(_is_token),
        look_alikes=("Bearer authentication-is-required-here", "bearer 1234567890123456"),
    ),
    Detector(
        name="generic-secret",
        groups=("secrets.generic",),
        evidence=Evidence.GENERIC,
        patterns=(
            rf"(?i){_SECRET_NAME}[A-Za-z0-9_]{{0,20}}\\?[\"']?\s{{0,3}}(?:=>|:=|=|:)\s{{0,3}}\\?[\"']?"
            r"""([^\x00\s"'`\\<>{}\[\]()$*,;&|]{8,})""",
        ),
        sample=lambda: "password = " + filler("generic", 16),
        check=whole(_is_generic_secret),
        look_alikes=(
            "const BRANCH_ALERT_KEY = 'brain-sync-wrong-branch';",
            "password: changeme",
            "password = os.environ['DB_PASSWORD_1']",
            "secret: https://docs.example.com/a1/b2",
            "api_key: /etc/keys/service-1.pem",
            "password=****************",
        ),
    ),
)
"""Detectors of structured credentials, in the order of the file."""
