"""model <-> JSON: every spelling of SEP-2624 and of JSON-RPC lives here and nowhere else.

Pure: knows bytes, JSON values and the model.  Knows no transport, no snapshot and no policy.
The only user of jiter (bytes in) and orjson (bytes out).

`Dialect.UNIVERSAL` is one answer that every SDK decodes correctly: where the SDKs disagree, it
says a thing twice.  `Dialect.SEP` is exactly the SEP's shape.  What each decoder does with
each shape was read in the Go, Python, C# and TypeScript sources of
`modelcontextprotocol/experimental-ext-interceptors`.
"""

from policyd.wire.admission import MAX_DEPTH, check_payload
from policyd.wire.answers import failure_from_error, outcome_from_json
from policyd.wire.descriptors import descriptor_to_json, list_params_from_json, supported_events
from policyd.wire.dialect import (
    EXTENSION,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Dialect,
)
from policyd.wire.encoding import dump_json, parse_json
from policyd.wire.invocations import MAX_NAME, MAX_TIMEOUT, Call, invocation_from_json
from policyd.wire.listing import (
    GENERATION,
    MAX_ENTRIES,
    Listing,
    WireError,
    descriptor_from_json,
    is_protocol_version,
    listing_from_json,
    page_from_json,
)
from policyd.wire.messages import MAX_MESSAGE_BYTES, Rejection, read_message, too_large
from policyd.wire.requests import invocation_to_json
from policyd.wire.results import (
    RETIRED,
    chain_result_to_json,
    failure_to_error,
    outcome_to_json,
)

__all__ = [
    "EXTENSION",
    "GENERATION",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "MAX_DEPTH",
    "MAX_ENTRIES",
    "MAX_MESSAGE_BYTES",
    "MAX_NAME",
    "MAX_TIMEOUT",
    "METHOD_NOT_FOUND",
    "RETIRED",
    "Call",
    "Dialect",
    "Listing",
    "Rejection",
    "WireError",
    "chain_result_to_json",
    "check_payload",
    "descriptor_from_json",
    "descriptor_to_json",
    "dump_json",
    "failure_from_error",
    "failure_to_error",
    "invocation_from_json",
    "invocation_to_json",
    "is_protocol_version",
    "list_params_from_json",
    "listing_from_json",
    "outcome_from_json",
    "outcome_to_json",
    "page_from_json",
    "parse_json",
    "read_message",
    "supported_events",
    "too_large",
]
