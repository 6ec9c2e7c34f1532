"""Only public addresses, and what the operator allows, may be reached."""

from collections.abc import Sequence
from ipaddress import ip_address

import pytest

from cronograph.jobs.base.outcomes import PermanentFailure
from cronograph.jobs.builtin.address_guard import (
    AddressGuard,
    AddressRefused,
    AllowList,
    Resolver,
    is_public,
    system_resolver,
)
from cronograph.jobs.core.base.errors import ConfigurationError

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "168.63.129.15",
    "192.0.1.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "2001:4860:4860::8888",
    "2001:200::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
]

REFUSED = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::808:808",
    "100::1",
    "2001::1",
    "2001:0:808:808::1",
    "2001:db8::1",
    "2001:10::1",
    "2002:7f00:1::1",
    "2002:a9fe:a9fe::1",
    "2606:4700::5efe:127.0.0.1",
    "2606:4700::200:5efe:10.0.0.1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]


def resolver(**hosts: Sequence[str]) -> Resolver:
    """A name server that knows these hosts."""

    async def resolve(host: str, _port: int) -> Sequence[str]:
        return hosts.get(host.replace(".", "_"), [])

    return resolve


@pytest.mark.parametrize("address", PUBLIC)
def test_the_internet_may_be_reached(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize("address", REFUSED)
def test_what_is_not_the_internet_may_not_be_reached(address: str) -> None:
    assert not is_public(ip_address(address))


async def test_the_addresses_of_a_host_come_in_their_order_without_duplicates() -> None:
    guard = AddressGuard(resolve=resolver(site_test=["2606:4700::1", "1.1.1.1", "2606:4700::1"]))
    assert list(map(str, await guard.addresses("site.test", 443))) == ["2606:4700::1", "1.1.1.1"]


async def test_one_bad_address_refuses_the_whole_host() -> None:
    guard = AddressGuard(resolve=resolver(site_test=["1.1.1.1", "10.0.0.7"]))
    with pytest.raises(
        AddressRefused, match=r"host 'site.test': must have public addresses only, got 10.0.0.7; if jobs"
    ):
        await guard.addresses("site.test", 443)
    assert issubclass(AddressRefused, PermanentFailure)


async def test_a_host_without_an_address_cannot_be_resolved() -> None:
    with pytest.raises(OSError, match=r"host 'nowhere.test' has no address"):
        await AddressGuard(resolve=resolver()).addresses("nowhere.test", 80)


async def test_a_zone_does_not_hide_a_link_local_address() -> None:
    with pytest.raises(AddressRefused, match="fe80::1"):
        await AddressGuard(resolve=resolver(site_test=["fe80::1%eth0"])).addresses("site.test", 80)


@pytest.mark.parametrize(
    "spelled", ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "017700000001", "localhost", "::1"]
)
async def test_every_spelling_of_loopback_is_resolved_and_refused(spelled: str) -> None:
    with pytest.raises(AddressRefused):
        await AddressGuard().addresses(spelled, 80)


async def test_the_system_resolves_an_address_to_itself() -> None:
    assert list(await system_resolver("127.0.0.1", 80)) == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("entries", "host", "address", "allowed"),
    [
        ([], "a.test", "10.1.2.3", False),
        (["10.1.2.3"], "a.test", "10.1.2.3", True),
        (["10.1.2.3"], "a.test", "10.1.2.4", False),
        (["10.1.0.0/16"], "a.test", "10.1.2.3", True),
        (["10.1.0.0/16"], "a.test", "::ffff:10.1.2.3", True),
        (["10.1.0.0/16"], "a.test", "10.2.0.0", False),
        (["fd00::/8"], "a.test", "fd12::1", True),
        (["10.0.0.0/8"], "a.test", "169.254.169.254", False),
        (["A.Test"], "a.test.", "10.1.2.3", True),
        (["a.test"], "b.a.test", "10.1.2.3", False),
        ([" a.test "], "a.test", "127.0.0.1", True),
        (["localhost"], "localhost", "127.0.0.1", True),
        (["*"], "a.test", "169.254.169.254", True),
    ],
)
def test_the_operator_allows_addresses_networks_and_hosts(
    entries: list[str], host: str, address: str, allowed: bool
) -> None:
    assert AllowList.parse(entries).allows(host, ip_address(address)) is allowed


@pytest.mark.parametrize("entry", ["", "10.0.0.300", "10.1.2.3/8", "http://a.test", "a b", "*.a.test", "a..b", "a/24"])
def test_an_entry_that_is_nothing_of_the_kind_is_refused_and_named(entry: str) -> None:
    with pytest.raises(ConfigurationError, match="allowed addresses: each must be an address, a network such as"):
        AllowList.parse(["10.0.0.0/8", entry])
