"""Where a request came from when proxies stand between: whose word is taken for it.

`X-Forwarded-For` is written from left to right, each proxy adding whom it was called by. Anybody
can write the left of it, so it is read from the right, and only as far as trusted proxies wrote it.
Pure.
"""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

_Address = IPv4Address | IPv6Address


class Proxies:
    """The networks of an installation's own proxies."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ip_network(network) for network in networks]

    def __contains__(self, host: object) -> bool:
        address = _read_address(host) if isinstance(host, str) else None
        return address is not None and any(address in network for network in self._networks)

    def find_visitor(self, peer: str, forwarded: Sequence[str]) -> str:
        """The nearest address that is not a trusted proxy's.

        peer: who is at the other end of the connection. forwarded: the values of the request's
        X-Forwarded-For headers. What cannot be read ends the chain: then the proxy that passed it
        on is the visitor, as if it had said nothing.
        """
        visitor = peer
        for entry in reversed(",".join(forwarded).split(",")):
            if visitor not in self:
                break
            address = _read_address(_strip_port(entry.strip()))
            if address is None:
                break
            visitor = str(address)
        return visitor


def _read_address(text: str) -> _Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _strip_port(entry: str) -> str:
    """`1.2.3.4:567` and `[fd00::1]:567` are written by some proxies."""
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry
