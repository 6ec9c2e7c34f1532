"""Where the server listens, and that the printed address is the real one."""

import errno
import os
import socket
from typing import Any

import pytest

from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.server.http.bind import CannotListenError, addresses_of, is_outside, listen


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.10", "::1", "[::1]", "::ffff:127.0.0.1"]
)
def test_loopback_is_known(host: str) -> None:
    assert not is_outside(addresses_of(host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "::ffff:192.0.2.7", "10.0.0.1", "fe80::1"])
def test_any_other_address_is_reached_from_elsewhere(host: str) -> None:
    assert is_outside(addresses_of(host))


@pytest.mark.parametrize("host", ["no.such.host.invalid", "not a name", "x" * 300])
def test_a_name_that_leads_nowhere_is_refused(host: str) -> None:
    with pytest.raises(ConfigurationError, match="host: must be"):
        addresses_of(host)


def test_port_zero_gives_a_free_port_and_its_address() -> None:
    listener = listen("localhost", 0)
    try:
        port = listener.sockets[0].getsockname()[1]
        assert port > 0
        assert listener.url == f"http://localhost:{port}"
        assert {each.getsockname()[1] for each in listener.sockets} == {port}
    finally:
        listener.close()


def test_localhost_is_shown_for_the_usual_address_because_passkeys_need_a_name() -> None:
    listener = listen("127.0.0.1", 0)
    listener.close()
    assert listener.url.startswith("http://localhost:")


def test_a_further_loopback_address_is_shown_as_it_is() -> None:
    listener = listen("127.0.0.2", 0)
    listener.close()
    assert listener.url.startswith("http://127.0.0.2:")
    assert "127.0.0.2" in listener.hosts


def test_a_port_in_use_is_refused_in_one_line_with_another_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CannotListenError) as caught:
            listen("localhost", port)
    assert str(caught.value).startswith(f"port: {port} on localhost is in use by another process; stop it, or use")
    assert "\n" not in str(caught.value)


def test_two_listeners_never_share_a_port() -> None:
    first = listen("localhost", 0)
    try:
        with pytest.raises(CannotListenError):
            listen("localhost", first.sockets[0].getsockname()[1])
    finally:
        first.close()


@pytest.mark.parametrize("number", [errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT])
def test_a_machine_without_ipv6_listens_on_the_other_loopback_address(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Old(socket.socket):
        """Of a system that was started without IPv6, or has given no interface such an address."""

        def __init__(self, family: int = -1, *rest: int, **named: Any) -> None:
            if family == socket.AF_INET6:
                raise OSError(number, os.strerror(number))
            super().__init__(family, *rest, **named)

    monkeypatch.setattr(socket, "socket", Old)
    listener = listen("localhost", 0)
    try:
        assert [one.getsockname()[0] for one in listener.sockets] == ["127.0.0.1"]
        with pytest.raises(CannotListenError, match="host: '::1' has no address on this machine that can be listened"):
            listen("::1", 0)
    finally:
        listener.close()
