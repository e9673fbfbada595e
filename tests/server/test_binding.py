from __future__ import annotations

import socket
from typing import Any

import pytest

from policyd.server.http import BindError, bind, own_names, url


def test_a_free_port_is_found_and_shown() -> None:
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert port > 0
        assert url(listener) == f"http://127.0.0.1:{port}/mcp"


def test_an_ipv6_address_stands_in_brackets() -> None:
    try:
        listener = bind("::1", 0)
    except BindError as error:
        pytest.skip(str(error))
    with listener:
        assert url(listener) == f"http://[::1]:{listener.getsockname()[1]}/mcp"


def test_a_port_that_is_none_is_refused() -> None:
    with pytest.raises(BindError) as caught:
        bind("127.0.0.1", 70000)
    assert str(caught.value) == (
        "cannot listen on `127.0.0.1:70000`: a port is a number from 0 to 65535"
    )


def test_a_name_that_does_not_resolve_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "create_server", fail)
    with pytest.raises(BindError) as caught:
        bind("nowhere.invalid", 80)
    assert str(caught.value) == ("cannot listen on `nowhere.invalid:80`: name or service not known")


def test_a_server_on_one_address_answers_to_it() -> None:
    assert own_names("192.0.2.7") == ("192.0.2.7",)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_server_on_all_addresses_answers_to_the_names_of_the_machine(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [(0, 0, 0, "", (address, 0)) for address in ("192.0.2.7", "2001:db8::1", "192.0.2.7")]
    monkeypatch.setattr(socket, "gethostname", lambda: "box")
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: found)
    assert own_names(host) == ("box", "192.0.2.7", "2001:db8::1")


def test_a_machine_that_does_not_know_itself_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "gethostname", lambda: "box")
    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert own_names("0.0.0.0") == ("box",)
