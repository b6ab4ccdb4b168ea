"""Which addresses are internal and therefore forbidden."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.platform.http.addresses import is_forbidden

HOSTILE = [
    # unspecified, loopback
    "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.1.2.3", "127.255.255.255", "::", "::1",
    # private, shared, link-local
    "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1",
    "192.168.255.255", "100.64.0.1", "100.127.255.255", "169.254.169.254", "169.254.0.1",
    "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1",
    # documentation, benchmarking, protocol assignments
    "192.0.2.1", "198.51.100.7", "203.0.113.9", "198.18.0.1", "198.19.255.255", "192.0.0.1",
    "192.0.0.192", "192.88.99.1", "2001:db8::1", "3fff::1", "2001:2::1", "2001:10::1", "100::1",
    # multicast, reserved, broadcast
    "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "ff02::1", "ff0e::1",
    # IPv4 inside IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::ffff:7f00:1", "::127.0.0.1",
    "::10.0.0.1", "::ffff:0:10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::7f00:1",
    "64:ff9b:1::10.0.0.1", "2002:7f00:1::", "2002:0a00:0001::1", "2002:c0a8:101::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001::1",
    # segment routing, other space that is not global unicast
    "5f00::1", "4000::1", "8000::1",
    # spellings that another reader could take for an address
    "127.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001", "127.0.0.1.",
    "localhost", "127.0.0.01", "", " 127.0.0.1", "[::1]",
]  # fmt: skip
OUTSIDE = [
    "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0",
    "169.253.255.255", "192.167.255.255", "198.17.255.255", "223.255.255.255", "126.255.255.255",
    "2606:4700:4700::1111", "2a00:1450:4001::1", "2003::1", "2001:200::1",
]  # fmt: skip


def test_the_list_has_the_documented_number_of_addresses() -> None:
    assert len(set(HOSTILE)) >= 60


@pytest.mark.parametrize("address", HOSTILE)
def test_an_internal_address_is_forbidden(address: str) -> None:
    assert is_forbidden(address, allow_loopback=False)


@pytest.mark.parametrize("address", OUTSIDE)
def test_a_public_address_is_allowed(address: str) -> None:
    assert not is_forbidden(address, allow_loopback=False)


def test_development_allows_only_loopback() -> None:
    opened = {address for address in HOSTILE if not is_forbidden(address, allow_loopback=True)}
    assert opened == {"127.0.0.1", "127.1.2.3", "127.255.255.255", "::1"}


@given(st.ip_addresses(v=4))
def test_every_address_that_python_calls_not_global_is_forbidden(
    address: ipaddress.IPv4Address,
) -> None:
    if not address.is_global or address.is_multicast:
        assert is_forbidden(str(address), allow_loopback=False)


@given(st.ip_addresses(v=6))
def test_only_global_unicast_addresses_are_allowed(address: ipaddress.IPv6Address) -> None:
    if not is_forbidden(str(address), allow_loopback=False):
        assert address in ipaddress.IPv6Network("2000::/3")
        assert address.is_global
