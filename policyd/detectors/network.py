"""Detectors of addresses in networks.

What is only a version, a time or a part of a longer number is refused.
"""

from __future__ import annotations

import ipaddress

from policyd.detectors.detector import Detector, Evidence, whole

_NETWORK = ("network",)


def _is_ipv6(text: str) -> bool:
    """True for an address with at least three groups, or with `::` and a group of letters.

    `::` alone, `a::b` and `std::vec` are written in programs.
    """
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return text.count(":") >= 3 or address.is_link_local or text.startswith(("2", "fd", "FD"))


def _is_ipv4(text: str) -> bool:
    return not any(part[0] == "0" and part != "0" for part in text.split("."))


_OCTET = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"

NETWORK: tuple[Detector, ...] = (
    Detector(
        name="ipv4",
        groups=_NETWORK,
        evidence=Evidence.SHAPE,
        # a neighbour in the same writing makes it a version or an object id: nothing is taken
        patterns=(
            rf"(?:[A-Za-z0-9_-][.-]?|\.)?(?:[0-9]+\.){{4,}}[0-9]+|[A-Za-z_][0-9]+(?:\.[0-9]+)+"
            rf"|\b({_OCTET}(?:\.{_OCTET}){{3}})\b",
        ),
        sample=lambda: "host 203.0" + ".113.77",
        check=whole(_is_ipv4),
        look_alikes=("v10.15.7.12", "1.3.6.1.4.1.311", "256.1.1.1", "10.15.7", "1.02.3.4"),
    ),
    Detector(
        name="ipv6",
        groups=_NETWORK,
        evidence=Evidence.CHECKSUM,
        patterns=(
            r"(?:^|[^0-9A-Za-z:.])((?:[0-9A-Fa-f]{1,4}:){2,7}(?::?[0-9A-Fa-f]{1,4}){1,6})"
            r"(?:[^0-9A-Za-z:]|$)",
            r"(?:^|[^0-9A-Za-z:.])([0-9A-Fa-f]{2,4}(?::[0-9A-Fa-f]{1,4})*::"
            r"(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4})*)?)(?:[^0-9A-Za-z:]|$)",
        ),
        sample=lambda: "2001:db8:" + ":8a2e:370:7334",
        check=whole(_is_ipv6),
        look_alikes=("12:34:56", "std::vector", "a::b", "2024-01-02T03:04:05", "::"),
        shortest=4,
    ),
    Detector(
        name="mac-address",
        groups=_NETWORK,
        evidence=Evidence.SHAPE,
        patterns=(
            r"(?:^|[^0-9A-Za-z:-])([0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5})(?:[^0-9A-Za-z:-]|$)",
            r"(?:^|[^0-9A-Za-z:-])([0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2}){5})(?:[^0-9A-Za-z:-]|$)",
            r"(?:^|[^0-9A-Za-z.])([0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4})(?:[^0-9A-Za-z.]|$)",
        ),
        sample=lambda: "mac 00:1a:2b" + ":3c:4d:5e",
        look_alikes=("00:1a:2b:3c:4d", "00:1a:2b:3c:4d:5e:6f", "ab-cd-ef-01-23"),
    ),
)
"""Detectors of network addresses, in the order of the file."""
