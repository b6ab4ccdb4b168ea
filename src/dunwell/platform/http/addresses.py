"""IP addresses: which ones outgoing requests may connect to, which ones count as one visitor, and
which one is the client's if a request came through proxies.

`X-Forwarded-For` is written from left to right: each proxy appends the address that called it. Any
client can send a forged left part. It is therefore read from the right, and only as far as trusted
proxies wrote it. Pure.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

_LOOPBACK_V4 = IPv4Network("127.0.0.0/8")
_LOOPBACK_V6 = IPv6Address("::1")
_FORBIDDEN_V4 = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network, unspecified
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, cloud metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # multicast tunnelling
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
# Addresses outside this range are also forbidden: ::, ::1, mapped and compatible, NAT64, unique
# local, link-local and multicast addresses.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_FORBIDDEN_V6 = tuple(
    ip_network(network)
    for network in (
        "2001::/23",  # Teredo, ORCHID, benchmarking and the other protocol assignments
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)

# Addresses that no operator's private network can contain: this network, link-local (cloud
# metadata), multicast and reserved addresses, and IPv6 forms of IPv4 addresses.
_NEVER_GRANTED = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",
        "169.254.0.0/16",
        "224.0.0.0/3",
        "::/128",
        "::ffff:0:0/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2001::/32",
        "2002::/16",
        "fe80::/9",
        "ff00::/8",
        # AWS's metadata address, which is in a range of private networks
        "fd00:ec2::254/128",
    )
)


def is_forbidden(address: str, *, allow_loopback: bool) -> bool:
    """Return whether connections to this address are forbidden.

    Only a plain IPv4 or IPv6 address in its standard spelling is permitted, so that no other parser
    can read it as a different address. `allow_loopback` permits 127.0.0.0/8 and ::1 in these
    spellings; a mapped loopback address remains forbidden.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return True
    if isinstance(parsed, IPv4Address):
        return _is_forbidden_v4(parsed, allow_loopback)
    return _is_forbidden_v6(parsed, allow_loopback)


def is_within(address: str, networks: Iterable[Network]) -> bool:
    """Return whether a plain address in its standard spelling is in one of the networks."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address) and parsed.scope_id is not None:
        return False
    return any(parsed in network for network in networks)


def is_always_forbidden(network: Network) -> bool:
    """Return whether the network contains an address that an operator must not open to the webhooks
    of merchants."""
    return any(
        network.version == each.version and network.overlaps(each) for each in _NEVER_GRANTED
    )


def _is_forbidden_v4(address: IPv4Address, allow_loopback: bool) -> bool:  # noqa: FBT001 - private
    if allow_loopback and address in _LOOPBACK_V4:
        return False
    return any(address in network for network in _FORBIDDEN_V4)


def _is_forbidden_v6(address: IPv6Address, allow_loopback: bool) -> bool:  # noqa: FBT001 - private
    if allow_loopback and address == _LOOPBACK_V6:
        return False
    if address.scope_id is not None or address not in _GLOBAL_UNICAST:
        return True
    return any(address in network for network in _FORBIDDEN_V6)


def get_visitor_network(host: str) -> bytes:
    """Return the address or network that counts as one visitor: an IPv4 address, the /64 network of
    an IPv6 address, which is what one customer is assigned, or any other name of the client."""
    address = _parse_address(host)
    if address is None:
        return host.encode()
    return address.packed if address.version == 4 else address.packed[:8]


def render_network(host: str) -> str | None:
    """Return the network of an address in text form, which identifies no single visitor: /24 for
    IPv4, /48 for IPv6. None if `host` is not an address."""
    address = _parse_address(host)
    if address is None:
        return None
    prefix = 24 if address.version == 4 else 48
    packed = address.packed[: prefix // 8].ljust(len(address.packed), b"\0")
    return f"{ip_address(packed)}/{prefix}"


_Address = IPv4Address | IPv6Address


class Proxies:
    """The networks of the installation's own proxies."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ip_network(network) for network in networks]

    def __contains__(self, host: object) -> bool:
        address = _parse_address(host) if isinstance(host, str) else None
        return address is not None and any(address in network for network in self._networks)

    def find_visitor(self, peer: str, forwarded: Sequence[str]) -> str:
        """Return the nearest address that is not a trusted proxy.

        `peer` is the other end of the connection, and `forwarded` has the values of the
        X-Forwarded-For headers. An entry that cannot be parsed ends the chain: the proxy that
        passed it on then counts as the visitor.
        """
        visitor = peer
        for entry in reversed(",".join(forwarded).split(",")):
            if visitor not in self:
                break
            address = _parse_address(_strip_port(entry.strip()))
            if address is None:
                break
            visitor = str(address)
        return visitor


@lru_cache(maxsize=256)
def _parse_address(text: str) -> _Address | None:
    """Return the address, or None if the text is no address. The result is cached, because every
    request needs the address of its peer."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    # A listener for both families reports an IPv4 client as a mapped IPv6 address.
    return getattr(address, "ipv4_mapped", None) or address


def _strip_port(entry: str) -> str:
    """Remove the port, which some proxies append: `1.2.3.4:567`, `[fd00::1]:567`."""
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry
