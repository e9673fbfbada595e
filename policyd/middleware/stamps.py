"""The members of a message that are the protocol's own, and what a mutator may do to them.

Source: MCP schema 2026-07-28.  A mutator that makes a payload anew will forget what the
protocol requires, so that is put back: `resultType` of a result, version and capabilities of a
request.  Nothing else is: what a mutator took out stays out, and what it changed stays
changed.  Nothing is put back either that could hold somebody's text.  Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from policyd.patch import same_json

COMPLETE = "complete"
INPUT_REQUIRED = "input_required"
"""The result types of the protocol; an absent one stands for `complete`."""

_FIXED = (PROTOCOL_VERSION_META_KEY, "progressToken")
"""What no mutator may change: the other side reads the message by it, or finds its request."""

_CAPABILITIES: Mapping[str, tuple[str, ...]] = {
    "elicitation": ("form", "url"),
    "roots": (),
    "sampling": ("context", "tools"),
}
"""The capabilities that the schema names, and those within them; all are empty objects."""


class StampError(Exception):
    """A mutator changed what is the protocol's own.  The text is safe for a peer."""


def keep_result_stamps(old: Mapping[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The changed result *new* with the `resultType` of *old* where it has none.

    Raises StampError when its type is another one.
    """
    before, after = old.get("resultType"), new.get("resultType")
    if after is None and before in (COMPLETE, INPUT_REQUIRED):
        return {**new, "resultType": before}
    if after is not None and after != (COMPLETE if before is None else before):
        raise StampError("`resultType` may not be changed")
    return new


def keep_request_stamps(old: Mapping[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The changed params *new* with what the schema requires in the `_meta` of *old*.

    Raises StampError when they have another version or progress token, or no readable `_meta`.
    """
    before, after = old.get("_meta"), new.get("_meta")
    if after is before:
        return new
    if not isinstance(after, dict | None):
        raise StampError("`_meta` must be an object")
    before, after = before if isinstance(before, Mapping) else {}, after or {}
    for key in _FIXED:
        if key in after and (key not in before or not same_json(before[key], after[key])):
            raise StampError(f"`{key}` may not be changed")
    missing = {key: value for key, value in _required(before).items() if key not in after}
    return {**new, "_meta": {**after, **missing}} if missing else new


def _required(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What a request must have, as far as it is in *meta* and in the protocol's own words."""
    required: dict[str, Any] = {}
    version = meta.get(PROTOCOL_VERSION_META_KEY)
    if version in KNOWN_PROTOCOL_VERSIONS:
        required[PROTOCOL_VERSION_META_KEY] = version
    capabilities = meta.get(CLIENT_CAPABILITIES_META_KEY)
    if isinstance(capabilities, Mapping):
        required[CLIENT_CAPABILITIES_META_KEY] = _capabilities(capabilities)
    return required


def _capabilities(declared: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {part: {} for part in parts if part in declared[name]}
        for name, parts in _CAPABILITIES.items()
        if isinstance(declared.get(name), Mapping)
    }
