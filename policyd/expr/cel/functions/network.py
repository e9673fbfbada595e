"""url, ip, cidr and what is asked of them: guards against requests to where they must not go.

Knows the WHATWG URL standard through ada-url, so that a host is what a browser or an HTTP client
would connect to, however it is written.  Knows no DNS: a name may resolve to any address.

Not every client reads URLs as that standard does.  Where another reading (RFC 3986, older
clients) leads to another host, `url` raises an error: neither answer would be safe.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote

from ada_url import parse_url

from policyd.errors import EvaluationError
from policyd.expr.cel.bounds import bound_text, charge_copy
from policyd.expr.cel.function import Function
from policyd.expr.cel.functions.addresses import (
    Cidr,
    Ip,
    Reach,
    certain_ip,
    has_two_readings,
    parse_cidr,
    parse_ip,
)
from policyd.expr.cel.functions.arguments import refusal
from policyd.expr.cel.values import no_overload
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


_IGNORED: Final = dict.fromkeys(map(ord, "\t\n\r"))
_STRIPPED: Final = "".join(map(chr, range(0x21)))
_SCHEME_CHARS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+-.")


def _parse(budget: Budget, name: str, text: Any) -> dict[str, Any] | None:
    if type(text) is not str:
        raise no_overload(name, text)
    bound_text(len(text))
    charge_copy(len(text), budget)
    try:
        return dict(parse_url(text, attributes=_PARTS))
    except ValueError:  # also for half of a surrogate pair
        return None


def _doubt(text: str, host: str) -> str | None:
    """Why clients may disagree about where the URL *text* leads, or None.

    *host* is the one that the WHATWG standard sees.
    """
    _, _, rest = text.strip(_STRIPPED).translate(_IGNORED).partition(":")
    authority = _authority(rest)
    if not host and rest[:1] not in ("/", "\\"):
        return _hidden(rest, authority)
    if "\\" in authority or " " in authority or authority.count("@") > 1:
        return "the host of the URL depends on who reads it"
    if has_two_readings(authority.rpartition("@")[2].partition(":")[0]):
        return "the host of the URL is one address in octal and another in decimal"
    return None


def _authority(rest: str) -> str:
    """User, host and port in *rest*, which stands behind the scheme, as RFC 3986 reads them."""
    bare = rest.lstrip("/\\")
    return bare[: min((at for mark in "/?#" if (at := bare.find(mark)) >= 0), default=len(bare))]


def _hidden(rest: str, authority: str) -> str | None:
    """Why there may be a host although the standard sees none, or None."""
    if authority.isascii() and authority.isdigit() and len(authority) <= 5:
        return "the text may be a host and a port instead of a URL"
    scheme, _, inner = rest.partition(":")
    is_scheme = scheme != "" and _SCHEME_CHARS.issuperset(scheme.lower())
    if is_scheme and inner[:1] in ("/", "\\"):
        return "the URL holds another URL"
    return None


def _host(written: str) -> str:
    """The host in its one spelling.

    The standard leaves the hosts of schemes that it does not know as they are; some clients
    decode them, so they are decoded here.
    """
    host = unquote(written)
    if not host.isascii():
        host = _as_of_http(host)
    host = host.lower().rstrip(".")
    address = parse_ip(host)
    return host if address is None else str(address)


def _as_of_http(host: str) -> str:
    """*host* as it would be in a URL of a known scheme, or as it is where it cannot be."""
    try:
        seen = parse_url(f"http://{host}/", attributes=("hostname", "pathname"))
    except ValueError:
        return host
    return str(seen["hostname"]) if seen["pathname"] == "/" else host


def _url(budget: Budget, text: Any) -> dict[str, Any]:
    parts = _parse(budget, "url", text)
    if parts is None:
        raise EvaluationError("the text is not a URL")
    doubt = _doubt(text, parts["hostname"])
    if doubt is not None:
        raise EvaluationError(doubt)
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


def _is_url(budget: Budget, text: Any) -> bool:
    return _parse(budget, "isUrl", text) is not None


def _ip(value: Any) -> Ip:
    if type(value) is Ip:
        return value
    if type(value) is not str:
        raise no_overload("ip", value)
    return certain_ip(value)


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
