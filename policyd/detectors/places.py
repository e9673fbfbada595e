"""Detectors of secrets that are known by where they stand: a header, a setting, a file.

The name before a value says that it is a secret; the value must look drawn at random.
"""

from __future__ import annotations

import base64
import binascii
import string

from policyd.detectors.detector import (
    ALNUM,
    Detector,
    Evidence,
    beside,
    entropy,
    filler,
    has_digit,
    whole,
)

_SECRETS = ("secrets",)
_HEX = string.digits + "abcdef"
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def _is_random(text: str) -> bool:
    """True with digits and letters, little of which is repeated."""
    return has_digit(text) and not text.isdigit() and entropy(text) >= 3.0


def _is_no_stand_in(text: str) -> bool:
    """False for what templates and redactors write in the place of a secret."""
    masked = any(mask in text for mask in ("**", "\u2022\u2022", "\u2588\u2588"))
    return text[0] not in "[<{$%" and not masked and text.upper() != "REDACTED"


def _is_very_random(text: str) -> bool:
    return _is_random(text) and entropy(text) >= 3.7 and not text.startswith(("sha256", "sha512"))


def _has_random_value(text: str) -> bool:
    return any(_is_random(part.partition("=")[2]) for part in text.split(";"))


def _is_docker_auth(text: str) -> bool:
    try:
        return b":" in base64.b64decode(text, validate=True)
    except binascii.Error:
        return False


def _uuid() -> str:
    text = filler("uuid", 32, _HEX)
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _named(name: str, words: str, found: str, sample: str, size: int) -> Detector:
    """The detector of an issuer's secrets that have no prefix, after the issuer's name."""
    return Detector(
        name=name,
        groups=("secrets", "secrets.vendors"),
        evidence=Evidence.CONTEXT,
        patterns=(beside(words, found),),
        sample=lambda: sample + (_uuid() if found == _UUID else filler(name, size, _HEX)),
        check=whole(_is_random),
        look_alikes=(sample, f"{sample}your-value-goes-here", filler(name, size, _HEX)),
    )


