"""Judge the addresses that a job may reach: the public Internet, and those that the operator allows besides.

Python's ``is_global`` is wrong for several ranges and differs between versions, so the ranges are listed here, from
the special-purpose registries of IANA. IPv4 addresses that hide in IPv6 ones are taken out and judged as such.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Self, TypeAlias

from ..base.outcomes import PermanentFailure
from ..core.base.errors import ConfigurationError

Address: TypeAlias = IPv4Address | IPv6Address
Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""(host, port) -> the addresses of the host, in the order in which they are to be tried."""

ANYTHING = "*"
"""The entry of the allow-list that turns the guard off."""

_REFUSED_IPV4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers; metadata of Alibaba Cloud
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # metadata of Azure, in the midst of public addresses
        "169.254.0.0/16",  # link-local; metadata of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; metadata of Oracle Cloud
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4, deprecated
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
# Only this part of IPv6 is the Internet; loopback, unique local, link-local, site-local and multicast lie outside.
_GLOBAL_IPV6 = IPv6Network("2000::/3")
_REFUSED_IPV6 = (
    IPv6Network("2001::/23"),  # protocol assignments, Teredo among them
    IPv6Network("2001:db8::/32"),  # documentation
    IPv6Network("3fff::/20"),  # documentation
)
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)


class AddressRefused(PermanentFailure):
    """A job asked for an address that it must not reach; trying again would not help."""


def embedded_ipv4(address: Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address stands for (mapped, NAT64, 6to4, ISATAP), or None."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    number = int(address)
    if address in _NAT64 or (number >> 32) & 0xFFFFFFFF in _ISATAP:
        return IPv4Address(number & 0xFFFFFFFF)
    return None


def is_public(address: Address) -> bool:
    """Return whether ``address`` belongs to the public Internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _REFUSED_IPV4)
    embedded = embedded_ipv4(address)
    if embedded is not None and not is_public(embedded):
        return False
    if address.ipv4_mapped is not None or address in _NAT64:
        return True
    return address in _GLOBAL_IPV6 and not any(address in network for network in _REFUSED_IPV6)


@dataclass(frozen=True, slots=True)
class AllowList:
    """Allow addresses besides the public Internet.

    Attributes:
        networks: Addresses within these.
        hosts: Every address of these hosts, lower-case; ``*`` = every host.
    """

    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    hosts: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, entries: Sequence[str]) -> Self:
        """Return the list behind the operator's entries: addresses, networks (``10.1.0.0/16``), host names, or ``*``.

        Raises:
            ConfigurationError: an entry is none of these; names it.
        """
        networks: list[IPv4Network | IPv6Network] = []
        hosts: set[str] = set()
        for entry in (entry.strip() for entry in entries):
            network = _network(entry)
            if network is not None:
                networks.append(network)
            elif entry == ANYTHING or _is_host_name(entry):
                hosts.add(entry.lower().rstrip("."))
            else:
                raise ConfigurationError(
                    "allowed addresses: each must be an address, a network such as '10.1.0.0/16', a host name or '*', "
                    f"got {entry!r}"
                )
        return cls(tuple(networks), frozenset(hosts))

    def allows(self, host: str, address: Address) -> bool:
        """Return whether the operator allows ``address``, reached by the name ``host``."""
        if ANYTHING in self.hosts or host.lower().rstrip(".") in self.hosts:
            return True
        return any(one in network for one in _meanings(address) for network in self.networks)


def _network(entry: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(entry)
    except ValueError:
        return None


def _is_host_name(entry: str) -> bool:
    labels = entry.rstrip(".").split(".")
    # A name that ends in a number is a mistyped address.
    return (
        len(entry) <= 253
        and not labels[-1].isdigit()
        and all(
            0 < len(label) <= 63 and label.isascii() and label.replace("-", "").replace("_", "").isalnum()
            for label in labels
        )
    )


def _meanings(address: Address) -> Iterator[Address]:
    yield address
    embedded = embedded_ipv4(address)
    if embedded is not None:
        yield embedded


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Return the addresses to which the operating system resolves ``host``."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


@dataclass(frozen=True, slots=True)
class AddressGuard:
    """Resolves a host once and lets only addresses through that may be reached; the caller connects to these.

    Attributes:
        allowed: The addresses allowed besides the public Internet.
        resolve: How names become addresses.
    """

    allowed: AllowList = AllowList()
    resolve: Resolver = system_resolver

    async def addresses(self, host: str, port: int) -> list[Address]:
        """Return the addresses of ``host``, each of them checked, without duplicates.

        Raises:
            AddressRefused: one of them is neither public nor allowed; one bad address refuses the whole host.
            OSError: the host cannot be resolved.
        """
        found = list(dict.fromkeys(ip_address(text.partition("%")[0]) for text in await self.resolve(host, port)))
        if not found:
            raise OSError(f"host '{host}' has no address")
        for address in found:
            if not is_public(address) and not self.allowed.allows(host, address):
                raise AddressRefused(
                    f"host '{host}': must have public addresses only, got {address}; if jobs may reach it, add "
                    "the host, the address or its network to the setting 'http_allow' of the server"
                )
        return found
