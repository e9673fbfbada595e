"""Which shape is spoken, how the capability is called, and the numbers of JSON-RPC errors."""

from __future__ import annotations

from enum import StrEnum


class Dialect(StrEnum):
    """The shape of descriptors and results.

    universal: every SDK decodes it; a flat result and its nested mirror, `hooks` and the
        legacy `hook`, wildcards spelt out.
    sep: exactly the shape of SEP-2624, for conformance.
    """

    UNIVERSAL = "universal"
    SEP = "sep"


EXTENSION = "io.modelcontextprotocol/interceptors"
"""The key of the capability, in `extensions` and in `experimental`."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
TIMEOUT = -32000
"""JSON-RPC 2.0 section 5.1; -32000 is the SEP's interceptor timeout."""
