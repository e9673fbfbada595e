from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ada_url
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from policyd.errors import EvaluationError
from policyd.expr.cel.function import NOT_LITERAL
from policyd.expr.cel.functions import FUNCTIONS
from policyd.expr.cel.functions.addresses import Ip, Reach, certain_ip, parse_cidr, parse_ip
from policyd.expression import Budget

Call = Callable[..., Any]
TRICKS = Path(__file__).parents[3] / "testdata" / "tricks"


def tricks(name: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads((TRICKS / name).read_text("utf-8"))["tricks"]
    return found


@pytest.mark.parametrize("trick", tricks("urls.json"), ids=lambda trick: repr(trick["url"]))
def test_a_url_leads_where_clients_go_or_nobody_can_say(
    call: Call, refuse: Call, trick: dict[str, str]
) -> None:
    if "error" in trick:
        assert refuse("url", trick["url"]) == trick["error"]
        is_none = trick["error"] == "the text is not a URL"
        assert call("isUrl", trick["url"]) is not is_none
    else:
        assert call("url", trick["url"])["host"] == trick["host"]
        assert call("isUrl", trick["url"]) is True


@pytest.mark.parametrize("trick", tricks("addresses.json"), ids=lambda trick: repr(trick["ip"]))
def test_an_address_is_seen_through_or_is_none(
    call: Call, refuse: Call, trick: dict[str, str]
) -> None:
    text = trick["ip"]
    if "error" not in trick:
        address = call("ip", text)
        assert call(trick["kind"], address) is True
        assert call("contains", call("cidr", "::/0" if address.family == 6 else "0.0.0.0/0"), text)
        return
    assert refuse("ip", text) == trick["error"]
    assert refuse("contains", call("cidr", "0.0.0.0/0"), text) == trick["error"]
    assert call("isIp", text) is (trick["error"] != "the text is not an IP address")


def parts(**changed: Any) -> dict[str, Any]:
    empty = dict.fromkeys(
        ("scheme", "host", "path", "query", "fragment", "username", "password"), ""
    )
    return {**empty, "port": 0, **changed}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "HTTPS://User:Secret@Example.COM:8443/a/../b?q=1#f",
            parts(
                scheme="https",
                host="example.com",
                port=8443,
                path="/b",
                query="q=1",
                fragment="f",
                username="User",
                password="Secret",
            ),
        ),
        ("http://a", parts(scheme="http", host="a", port=80, path="/")),
        ("wss://a/", parts(scheme="wss", host="a", port=443, path="/")),
        ("http://a:80/", parts(scheme="http", host="a", port=80, path="/")),
        ("file:///srv/a", parts(scheme="file", path="/srv/a")),
        ("mailto:a@b", parts(scheme="mailto", path="a@b")),
        ("redis://\u00e9%25/", parts(scheme="redis", host="\u00e9%", path="/")),
        ("redis://Cache:6379/1", parts(scheme="redis", host="cache", port=6379, path="/1")),
    ],
)
def test_a_url_is_a_map_of_its_parts(call: Call, text: str, expected: dict[str, Any]) -> None:
    assert call("url", text) == expected
    assert call("isUrl", text) is True


@pytest.mark.parametrize(
    ("host", "seen"),
    [
        ("0x7f.1", "127.0.0.1"),
        ("0x7f.0x0.0x0.0x1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("１２７.０.０.１", "127.0.0.1"),
        ("127。0。0。1", "127.0.0.1"),
        ("%31%32%37.0.0.1", "127.0.0.1"),
        ("[::1]", "::1"),
        ("[0:0:0:0:0:0:0:1]", "::1"),
        ("[::ffff:127.0.0.1]", "127.0.0.1"),
        ("[::ffff:7f00:1]", "127.0.0.1"),
        ("LOCALHOST", "localhost"),
        ("localhost.", "localhost"),
        ("evil.example@127.0.0.1", "127.0.0.1"),
        ("127.0.0.1:80@evil.example", "evil.example"),
        ("loc\talhost", "localhost"),
    ],
)
def test_the_host_of_a_url_is_what_a_client_connects_to(call: Call, host: str, seen: str) -> None:
    assert call("url", f"http://{host}/")["host"] == seen


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("redis://0x7f.1/", "127.0.0.1"),
        ("redis://%3127.0.0.1/", "127.0.0.1"),
        ("redis://LOCALHOST./", "localhost"),
        ("redis://[::ffff:10.0.0.1]/", "10.0.0.1"),
    ],
)
def test_the_host_is_seen_through_in_schemes_that_the_standard_does_not_know(
    call: Call, text: str, seen: str
) -> None:
    assert call("url", text)["host"] == seen


