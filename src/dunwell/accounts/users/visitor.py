"""Who is at the door: where a request comes from, and by which browser."""

import re
from dataclasses import dataclass

from dunwell.platform.crypto import KeyRing
from dunwell.platform.http.addresses import find_network

_PLACE = "portal-place"
# By what they call themselves; the first that fits, as most call themselves others too.
_BROWSERS = (
    ("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)  # fmt: skip
_SYSTEMS = (
    ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"),
    ("Mac OS", "macOS"), ("CrOS", "ChromeOS"), ("Linux", "Linux"),
)  # fmt: skip
_READ = 500


@dataclass(frozen=True, slots=True)
class Visitor:
    """`host`: the address of the other side. `user_agent`: what the browser calls itself. `device`:
    the cookie by which a browser is known that somebody signed in with; "": none."""

    host: str
    user_agent: str = ""
    device: str = ""


def digest_place(keys: KeyRing, visitor: Visitor) -> tuple[bytes, ...]:
    """The network, under every version of the secret key, the one in use first."""
    return keys.digests(_PLACE, find_network(visitor.host))


def describe_browser(user_agent: str) -> str:
    """As its user knows it: "Firefox, Linux"; "" when it says nothing we know."""
    read = user_agent[:_READ]
    found = [_find(read, _BROWSERS), _find(read, _SYSTEMS)]
    return ", ".join(name for name in found if name)


def _find(text: str, names: tuple[tuple[str, str], ...]) -> str:
    return next((name for mark, name in names if re.search(rf"\b{mark}", text)), "")
