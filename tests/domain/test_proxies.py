"""Which forwarded addresses are trusted."""

import pytest

from dunwell.platform.http.addresses import Proxies, get_visitor_network

_PROXIES = Proxies(["10.0.0.0/24", "fd00::/64", "192.0.2.7"])
_PEER = "10.0.0.9"


@pytest.mark.parametrize(
    ("peer", "forwarded", "visitor"),
    [
        (_PEER, [], _PEER),
        (_PEER, ["203.0.113.5"], "203.0.113.5"),
        # What the visitor sent is to the left of what the proxy added.
        (_PEER, ["1.2.3.4, 203.0.113.5"], "203.0.113.5"),
        (_PEER, ["1.2.3.4", "203.0.113.5"], "203.0.113.5"),
        (_PEER, ["203.0.113.5, 192.0.2.7, 10.0.0.3"], "203.0.113.5"),
        (_PEER, ["10.0.0.1, 10.0.0.2"], "10.0.0.1"),
        # Neither a stranger nor the loopback address is trusted unless it is configured.
        ("203.0.113.9", ["1.2.3.4"], "203.0.113.9"),
        ("127.0.0.1", ["1.2.3.4"], "127.0.0.1"),
        (_PEER, ["203.0.113.5:4711"], "203.0.113.5"),
        (_PEER, ["[2001:db8::1]:4711"], "2001:db8::1"),
        (_PEER, ["2001:db8::1"], "2001:db8::1"),
        ("::ffff:10.0.0.9", ["::ffff:203.0.113.5"], "203.0.113.5"),
        # An unreadable entry ends the chain.
        (_PEER, ["unknown"], _PEER),
        (_PEER, ["203.0.113.5, unknown, 10.0.0.3"], "10.0.0.3"),
        (_PEER, [""], _PEER),
        ("", ["1.2.3.4"], ""),
    ],
)
def test_the_visitor_is_the_nearest_address_that_is_no_trusted_proxy(
    peer: str, forwarded: list[str], visitor: str
) -> None:
    assert _PROXIES.find_visitor(peer, forwarded) == visitor


def test_no_proxy_is_trusted_by_default() -> None:
    assert Proxies([]).find_visitor(_PEER, ["1.2.3.4"]) == _PEER


def test_the_ipv6_addresses_of_one_network_are_one_visitor() -> None:
    assert get_visitor_network("2001:db8:0:1::5") == get_visitor_network("2001:db8:0:1:ffff::9")
    assert get_visitor_network("2001:db8:0:1::5") != get_visitor_network("2001:db8:0:2::5")
    assert get_visitor_network("203.0.113.5") != get_visitor_network("203.0.113.6")
    assert get_visitor_network("::ffff:203.0.113.5") == get_visitor_network("203.0.113.5")
