"""What one HTTP answer to a JSON-RPC request means.

Knows the statuses and error codes of the 2026-07-28 era and how servers of the handshake era
turn its requests down.  Pure: knows no connection.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from policyd.errors import InvocationError
from policyd.ports.port import OtherEra, Refusal, Unreachable
from policyd.wire import parse_json

JSON = "application/json"

_EVENT_STREAM = "text/event-stream"

_CLIENT_ERRORS = (400, 404, 405, 406, 415)
"""Statuses with which a server may say that it does not know this kind of request."""

_ERROR_STATUS = {-32700: 400, -32602: 400, -32601: 404, -32021: 400}
"""The status that a server of the 2026-07-28 era gives an error; 200 for all others."""

_TURNED_DOWN = (-32600, -32020, -32022, 0)
"""Errors of servers that want a session, other headers or another version first.

-32022 and -32020 are the era's own for version and headers; -32600 is what the Python SDK
answers without a session, 0 what the Go SDK answers before `initialize`.
"""


class HTTPAnswer(NamedTuple):
    """An HTTP answer: its status, its media type without parameters in lower case, its body.

    The body is empty when it is not JSON.
    """

    status: int
    media_type: str
    body: bytes


def read_answer(answer: HTTPAnswer, request_id: int, *, probing: bool) -> dict[str, Any]:
    """The result that *answer* holds.

    probing: whether it is not known yet that the server speaks the 2026-07-28 era.

    Raises Refusal for a JSON-RPC error of any status, Unreachable for what is no answer, and
    OtherEra, only when probing, for what servers of the handshake era or with event streams
    answer.
    """
    if answer.status in (401, 403):
        raise Unreachable(f"the server refuses access (HTTP {answer.status})")
    message = _message(answer)
    if probing and _is_other_era(answer, message):
        raise OtherEra(f"the server answered HTTP {answer.status} to a request without session")
    if message is None:
        raise Unreachable(_flaw(answer))
    error = message.get("error")
    number = message.get("id")
    # an error of a request whose id was not read has none
    if number != request_id and not (number is None and error is not None):
        raise Unreachable("the answer belongs to another request")
    if error is not None:
        text = error.get("message")
        raise Refusal(error["code"], text if isinstance(text, str) else "", error.get("data"))
    result: dict[str, Any] = message["result"]
    return result


def _message(answer: HTTPAnswer) -> dict[str, Any] | None:
    """The JSON-RPC response in the body; its `error` has an integer `code`, or is absent."""
    if answer.media_type != JSON:
        return None
    try:
        message = parse_json(answer.body)
    except InvocationError:
        return None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return None
    if type(message.get("id")) not in (int, str, type(None)):
        return None
    error = message.get("error")
    if error is not None:
        valid = isinstance(error, dict) and type(error.get("code")) is int
    else:
        valid = answer.status == 200 and isinstance(message.get("result"), dict)
    return message if valid else None


def _is_other_era(answer: HTTPAnswer, message: dict[str, Any] | None) -> bool:
    if answer.status == 200 and answer.media_type == _EVENT_STREAM:
        return True
    if answer.status != 200 and answer.status not in _CLIENT_ERRORS:
        return False
    error = None if message is None else message.get("error")
    if error is None:
        return answer.status != 200
    code = error["code"]
    return code in _TURNED_DOWN or _ERROR_STATUS.get(code, 200) != answer.status


def _flaw(answer: HTTPAnswer) -> str:
    if answer.status != 200:
        return f"the server answered HTTP {answer.status}"
    if answer.media_type != JSON:
        return "the answer is not JSON"
    return "the answer is no JSON-RPC response"
