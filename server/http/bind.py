"""Open the sockets of the server before anything starts."""

import errno
import ipaddress
import resource
import socket
from contextlib import ExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

from ...jobs.core.base.errors import ConfigurationError, CronographError

BACKLOG = 2048
"""Connections that may wait to be accepted."""

STALLED_AFTER = 30
"""Seconds for which sent bytes may stay unacknowledged before the kernel closes a connection."""

OPEN_FILES = 65_536
"""Open files wanted, each connection being one; the system's usual limit of 1024 is less than the streams allowed."""

PORT_TRIES = 20
"""Attempts to find a port that is free on both loopback addresses."""

_NO_SUCH_ADDRESS = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})


class CannotListenError(CronographError):
    """The address cannot be listened on: it is in use, not of this machine, or not permitted."""


class AddressInUseError(CannotListenError):
    """Another process listens there."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Listening sockets, and the address to tell people.

    Attributes:
        url: The address to open in a browser; ``localhost`` where that leads here, because passkeys need a name.
        hosts: The names that a request's ``Host`` header may have.
        sockets: One for each address.
    """

    url: str
    hosts: frozenset[str]
    sockets: tuple[socket.socket, ...]

    def close(self) -> None:
        """Stop listening; may be called again."""
        for each in self.sockets:
            each.close()


def addresses_of(host: str) -> list[str]:
    """Return the addresses behind ``host``.

    Raises:
        ConfigurationError: ``host`` is unknown.
    """
    if host.lower() == "localhost":
        return ["127.0.0.1", "::1"]
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a host name"
        raise ConfigurationError(f"host: must be a name or address of this machine, got '{host}': {reason}") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_outside(addresses: list[str]) -> bool:
    """Return whether one of the addresses can be reached from another machine."""
    return not all(_is_loopback(address) for address in addresses)


def _is_loopback(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return (mapped or ip).is_loopback


def listen(host: str, port: int, *, public_url: str | None = None, tls: bool = False) -> Listener:
    """Listen on ``host`` and ``port`` (0 = any free port); on both loopback addresses for ``localhost``.

    Args:
        host: A name or address of this machine.
        public_url: The address that people use, if it is another one.
        tls: Whether this process speaks TLS.

    Raises:
        ConfigurationError: ``host`` is unknown.
        AddressInUseError: another process listens there.
        CannotListenError: the address is not of this machine or not permitted.
    """
    sockets = _listen_on_all(addresses_of(host), host, port)
    actual: int = sockets[0].getsockname()[1]
    bare = host.strip("[]").lower()
    shown = f"[{bare}]" if ":" in bare else bare
    name = "localhost" if bare in ("localhost", "127.0.0.1") else shown
    url = f"http{'s' if tls else ''}://{name}:{actual}" if public_url is None else public_url.rstrip("/")
    public = urlsplit(url).hostname or ""
    hosts = {"localhost", "127.0.0.1", "[::1]", shown, f"[{public}]" if ":" in public else public}
    return Listener(url, frozenset(hosts - {"0.0.0.0", "[::]"}), tuple(sockets))  # noqa: S104 - no name of anything


def raise_file_limit() -> None:
    """Allow this process as many open files as it may allow itself, up to ``OPEN_FILES``."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _listen_on_all(addresses: list[str], host: str, port: int) -> list[socket.socket]:
    """Return one socket per address, all on one port; if 0, the first address chooses and the others must agree."""
    for attempt in range(1, PORT_TRIES + 1):
        sockets: list[socket.socket] = []
        try:
            for address in addresses:
                wanted = sockets[0].getsockname()[1] if sockets else port
                _append_if_available(sockets, address, wanted)
        except OSError as error:
            for each in sockets:
                each.close()
            if port == 0 and attempt < PORT_TRIES and error.errno == errno.EADDRINUSE:
                continue
            raise _refusal(host, port, error) from None
        if sockets:
            return sockets
        break
    raise CannotListenError(f"host: '{host}' has no address on this machine that can be listened on")


def _append_if_available(sockets: list[socket.socket], address: str, port: int) -> None:
    """Listen on one address; a machine without IPv6 lacks one of the two loopback addresses, and that is fine."""
    try:
        sockets.append(_listening(address, port))
    except OSError as error:
        if error.errno not in _NO_SUCH_ADDRESS:
            raise


def _listening(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with ExitStack() as unless_listening:
        made = unless_listening.enter_context(socket.socket(family, socket.SOCK_STREAM))
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # Accepted connections inherit it; without it a peer that vanished or stalled keeps its one for hours.
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED_AFTER * 1000)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((address, port))
        made.listen(BACKLOG)
        made.setblocking(False)
        unless_listening.pop_all()
    return made


def _refusal(host: str, port: int, error: OSError) -> CannotListenError:
    if error.errno == errno.EADDRINUSE:
        other = port + 1 if port < 65_535 else 8000
        hint = f"stop it, or use e.g. --port {other} (0 = any free port)"
        return AddressInUseError(f"port: {port} on {host} is in use by another process; {hint}")
    if error.errno == errno.EACCES:
        return CannotListenError(f"port: {port} may not be used by this user; use one above 1023, e.g. --port 8000")
    return CannotListenError(f"host: cannot listen on {host}, port {port}: {error.strerror}")
