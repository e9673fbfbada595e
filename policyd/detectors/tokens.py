"""Detectors of tokens that are a fixed prefix and a random rest: one line for each.

Prefixes and lengths are those that the issuers publish or that their tokens show.  What has
more to it is in `vendors`.
"""

from __future__ import annotations

import string
from typing import NamedTuple

from policyd.detectors.detector import (
    ALNUM,
    Detector,
    Evidence,
    entropy,
    filler,
    is_kebab,
    whole,
)

_HEX = string.digits + "abcdef"
_LOWER = string.digits + string.ascii_lowercase
_URL = ALNUM + "_-"
_CAPITALS = string.digits + string.ascii_uppercase

_CLASSES = {
    ALNUM: "[A-Za-z0-9]",
    _HEX: "[a-f0-9]",
    _LOWER: "[a-z0-9]",
    _URL: "[A-Za-z0-9_-]",
    _CAPITALS: "[A-Z0-9]",
}


class _Token(NamedTuple):
    """What the tokens of one issuer look like.

    prefix: how one starts; like: a pattern for how all do, where there are several ways.
    size: characters of the rest, or of its parts, from `alphabet`; joint: what is between them.
    """

    name: str
    prefix: str
    size: int | tuple[int, ...]
    alphabet: str = ALNUM
    joint: str = "-"
    like: str = ""

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.size,) if isinstance(self.size, int) else self.size

    def pattern(self) -> str:
        letter = _CLASSES[self.alphabet]
        *parts, last = self.sizes
        head = "".join(f"{letter}{{{size}}}[{self.joint}]" for size in parts)
        # longer ones are taken as well: issuers make their tokens longer, never shorter
        return rf"\b({self.like or self.prefix}{head}{letter}{{{last},}})"

    def sample(self) -> str:
        parts = (filler(f"{self.name}{i}", n, self.alphabet) for i, n in enumerate(self.sizes))
        return self.prefix + self.joint.join(parts)


_TOKENS = (
    _Token("adobe-client-secret", "p8e-", 32),
    _Token("age-secret-key", "AGE-SECRET-KEY-1", 58, _CAPITALS),
    _Token("airtable-token", "pat", (14, 64), joint="."),
    _Token("alibaba-access-key-id", "LTAI", 20),
    _Token("artifactory-key", "AKCp", 69),
    _Token("atlassian-token", "ATATT3", 180, _URL),
    _Token("bitbucket-app-password", "ATBB", 32),
    _Token("buildkite-token", "bkua_", 40, _LOWER, like="bk(?:ua|pat|ct)_"),
    _Token("clojars-token", "CLOJARS_", 60, _LOWER),
    _Token("crates-io-token", "cio", 32),
    _Token("databricks-token", "dapi", 32, _HEX),
    _Token("doppler-token", "dp.pt.", 43, like=r"dp\.(?:pt|st|ct|sa|scim|audit)\."),
    _Token("duffel-token", "duffel_live_", 43, _URL, like="duffel_(?:live|test)_"),
    _Token("dynatrace-token", "dt0c01.", (24, 64), joint=".", like=r"dt0[a-z]01\."),
    _Token("easypost-key", "EZAK", 54),
    _Token("figma-token", "figd_", 40, _URL),
    _Token("flutterwave-key", "FLWSECK-", 32, _LOWER),
    _Token("fly-io-token", "fo1_", 43, _URL),
    _Token("frameio-token", "fio-u-", 64, _URL),
    _Token("grafana-cloud-token", "glc_", 32),
    _Token("grafana-service-token", "glsa_", (32, 8), joint="_"),
    _Token("groq-key", "gsk_", 52),
    _Token("hubspot-token", "pat-na1-", (8, 4, 4, 4, 12), _HEX, like="pat-(?:na|eu)[0-9]-"),
    _Token("infracost-key", "ico-", 32),
    _Token("langfuse-key", "sk-lf-", (8, 4, 4, 4, 12), _HEX),
    _Token("langsmith-key", "lsv2_pt_", (32, 10), _HEX, joint="_", like="lsv2_(?:pt|sk)_"),
    _Token("linear-key", "lin_api_", 40),
    _Token("new-relic-key", "NRAK-", 27, _CAPITALS),
    _Token("notion-token", "ntn_", 43),
    _Token("nuget-key", "oy2", 43, _LOWER),
    _Token("perplexity-key", "pplx-", 48),
    _Token("planetscale-token", "pscale_tkn_", 43, _URL, like="pscale_(?:tkn|pw|oauth)_"),
    _Token("postman-key", "PMAK-", (24, 34), _HEX),
    _Token("prefect-token", "pnu_", 36, like="pn[ub]_"),
    _Token("pulumi-token", "pul-", 40, _HEX),
    _Token("readme-key", "rdme_", 70, _LOWER),
    _Token("replicate-token", "r8_", 37),
    _Token("rubygems-token", "rubygems_", 48, _HEX),
    _Token("scalingo-token", "tk-us-", 48, _URL),
    _Token("sendinblue-key", "xkeysib-", (64, 16), _LOWER),
    _Token("sentry-token", "sntryu_", 64, _HEX, like="sntry[su]_"),
    _Token("shippo-token", "shippo_live_", 40, _HEX, like="shippo_(?:live|test)_"),
    _Token("shopify-token", "shpat_", 32, _HEX, like="shp(?:at|ca|pa|ss)_"),
    _Token("sonarqube-token", "sqp_", 40, _HEX, like="sq[pua]_"),
    _Token("sourcegraph-token", "sgp_", 40, _HEX),
    _Token("square-token", "EAAA", 60, _URL),
    _Token("supabase-token", "sbp_", 40, _HEX),
    _Token(
        "tailscale-key", "tskey-auth-", (12, 24), like="tskey-(?:auth|api|client|scim|webhook)-"
    ),
    _Token("tencent-secret-id", "AKID", 32),
    _Token("typeform-token", "tfp_", 44, _URL),
    _Token("volcengine-key", "AKLT", 43),
    _Token("xai-key", "xai-", 80),
)


def _is_random(text: str) -> bool:
    # base64 of zeros has a low entropy, words of a name no digit
    return not is_kebab(text) and entropy(text) >= 2.5


def _detector(token: _Token) -> Detector:
    return Detector(
        name=token.name,
        groups=("secrets", "secrets.vendors"),
        evidence=Evidence.SHAPE,
        patterns=(token.pattern(),),
        sample=token.sample,
        check=whole(lambda text: _is_random(text[len(token.prefix) :])),
        look_alikes=(token.prefix, f"{token.prefix}{token.name}", f"`{token.prefix}` is a prefix"),
    )


TOKENS: tuple[Detector, ...] = tuple(_detector(token) for token in _TOKENS)
"""Detectors of tokens with a prefix, by name."""
