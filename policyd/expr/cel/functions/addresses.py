"""IP addresses and networks as values, and what kind of address one is.

Knows the spellings that operating systems accept, the IPv4 addresses that hide in IPv6 ones, and
the registries of special addresses.  Knows no function and no URL.  One finer row above the
libraries.  Sources: IANA IPv4 and IPv6 special-purpose address registries (2025), POSIX
`inet_addr` for spellings, RFC 6052 (NAT64), RFC 3056 (6to4), RFC 4291 (mapped).
"""

from __future__ import annotations

import ipaddress
import unicodedata
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import ClassVar, Final

from policyd.errors import EvaluationError

MAX_ADDRESS: Final = 100
"""Characters of a text that may be an address; the longest spelling has fewer."""


class Reach(Enum):
    """What an address is for.  Each address is exactly one of these."""

    GLOBAL = "reachable on the Internet"
    PRIVATE = "inside of one organisation"
    LOOPBACK = "the machine itself"
    LINK_LOCAL = "one network segment; holds the metadata services of clouds"
    MULTICAST = "many receivers"
    UNSPECIFIED = "no address; on many systems the machine itself"
    RESERVED = "set aside for another use"


@dataclass(frozen=True, slots=True)
class Ip:
    """An IP address; `str()` is its canonical spelling.

    An IPv4-mapped IPv6 address is the IPv4 address that it stands for, see `parse_ip`.
    """

    cel_type: ClassVar[str] = "net.IP"
    address: IPv4Address | IPv6Address

    def __str__(self) -> str:
        return str(self.address)

    @property
    def family(self) -> int:
        """4 or 6."""
        return self.address.version

    @property
    def reach(self) -> Reach:
        """What it is for; an IPv6 address that carries an IPv4 one is judged by that."""
        return _reach(_inner(self.address) or self.address)


@dataclass(frozen=True, slots=True)
class Cidr:
    """A network: its address, with host bits zero, and the length of its prefix."""

    cel_type: ClassVar[str] = "net.CIDR"
    network: IPv4Network | IPv6Network

    def __str__(self) -> str:
        return str(self.network)

    def contains(self, ip: Ip) -> bool:
        """True when *ip*, or the IPv4 address that it carries, is in the network."""
        inner = _inner(ip.address)
        return ip.address in self.network or (inner is not None and inner in self.network)