@pytest.mark.parametrize(
    "text", ["", "x", "//a/b", "http://", "http://a b/", "http://a:99999/", "http://\ud800/"]
)
def test_what_is_no_url_is_refused(call: Call, refuse: Call, text: str) -> None:
    assert call("isUrl", text) is False
    assert refuse("url", text) == "the text is not a URL"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("192.168.0.1", "192.168.0.1"),
        ("0300.0250.0.1", "192.168.0.1"),
        ("0xC0A80001", "192.168.0.1"),
        ("3232235521", "192.168.0.1"),
        ("192.168.1", "192.168.0.1"),
        ("192.168.0.1.", "192.168.0.1"),
        ("0x", "0.0.0.0"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
    ],
)
def test_an_address_has_one_canonical_text(call: Call, text: str, address: str) -> None:
    assert str(call("ip", text)) == address
    assert call("ip", text) == call("ip", address)
    assert call("ip", call("ip", text)) == call("ip", text)
    assert call("isIp", text) is True


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "a.example",
        "256.0.0.1",
        "1.2.3.256",
        "1.2.65536",
        "4294967296",
        "1.2.3.4.5",
        "1..2",
        "08.0.0.1",
        "0xg",
        "-1",
        "1.2.3.4 5",
        "٣.0.0.1",
        "[1.2.3.4]",
        "[::1",
        ":::1",
        "1" * 101,
    ],
)
def test_what_is_no_address_is_refused(call: Call, refuse: Call, text: str) -> None:
    assert call("isIp", text) is False
    assert refuse("ip", text) == "the text is not an IP address"


KINDS = {
    Reach.GLOBAL: "isGlobal",
    Reach.PRIVATE: "isPrivate",
    Reach.LOOPBACK: "isLoopback",
    Reach.LINK_LOCAL: "isLinkLocal",
    Reach.MULTICAST: "isMulticast",
    Reach.UNSPECIFIED: "isUnspecified",
    Reach.RESERVED: "isReserved",
}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("93.184.216.34", "isGlobal"),
        ("2606:4700::1", "isGlobal"),
        ("10.255.0.1", "isPrivate"),
        ("172.31.0.1", "isPrivate"),
        ("172.32.0.1", "isGlobal"),
        ("192.168.0.1", "isPrivate"),
        ("100.100.100.200", "isPrivate"),
        ("fd00:ec2::254", "isPrivate"),
        ("fec0::1", "isPrivate"),
        ("127.255.0.1", "isLoopback"),
        ("::1", "isLoopback"),
        ("169.254.169.254", "isLinkLocal"),
        ("fe80::1", "isLinkLocal"),
        ("224.0.0.1", "isMulticast"),
        ("ff02::1", "isMulticast"),
        ("0.0.0.0", "isUnspecified"),
        ("::", "isUnspecified"),
        ("0.0.0.1", "isReserved"),
        ("192.0.2.1", "isReserved"),
        ("255.255.255.255", "isReserved"),
        ("2001:db8::1", "isReserved"),
        ("64:ff9b:1::1", "isReserved"),
        ("4000::1", "isReserved"),
        ("::5", "isReserved"),
        ("::ffff:127.0.0.1", "isLoopback"),
        ("::ffff:0:127.0.0.1", "isLoopback"),
        ("::10.0.0.1", "isPrivate"),
        ("64:ff9b::169.254.169.254", "isLinkLocal"),
        ("64:ff9b::5db8:d822", "isGlobal"),
        ("2002:7f00:1::", "isLoopback"),
        ("2002:a00:1::1", "isPrivate"),
    ],
)
def test_an_address_is_of_exactly_one_kind(call: Call, text: str, kind: str) -> None:
    address = call("ip", text)
    assert [name for name in KINDS.values() if call(name, address)] == [kind]


