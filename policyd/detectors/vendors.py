"""Detectors of tokens that their issuers gave a shape of its own.

Each row is the published or observed form of one issuer's tokens.  A fixed prefix and a minimal
length are required, an internal checksum is not: a damaged or a made-up token is better
redacted than passed on.
"""

from __future__ import annotations

import string

from policyd.detectors.detector import (
    Detector,
    Evidence,
    filler,
    has_digit,
    has_upper,
    is_kebab,
    whole,
)

_SECRETS = ("secrets",)
_HEX = string.digits + "abcdef"
_not_kebab = whole(lambda text: not is_kebab(text))
_with_digit = whole(has_digit)
_with_upper = whole(has_upper)

VENDORS: tuple[Detector, ...] = (
    Detector(
        name="aws-access-key-id",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        # long-term, temporary, bearer and context-specific keys; AIDA and AROA name
        # people and roles and are no credentials
        patterns=(
            r"(?:\b|_)((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b",
            r"(?:\b|_)(A3T[A-Z0-9]{17})\b",
        ),
        sample=lambda: "AK" + "IA" + filler("aws", 16, string.ascii_uppercase + "234567"),
        look_alikes=("AKIA", "AKIA_IS_A_PREFIX_OF_KEYS", "ASIA-PACIFIC-SOUTHEAST-REGION"),
    ),
    Detector(
        name="github-token",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        # ghs_ tokens of apps may be `ghs_<app>_<JWT>`
        patterns=(
            r"(gh[pousr]_[A-Za-z0-9]{20,})",
            r"(github_pat_[A-Za-z0-9_]{22,})",
            r"(ghs_[0-9]{1,12}_ey[A-Za-z0-9_.-]{40,})",
        ),
        sample=lambda: "gh" + "p_" + filler("github", 36),
        look_alikes=("ghp_short", "ghs_not_a_token_but_a_long_name", "github_pat_"),
    ),
    Detector(
        name="gitlab-token",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(
            r"\b(gl(?:pat|dt|ptt|cbt|rt|ft|imt|agent|soat|oas|ffct|wt)-[A-Za-z0-9_-]{20,}"
            r"(?:\.[0-9a-z]{2}\.[0-9a-z]{9})?)",
        ),
        sample=lambda: "gl" + "pat-" + filler("gitlab", 20),
        check=_not_kebab,
        look_alikes=("glagent-for-the-production-cluster", "glrt-x"),
    ),
    Detector(
        name="slack-token",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(
            r"\b((?:xoxe\.)?xox[abceoprs]-[A-Za-z0-9-]{10,})",
            r"\b(xoxd-[A-Za-z0-9%+/=]{20,})",
            r"\b(xapp-[0-9]-[A-Za-z0-9-]{10,})",
        ),
        sample=lambda: "-".join(
            (
                "xo" + "xb",
                filler("1", 12, "123456789"),
                filler("2", 13, "123456789"),
                filler("3", 24),
            )
        ),
        check=_with_digit,
        look_alikes=("xoxb-your-token-goes-here", "xapp-config"),
    ),
    Detector(
        name="slack-webhook",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(
            r"\bhooks\.slack(?:-gov)?\.com/((?:services|workflows|triggers)/[A-Za-z0-9_/-]{20,})",
        ),
        sample=lambda: (
            "https://hooks.slack.com/services/T"
            + "/".join((filler("t", 8), "B" + filler("b", 8), filler("w", 24)))
        ),
        look_alikes=("https://hooks.slack.com/services/", "https://slack.com/services/T/B/X"),
    ),
    Detector(
        name="stripe-live-key",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"([sr]k_live_[A-Za-z0-9]{16,})",),
        sample=lambda: "sk_" + "live_" + filler("stripe", 24),
        look_alikes=("sk_live_", "task_live_updates_are_on", "sk_test_" + "0" * 24),
    ),
    Detector(
        name="google-api-key",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"\b(AIza[A-Za-z0-9_-]{35})(?:[^A-Za-z0-9_]|$)",),
        sample=lambda: "AI" + "za" + filler("google", 35),
        look_alikes=("AIza", "AIzawa-san"),
    ),
    Detector(
        name="google-oauth-secret",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"\b(GOCSPX-[A-Za-z0-9_-]{28})", r"\b(ya29\.[A-Za-z0-9_-]{20,})"),
        sample=lambda: "GOC" + "SPX-" + filler("oauth", 28),
        look_alikes=("GOCSPX-", "ya29.short"),
    ),
    Detector(
        name="npm-token",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"\b(npm_[A-Za-z0-9]{36})\b",),
        sample=lambda: "np" + "m_" + filler("npm", 36),
        look_alikes=("npm_config_registry", "npm_lifecycle_event"),
    ),
    Detector(
        name="pypi-token",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        # `AgE` begins the encoded macaroon of version 2 with an identifier of a site
        patterns=(r"(pypi-AgE[A-Za-z0-9_-]{50,})",),
        sample=lambda: "py" + "pi-AgE" + filler("pypi", 100),
        look_alikes=("pypi-AgEnt", "pypi-publish-action"),
    ),
    Detector(
        name="openai-key",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(
            r"\b(sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,})",
            r"\b(sk-[A-Za-z0-9]{48})\b",
        ),
        sample=lambda: "sk" + "-proj-" + filler("openai", 48),
        check=_with_upper,
        look_alikes=("sk-proj-settings-panel-for-the-admin", "sk-admin-only-navigation-items-2"),
    ),
    Detector(
        name="anthropic-key",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"\b(sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,})",),
        sample=lambda: "sk" + "-ant-" + "api03-" + filler("anthropic", 80),
        check=_with_upper,
        look_alikes=("sk-ant-colony-simulation-with-many-ants",),
    ),
    Detector(
        name="sendgrid-key",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"\b(SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})",),
        sample=lambda: "S" + "G." + filler("sg1", 22) + "." + filler("sg2", 43),
        look_alikes=("SG.example.com", "SG.1.2"),
    ),
    Detector(
        name="twilio-key",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        # An account is AC and 32 digits, which is no secret; its auth token has no prefix.
        # In two, because the filter can look for `SK0` to `SK7` but not for `SK`.
        patterns=(
            r"\b(SK[0-7][0-9a-f]{31})\b",
            r"\b(SK[89a-f][0-9a-f]{31})\b",
            r"(?i)\btwilio[^\n]{0,40}?\b([0-9a-f]{32})\b",
        ),
        sample=lambda: "S" + "K" + filler("twilio", 32, _HEX),
        look_alikes=("AC" + "0" * 32, "SK-0123456789abcdef"),
    ),
    Detector(
        name="telegram-bot-token",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"(?:\b|bot)([0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_]|$)",),
        sample=lambda: filler("bot", 9, "123456789") + ":A" + "A" + filler("telegram", 33),
        look_alikes=("12345678:AAxis", "10:15:30 12345678:AA"),
    ),
    Detector(
        name="azure-storage-key",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        # storage accounts, service bus and event hubs, shared access signatures
        patterns=(
            r"(?i)\baccountkey=([A-Za-z0-9+/]{86}==)",
            r"(?i)\bsharedaccesskey=([A-Za-z0-9+/]{43}=)",
            r"[?&]sig=([A-Za-z0-9%]{43,63}%3[Dd])",
        ),
        sample=lambda: "AccountName=a;Account" + "Key=" + filler("azure", 86) + "==",
        look_alikes=("AccountKey=<your key>", "https://h.example/x?sig=abc%3D"),
    ),
    Detector(
        name="azure-client-secret",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"(?:^|[^A-Za-z0-9_~.-])([A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})",),
        sample=lambda: filler("entra", 3) + "8" + "Q~" + filler("secret", 34),
        look_alikes=("8Q~", "abc8Q~short"),
    ),
    Detector(
        name="huggingface-token",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"\b(hf_[A-Za-z0-9]{34})\b",),
        sample=lambda: "h" + "f_" + filler("hf", 34),
        look_alikes=("hf_hub_download", "hf_transformers_cache_directory_name"),
    ),
    Detector(
        name="vault-token",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"\b(hv[sbr]\.[A-Za-z0-9_-]{24,})",),
        sample=lambda: "hv" + "s." + filler("vault", 90),
        check=_not_kebab,
        look_alikes=("hvs.example.com", "hvr.a_method_with_a_very_long_name"),
    ),
    Detector(
        name="digitalocean-token",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"\b(do[opr]_v1_[a-f0-9]{64})\b",),
        sample=lambda: "do" + "p_v1_" + filler("do", 64, _HEX),
        look_alikes=("dop_v1_" + "0" * 20,),
    ),
    Detector(
        name="docker-token",
        groups=_SECRETS,
        evidence=Evidence.SHAPE,
        patterns=(r"\b(dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,})",),
        sample=lambda: "dckr" + "_pat_" + filler("docker", 27),
        look_alikes=("dckr_pat_", "dckr_pat_short"),
    ),
)
"""Detectors of tokens with an issuer's prefix, in the order of the file."""