PLACES: tuple[Detector, ...] = (
    Detector(
        name="cookie",
        groups=_SECRETS,
        evidence=Evidence.CONTEXT,
        patterns=(
            r"(?i)\b(?:set-)?cookie[\"']?\s{0,2}:\s{0,2}[\"']?"
            r"([A-Za-z0-9_.-]{1,64}=[^\x00\s;,\"']{8,}"
            r"(?:; ?[A-Za-z0-9_.-]{1,64}=[^\x00\s;,\"']+)*)",
        ),
        sample=lambda: "Cookie: sid=" + filler("cookie", 32),
        check=whole(_has_random_value),
        look_alikes=("Cookie: theme=darkmode-contrast", "cookie: none", "cookies=enabled"),
    ),
    Detector(
        name="session-id",
        groups=_SECRETS,
        evidence=Evidence.CONTEXT,
        patterns=(
            r"(?i)\b(?:phpsessid|jsessionid|asp\.net_sessionid|connect\.sid|sessionid|session_id)"
            r"[\"']?\s{0,2}[:=]\s{0,2}[\"']?([A-Za-z0-9%._~+/-]{20,})",
        ),
        sample=lambda: "PHPSESSID=" + filler("session", 26),
        check=whole(_is_random),
        look_alikes=("sessionid=1234", "session_id: the-first-session-of-the-day"),
    ),
    Detector(
        name="api-key-header",
        groups=_SECRETS,
        evidence=Evidence.CONTEXT,
        patterns=(
            r"(?i)\bx-(?:api-key|auth-token|access-token|vault-token|amz-security-token|"
            r"goog-api-key)[\"']?\s{0,2}[:=]\s{0,2}[\"']?([A-Za-z0-9._~+/=-]{16,})",
        ),
        sample=lambda: "X-Api-Key: " + filler("header", 32),
        check=whole(_is_random),
        look_alikes=("X-Api-Key: required", "x-api-key: your-api-key-goes-here"),
    ),
    Detector(
        name="query-secret",
        groups=_SECRETS,
        evidence=Evidence.CONTEXT,
        patterns=(
            r"(?i)[?&](?:access_token|api[_-]?key|auth|client_secret|id_token|key|password|"
            r"refresh_token|secret|sig|signature|token|x-amz-signature)=([A-Za-z0-9%._~+/-]{16,})",
        ),
        sample=lambda: "https://h.example/v1?access_token=" + filler("query", 32),
        check=whole(_is_random),
        look_alikes=("https://h.example/?key=abc", "?token=the-token-that-you-were-given"),
    ),
    Detector(
        name="connection-string",
        groups=_SECRETS,
        evidence=Evidence.CONTEXT,
        patterns=(
            r"(?i)\b(?:server|data source|host|driver|endpoint|addr(?:ess)?)\s?=[^\n\x00]{1,200}?;"
            r"\s?(?:password|pwd)\s?=([^\x00\s;\"'<>\\]{4,})",
            r"(?i)\b(?:host|dbname|user)=\S{1,80} [^\n\x00]{0,120}?\bpassword="
            r"([^\x00\s;\"'<>\\]{4,})",
        ),
        sample=lambda: "Server=db.example;Database=main;Uid=svc;Pwd=" + filler("ado", 12),
        check=whole(_is_no_stand_in),
        look_alikes=("Server=db;Trusted_Connection=True", "Server=db;Pwd=<password>"),
    ),
    Detector(
        name="netrc-login",
        groups=_SECRETS,
        evidence=Evidence.CONTEXT,
        patterns=(r"\bmachine\s\S{1,100}\slogin\s\S{1,100}\spassword\s([^\x00\s\"'<>\\]{4,})",),
        sample=lambda: "machine h.example login svc password " + filler("netrc", 12),
        check=whole(_is_no_stand_in),
        look_alikes=("machine h.example login svc", "machine learning password"),
    ),
    Detector(
        name="npmrc-token",
        groups=_SECRETS,
        evidence=Evidence.CONTEXT,
        patterns=(r":_(?:authToken|password)\s?=\s?\"?([A-Za-z0-9._~+/=-]{16,})",),
        sample=lambda: "//registry.example/:_auth" + "Token=" + filler("npmrc", 36),
        check=whole(_is_random),
        look_alikes=("//registry.example/:_authToken=${NPM_TOKEN}", ":_authToken=none"),
    ),
    Detector(
        name="docker-auth",
        groups=_SECRETS,
        evidence=Evidence.CHECKSUM,
        patterns=(r"\\?\"auth\\?\"\s{0,2}:\s{0,2}\\?\"([A-Za-z0-9+/]{12,}={0,2})",),
        sample=lambda: '{"auth": "' + base64.b64encode(b"svc:" + b"drawn at random").decode(),
        check=whole(_is_docker_auth),
        look_alikes=(
            '{"auth": "required"}',
            '{"auth": "is-it-needed"}',
            '{"auth": "requiredhere1"}',
            '{"auth": "MDEyMzQ1Njc4OTAx"}',
        ),
    ),
    Detector(
        name="crypt-hash",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(
            r"(\$2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53})",
            r"(\$(?:5|6|y|apr1)\$(?:rounds=[0-9]+\$)?[./A-Za-z0-9$]{2,40}\$[./A-Za-z0-9]{22,86})",
            r"(\$argon2(?:id|i|d)\$v=[0-9]+\$m=[0-9]+,t=[0-9]+,p=[0-9]+\$[A-Za-z0-9+/]+\$"
            r"[A-Za-z0-9+/]{16,})",
        ),
        sample=lambda: "root:$2" + "b$12$" + filler("bcrypt", 53, ALNUM + "./"),
        look_alikes=("$2b$", "costs $5$ or $6$", "$argon2id$"),
    ),
    Detector(
        name="otp-seed",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"(?i)\botpauth://[a-z]+/[^\x00\s\"']{0,200}?[?&]secret=([A-Z2-7]{16,})",),
        sample=lambda: "otpauth://totp/a:b?secret=" + filler("otp", 32, "ABCDEFGH234567"),
        look_alikes=("otpauth://totp/a:b", "otpauth://totp/a?secret=none"),
    ),
    Detector(
        name="putty-private-key",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(
            r"\bPuTTY-User-Key-File-[0-9]+:[^\x00]*?Private-Lines: [0-9]+(?:\s|\\[rn])+"
            r"([A-Za-z0-9+/=]{40,}(?:(?:\s|\\[rn])+[A-Za-z0-9+/=]{20,})*)",
        ),
        sample=lambda: (
            "PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 2\n" + filler("ppk", 64, ALNUM + "+/")
        ),
        look_alikes=("PuTTY-User-Key-File-2: ssh-rsa", "Private-Lines: 2"),
    ),
    Detector(
        name="wireguard-key",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"\b(?:PrivateKey|PresharedKey)\s?=\s?([A-Za-z0-9+/]{43}=)",),
        sample=lambda: "PrivateKey = " + filler("wg", 43, ALNUM + "+/") + "=",
        look_alikes=("PrivateKey = <yours>", "PublicKey = " + "A" * 43 + "="),
    ),
    Detector(
        name="discord-bot-token",
        groups=_SECRETS,
        evidence=Evidence.CHECKSUM,
        # the first part is the decimal id of the bot in base64
        patterns=(r"\b([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})",),
        sample=lambda: (
            base64.b64encode(b"120034005600780091").decode()
            + f".{filler('discord', 6)}.{filler('bot', 27)}"
        ),
        check=whole(lambda text: _is_decimal(text.partition(".")[0])),
        look_alikes=(
            "Module.method.call",
            "M" + "a" * 24 + ".abcdef." + "a" * 27,
            "Nothing_is_here_to_be_seen.abcdef." + "a" * 27,
        ),
    ),
    Detector(
        name="discord-webhook",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"\bdiscord(?:app)?\.com/api/webhooks/[0-9]{15,20}/([A-Za-z0-9_-]{60,})",),
        sample=lambda: "https://discord.com/api/webhooks/" + "1" * 18 + "/" + filler("dw", 68),
        look_alikes=("https://discord.com/api/webhooks/", "https://discord.com/channels/1"),
    ),
    Detector(
        name="teams-webhook",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"\bwebhook\.office\.com/(webhookb2/[A-Za-z0-9@/-]{60,})",),
        sample=lambda: (
            "https://acme.webhook.office.com/webhookb2/" + _uuid() + "@" + _uuid() + "/x"
        ),
        look_alikes=("https://acme.webhook.office.com/webhookb2/", "webhook.office.com"),
    ),
    Detector(
        name="google-refresh-token",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"(?:^|[^A-Za-z0-9/])(1//0[A-Za-z0-9_-]{40,})",),
        sample=lambda: "token 1/" + "/0" + filler("refresh", 48),
        look_alikes=("1//0", "https://h.example/1//0abc"),
    ),
    _named("heroku-key", "heroku(?:_api_key)?", _UUID, "HEROKU_API_KEY=", 32),
    _named("datadog-key", "datadog|dd_api_key|dd_app_key", "[0-9a-f]{32,40}", "DD_API_KEY=", 32),
    _named("cloudflare-key", "cloudflare|cf_api_key", "[0-9a-f]{37}", "cloudflare key ", 37),
    _named("algolia-key", "algolia", "[0-9a-f]{32}", "algolia_key: ", 32),
    _named("mailchimp-key", "mailchimp", "[0-9a-f]{32}(?:-us[0-9]{1,2})?", "mailchimp: ", 32),
    _named("mailgun-key", "mailgun", "(?:key-)?[0-9a-f]{32}", "mailgun key ", 32),
    _named("okta-token", "okta", "00[A-Za-z0-9_-]{40}", "okta token 00", 40),
    _named("launchdarkly-key", "launchdarkly", _UUID, "launchdarkly sdk-", 32),
    Detector(
        name="high-entropy-assignment",
        groups=("secrets.generic",),
        evidence=Evidence.GENERIC,
        patterns=(
            r"(?i)\b[A-Z0-9_.-]{0,40}(?:token|secret|credential|api[_-]?key|private[_-]?key)"
            r"[A-Z0-9_]{0,20}\\?[\"']?\s{0,3}(?:=>|:=|=|:)\s{0,3}\\?[\"']?([A-Za-z0-9+/_.~-]{24,}={0,2})",
        ),
        sample=lambda: "DEPLOY_TOKEN=" + filler("assigned", 40),
        check=whole(_is_very_random),
        look_alikes=(
            "token: the-token-that-you-were-given",
            "secret = 0000000000000000000000000000",
            "token_count=1234567890123456789012345",
        ),
    ),
)
"""Detectors of secrets by their place, in the order of the file."""


def _is_decimal(encoded: str) -> bool:
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).isdigit()
    except binascii.Error:
        return False