def parse_ip(text: str) -> Ip | None:
    """The address that *text* spells for an operating system, or None.

    Beside the usual ones: `2130706433`, `0x7f.1`, `0177.0.0.1`, brackets around an IPv6 address
    and a zone behind it, a dot at the end, white space around it, full-width digits and dots.
    """
    address = _address(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return None if address is None else Ip(address)


def certain_ip(text: str) -> Ip:
    """The address that *text* spells for everybody.

    Raises EvaluationError where it spells none, or not the same for everybody.
    """
    address = parse_ip(text)
    if address is None:
        raise EvaluationError("the text is not an IP address")
    if has_two_readings(text):
        raise EvaluationError("the text is one address in octal and another in decimal")
    return address


def has_two_readings(text: str) -> bool:
    """True where octal numbers make *text* an address of the Internet, and decimal ones another.

    Operating systems read `010.0.0.1` as 8.0.0.1, several libraries as 10.0.0.1.
    """
    octal = parse_ip(text)
    parts = _folded(text).split(".") if octal is not None else []
    if len(parts) != 4 or not all(part.isdigit() for part in parts):
        return False
    decimal = parse_ip(".".join(str(int(part)) for part in parts))
    if octal == decimal or octal is None or decimal is None:
        return False
    return octal.reach is Reach.GLOBAL and decimal.reach is not Reach.GLOBAL


def parse_cidr(text: str) -> Cidr | None:
    """The network that *text* spells as `address/length`, or None.

    Without a length it is that address alone.  Bits of a host behind the prefix are ignored.
    """
    spelled, slash, length = text.partition("/")
    address = _address(spelled)
    if address is None or "%" in spelled or (slash and not _is_number(length)):
        return None
    bits = int(length) if slash else address.max_prefixlen
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address, bits = address.ipv4_mapped, bits - 96
    if not 0 <= bits <= address.max_prefixlen:
        return None
    return Cidr(ipaddress.ip_network((address, bits), strict=False))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 3


# Spellings


def _folded(text: str) -> str:
    """*text* as a resolver sees it that prepares names first (UTS #46)."""
    folded = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return folded.replace("\u3002", ".").strip(" \t\n\r\v\f").removesuffix(".")


def _address(text: str) -> IPv4Address | IPv6Address | None:
    text = _folded(text) if len(text) <= MAX_ADDRESS else ""
    if not text.isascii():
        return None
    if text.startswith("[") and text.endswith("]"):
        return _ipv6(text[1:-1])
    return _ipv6(text) if ":" in text else _ipv4(text)


def _ipv6(text: str) -> IPv6Address | None:
    try:
        return IPv6Address(text.partition("%")[0])
    except ValueError:
        return None


def _ipv4(text: str) -> IPv4Address | None:
    """One to four numbers, the last of which fills the bytes that are left."""
    parts = [_number(part) for part in text.split(".")]
    if len(parts) > 4:
        return None
    value = 0
    for part, width in zip(parts, [8] * (len(parts) - 1) + [40 - 8 * len(parts)], strict=True):
        if part is None or part >> width:
            return None
        value = value << width | part
    return IPv4Address(value)


def _number(text: str) -> int | None:
    """A decimal number, an octal one that starts with `0`, or a hexadecimal one with `0x`."""
    if text[:2].lower() == "0x":
        return int(text[2:] or "0", 16) if _HEXADECIMAL.issuperset(text[2:]) else None
    if not text.isdigit():
        return None
    if text.startswith("0"):
        return int(text, 8) if _OCTAL.issuperset(text) else None
    return int(text)


_HEXADECIMAL: Final = frozenset("0123456789abcdefABCDEF")
_OCTAL: Final = frozenset("01234567")


# Kinds


def _ranges(*networks: str) -> tuple[tuple[int, int, int], ...]:
    """The version, first and last number of each network; comparing these costs a tenth."""
    parsed = map(ipaddress.ip_network, networks)
    return tuple((n.version, int(n.network_address), int(n.broadcast_address)) for n in parsed)


def _is_in(address: IPv4Address | IPv6Address, ranges: tuple[tuple[int, int, int], ...]) -> bool:
    kind, number = address.version, int(address)
    return any(first <= number <= last and kind == version for version, first, last in ranges)


_6TO4: Final = _ranges("2002::/16")
_LAST_32_BITS: Final = _ranges(
    "::ffff:0:0:0/96",  # IPv4-translated, RFC 2765
    "64:ff9b::/96",  # NAT64, RFC 6052
    "::/96",  # IPv4-compatible, deprecated
)
_LOWEST: Final = 1 << 16  # `::` and `::1` and their neighbours carry no IPv4 address


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 *address* carries."""
    if isinstance(address, IPv4Address):
        return None
    bits = int(address)
    if _is_in(address, _6TO4):
        return IPv4Address(bits >> 80 & 0xFFFFFFFF)
    if bits >= _LOWEST and _is_in(address, _LAST_32_BITS):
        return IPv4Address(bits & 0xFFFFFFFF)
    return None


_REACHES: Final = (
    (Reach.UNSPECIFIED, _ranges("0.0.0.0/32", "::/128")),
    (Reach.LOOPBACK, _ranges("127.0.0.0/8", "::1/128")),
    (
        Reach.PRIVATE,
        _ranges(
            "10.0.0.0/8",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "100.64.0.0/10",  # shared by a provider's customers, RFC 6598
            "fc00::/7",
            "fec0::/10",  # site-local, deprecated
        ),
    ),
    (Reach.LINK_LOCAL, _ranges("169.254.0.0/16", "fe80::/10")),
    (Reach.MULTICAST, _ranges("224.0.0.0/4", "ff00::/8")),
    (
        Reach.RESERVED,
        _ranges(
            "0.0.0.0/8",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "240.0.0.0/4",
            "2001::/23",
            "2001:db8::/32",
            "3fff::/20",
        ),
    ),
    (Reach.GLOBAL, _ranges("0.0.0.0/0", "2000::/3")),
)
"""The first that fits; IPv6 outside of `2000::/3` is assigned to nobody."""


def _reach(address: IPv4Address | IPv6Address) -> Reach:
    return next((r for r, ranges in _REACHES if _is_in(address, ranges)), Reach.RESERVED)