@given(st.ip_addresses())
def test_only_what_python_calls_global_is_global(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    parsed = parse_ip(str(address))
    assert parsed is not None
    if parsed.address == address and parsed.reach is Reach.GLOBAL:
        assert address.is_global or address in ipaddress.ip_network("2002::/16")
        assert not address.is_multicast


def plain(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


@given(st.text(alphabet="0123456789abcdef.:", max_size=20) | st.ip_addresses().map(str))
@example("::ffff:1.2.3.4")
@example("1.2.3.4")
def test_what_python_takes_for_an_address_is_that_address(text: str) -> None:
    expected, parsed = plain(text), parse_ip(text)
    if expected is None:
        return
    assert parsed is not None
    mapped = getattr(expected, "ipv4_mapped", None)
    assert parsed.address == (mapped or expected)
    assert certain_ip(text) == parsed


@given(st.ip_addresses(v=4), st.sampled_from(["%d", "0x%x", "0X%08X", "0%o"]))
def test_a_number_is_the_address_of_that_number(
    address: ipaddress.IPv4Address, spelling: str
) -> None:
    assert parse_ip(spelling % int(address)) == Ip(address)


@given(
    st.ip_addresses(v=4),
    st.lists(st.sampled_from(["%d", "0x%x", "0%o", "000%o"]), min_size=4, max_size=4),
)
def test_each_byte_may_have_its_own_spelling(
    address: ipaddress.IPv4Address, spellings: list[str]
) -> None:
    text = ".".join(s % byte for s, byte in zip(spellings, address.packed, strict=True))
    assert parse_ip(text) == Ip(address)


KINDS_IN_PYTHON = {
    Reach.LOOPBACK: "is_loopback",
    Reach.LINK_LOCAL: "is_link_local",
    Reach.MULTICAST: "is_multicast",
    Reach.UNSPECIFIED: "is_unspecified",
}


HOLDING_OTHERS = ("::/64", "2002::/16", "64:ff9b::/96")
"""Networks whose addresses stand for IPv4 addresses, which Python does not look at."""


@given(st.ip_addresses())
@example(ipaddress.ip_address("127.0.0.1"))
@example(ipaddress.ip_address("fe80::1"))
@example(ipaddress.ip_address("ff02::1"))
def test_kinds_that_python_knows_are_the_same(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    reach = Ip(address).reach
    inner = any(address in ipaddress.ip_network(network) for network in HOLDING_OTHERS)
    if not inner:
        for kind, name in KINDS_IN_PYTHON.items():
            assert (reach is kind) is getattr(address, name)


@given(
    st.tuples(
        st.sampled_from(["http", "HTTPS", "ftp", "redis", "file", "a"]),
        st.sampled_from([":", "://", ":/", ":\\\\", ""]),
        st.text(alphabet="ab.@:\\/[]%20x7F1\uff11\u3002#? \t", max_size=14),
    ).map("".join)
)
def test_a_url_is_what_the_standard_says_or_in_doubt(text: str) -> None:
    budget = Budget(10**6, float("inf"))
    try:
        standard = ada_url.URL(text)
    except ValueError:
        assert FUNCTIONS["isUrl"].call(budget, text) is False
        with pytest.raises(EvaluationError, match="the text is not a URL"):
            FUNCTIONS["url"].call(budget, text)
        return
    assert FUNCTIONS["isUrl"].call(budget, text) is True
    try:
        seen = FUNCTIONS["url"].call(budget, text)
    except EvaluationError as error:
        seen, doubt = None, error.reason
    if seen is None:
        assert doubt != "the text is not a URL"
        return
    assert seen["scheme"] == standard.protocol[:-1]
    assert seen["path"] == standard.pathname
    assert seen["query"] == standard.search[1:]
    assert seen["username"] == standard.username
    if standard.protocol in ("http:", "https:", "ftp:"):
        address = parse_ip(standard.hostname)
        assert seen["host"] == (standard.hostname.rstrip(".") if address is None else str(address))


def test_family_tells_the_version(call: Call, refuse: Call) -> None:
    assert call("family", call("ip", "10.0.0.1")) == 4
    assert call("family", call("ip", "::ffff:10.0.0.1")) == 4
    assert call("family", call("ip", "fe80::1")) == 6
    assert refuse("family", "10.0.0.1") == "`family` does not take string"


@pytest.mark.parametrize(
    ("network", "address", "inside"),
    [
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.0.0.1", False),
        ("10.9.9.9/8", "10.1.2.3", True),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("10.0.0.0/8", "0x0a.1", True),
        ("10.0.0.0/8", "::ffff:10.0.0.1", True),
        ("10.0.0.0/8", "64:ff9b::10.0.0.1", True),
        ("10.0.0.0/8", "2001:db8::1", False),
        ("::ffff:10.0.0.0/104", "10.0.0.1", True),
        ("2001:db8::/32", "2001:db8:1::1", True),
        ("64:ff9b::/96", "64:ff9b::10.0.0.1", True),
        ("::/0", "10.0.0.1", False),
        ("0.0.0.0/0", "10.0.0.1", True),
    ],
)
def test_a_network_contains_addresses_however_they_are_written(
    call: Call, network: str, address: str, inside: bool
) -> None:
    assert call("contains", call("cidr", network), address) is inside
    assert call("contains", call("cidr", network), call("ip", address)) is inside


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/255.0.0.0",
        "10.0.0.0/8/8",
        "fe80::1%eth0/64",
        "::ffff:10.0.0.0/8",
        "2001:db8::/129",
        "a/8",
    ],
)
def test_what_is_no_network_is_refused(refuse: Call, text: str) -> None:
    assert refuse("cidr", text) == "the text is not a network such as `10.0.0.0/8`"


def test_networks_are_equal_when_their_addresses_are() -> None:
    assert parse_cidr("10.1.2.3/8") == parse_cidr("10.0.0.0/8")
    assert parse_cidr("10.0.0.0/8") != parse_cidr("10.0.0.0/9")


def test_literal_addresses_are_checked_at_load() -> None:
    for name in ("ip", "cidr"):
        check = FUNCTIONS[name].literal
        assert check is not None
        assert check(("300.0.0.1",)) is not None
        assert check(("10.0.0.1",)) is None
        assert check((NOT_LITERAL,)) is None


@pytest.mark.parametrize("name", ["url", "isUrl", "ip", "isIp", "cidr", "isPrivate"])
def test_the_network_functions_take_texts(refuse: Call, name: str) -> None:
    assert refuse(name, 5) == f"`{name}` does not take int"


def test_a_text_is_asked_for_its_kind_as_an_address_only(refuse: Call) -> None:
    assert refuse("isPrivate", "10.0.0.1") == "`isPrivate` does not take string"


def test_an_address_is_printed_without_its_class() -> None:
    assert str(Ip(ipaddress.IPv4Address("10.0.0.1"))) == "10.0.0.1"
