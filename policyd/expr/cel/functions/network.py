"""url, ip, cidr and what is asked of them: guards against requests to where they must not go.

Knows the WHATWG URL standard through ada-url, so that a host is what a browser or an HTTP client
would connect to, however it is written.  Knows no DNS: a name may resolve to any address.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote

from ada_url import parse_url

from policyd.errors import EvaluationError
from policyd.expr.cel.function import Function
from policyd.expr.cel.functions.addresses import Cidr, Ip, Reach, parse_cidr, parse_ip
from policyd.expr.cel.functions.arguments import bound_text, refusal
from policyd.expr.cel.values import charge_copy, no_overload
from policyd.expression import Budget

_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
_PARTS: Final = (
    "protocol",
    "hostname",
    "port",
    "pathname",
    "search",
    "hash",
    "username",
    "password",
)


def _parse(budget: Budget, name: str, text: Any) -> dict[str, Any] | None:
    if type(text) is not str:
        raise no_overload(name, text)
    bound_text(len(text))
    charge_copy(len(text), budget)
    try:
        parts = parse_url(text, attributes=_PARTS)
    except ValueError:  # also for half of a surrogate pair
        return None
    scheme = parts["protocol"].removesuffix(":")
    return {
        "scheme": scheme,
        "host": _host(parts["hostname"]),
        "port": int(parts["port"] or _PORTS.get(scheme, 0)),
        "path": parts["pathname"],
        "query": parts["search"].removeprefix("?"),
        "fragment": parts["hash"].removeprefix("#"),
        "username": parts["username"],
        "password": parts["password"],
    }


def _host(written: str) -> str:
    """The host in its one spelling.

    The standard leaves the hosts of schemes that it does not know as they are; some clients
    decode them, so they are decoded here.
    """
    host = unquote(written).lower().rstrip(".")
    address = parse_ip(host)
    return host if address is None else str(address)


def _url(budget: Budget, text: Any) -> dict[str, Any]:
    parts = _parse(budget, "url", text)
    if parts is None:
        raise EvaluationError("the text is not a URL")
    return parts


def _is_url(budget: Budget, text: Any) -> bool:
    return _parse(budget, "isUrl", text) is not None


def _ip(value: Any) -> Ip:
    if type(value) is Ip:
        return value
    if type(value) is not str:
        raise no_overload("ip", value)
    address = parse_ip(value)
    if address is None:
        raise EvaluationError("the text is not an IP address")
    return address


def _is_ip(value: Any) -> bool:
    if type(value) is not str:
        raise no_overload("isIp", value)
    return parse_ip(value) is not None


def _cidr(value: Any) -> Cidr:
    if type(value) is not str:
        raise no_overload("cidr", value)
    network = parse_cidr(value)
    if network is None:
        raise EvaluationError("the text is not a network such as `10.0.0.0/8`")
    return network


def _family(value: Any) -> int:
    if type(value) is not Ip:
        raise no_overload("family", value)
    return value.family


def _reaches(name: str, reach: Reach) -> Function:
    def call(value: Any) -> bool:
        if type(value) is not Ip:
            raise no_overload(name, value)
        return value.reach is reach

    return Function(name, call, (), (1,), returns_bool=True)


FUNCTIONS: Final = (
    Function("url", _url, (1,), (), budgeted=True),
    Function("isUrl", _is_url, (1,), (), returns_bool=True, budgeted=True),
    Function("ip", _ip, (1,), (), literal=refusal(_ip)),
    Function("isIp", _is_ip, (1,), (), returns_bool=True),
    Function("cidr", _cidr, (1,), (), literal=refusal(_cidr)),
    Function("family", _family, (), (1,)),
    _reaches("isGlobal", Reach.GLOBAL),
    _reaches("isPrivate", Reach.PRIVATE),
    _reaches("isLoopback", Reach.LOOPBACK),
    _reaches("isLinkLocal", Reach.LINK_LOCAL),
    _reaches("isMulticast", Reach.MULTICAST),
    _reaches("isUnspecified", Reach.UNSPECIFIED),
    _reaches("isReserved", Reach.RESERVED),
)
"""The functions of this library."""
