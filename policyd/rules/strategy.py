"""`replace`: what is put in the place of what a redaction finds.

    replace: "[{detector}]"                     # a literal text
    replace: {mask: "*", keep: 4}               # also keepFirst: 2, separators: true
    replace: {hash: sha256, key: {env: NAME}}   # the same for the same secret
    replace: {tokenize: true}                   # [email:1], or with a key [email:9f86d081884c7d65]
    replace: {partial: true}                    # d*********@example.com
    replace: {remove: true}
    replace: {default: true}                    # the empty value of the same type
    replace: {value: null}                      # any JSON value

A key is read when the policy is compiled, from a file or the environment, and told to nobody.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from policyd.policy import Node
from policyd.redaction import (
    Default,
    Hash,
    Literal,
    Mask,
    Numbered,
    Partial,
    Remove,
    Strategy,
    Tokenize,
    Value,
    mask_flaw,
)
from policyd.site import Site

MIN_KEY: Final = 16
"""Bytes of the shortest key: with fewer, the key can be guessed."""

MAX_KEY: Final = 4096
"""Bytes of the longest key file; a longer one is some other file."""

_KINDS: Final = ("mask", "hash", "tokenize", "partial", "remove", "default", "value")

_GOES_WITH: Final[Mapping[str, tuple[str, ...]]] = {
    "keep": ("mask",),
    "keepFirst": ("mask",),
    "separators": ("mask",),
    "key": ("hash", "tokenize"),
}


def build_strategy(node: Node, names: tuple[str, ...], site: Site) -> Strategy | None:
    """The strategy of a redaction; None after a diagnostic.

    *names* are the detectors and groups whose findings it is for; none where there are none.
    """
    replace = node.get("replace")
    if replace is None:
        return Literal("[{detector}]")
    if isinstance(replace.value, str):
        return Literal(replace.value)
    kind = site.only_one(replace, _KINDS, "`replace`")
    if kind is None or _has_unused(replace, kind, site):
        return None
    if kind in _KEYED:
        return _KEYED[kind](replace, names, site)
    return _mask(replace, site) if kind == "mask" else _PLAIN[kind](replace)


_PLAIN: Final[Mapping[str, Callable[[Node], Strategy]]] = {
    "partial": lambda node: Partial(),
    "remove": lambda node: Remove(),
    "default": lambda node: Default(),
    "value": lambda node: Value(node.value["value"]),
}


def _has_unused(replace: Node, kind: str, site: Site) -> bool:
    unused = [name for name in replace.value if kind not in _GOES_WITH.get(name, (kind,))]
    for name in unused:
        owners = " and ".join(f"`{owner}`" for owner in _GOES_WITH[name])
        text = f"`{name}` goes with {owners} only"
        site.report.error("unused-field", replace[name].key_span, text)
    return bool(unused)


def _mask(replace: Node, site: Site) -> Mask | None:
    value = replace.value
    flaw = mask_flaw(value["mask"])
    if flaw is not None:
        site.report.error("bad-value", replace["mask"].span, flaw)
        return None
    return Mask(
        value["mask"],
        value.get("keep", 0),
        value.get("keepFirst", 0),
        value.get("separators", False),
    )


def _hash(replace: Node, names: tuple[str, ...], site: Site) -> Hash | None:
    node = replace.get("key")
    if node is not None:
        key = _key(node, site)
        return None if key is None else Hash(key)
    guessable = [d.name for d in site.policy.detectors.resolve(names) if "secrets" not in d.groups]
    help = "add `key: {file: ...}` or `key: {env: ...}`, or use a mask"
    if guessable:
        text = f"a hash of `{guessable[0]}` without a key can be guessed by trying all values"
        site.report.error("unkeyed-hash", replace["hash"].key_span, text, help)
        return None
    if not names:
        text = "a hash without a key can be guessed where there are few possible values"
        site.report.warning("unkeyed-hash", replace["hash"].key_span, text, help)
    return Hash()


def _tokenize(replace: Node, names: tuple[str, ...], site: Site) -> Strategy | None:
    node = replace.get("key")
    if node is None:
        return Numbered()
    key = _key(node, site)
    return None if key is None else Tokenize(key)


_KEYED: Final = {"hash": _hash, "tokenize": _tokenize}


def _key(node: Node, site: Site) -> bytes | None:
    """The bytes of a key, without white space around them; None after a diagnostic."""
    source = site.only_one(node, ("file", "env"), "`key`")
    if source is None:
        return None
    found = _from_file(node["file"]) if source == "file" else _from_environment(node["env"])
    if isinstance(found, str):
        site.report.error("missing-key", node[source].span, found)
        return None
    if len(found) < MIN_KEY:
        text = f"the key is too short: {MIN_KEY} bytes at least"
        help = "`openssl rand -hex 32` makes a good one"
        site.report.error("weak-key", node[source].span, text, help)
        return None
    return found


def _from_file(node: Node) -> bytes | str:
    """The key in a file, or why there is none.  A relative path starts at the policy file."""
    path = Path(node.span.file).parent / node.value
    try:
        with path.open("rb") as file:
            data = file.read(MAX_KEY + 1)
    except (OSError, ValueError):
        return f"the key file `{node.value}` cannot be read"
    return data.strip() if len(data) <= MAX_KEY else f"the key file `{node.value}` is too long"


def _from_environment(node: Node) -> bytes | str:
    text = os.environ.get(node.value)
    if text is None:
        return f"the environment has no `{node.value}`"
    return text.strip().encode("utf-8", "surrogateescape")
