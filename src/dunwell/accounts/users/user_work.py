"""What a use case about users is given: the visitor, the clock and the transaction. Users belong to
no merchant, so this is not `Work`.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from dunwell.accounts.merchants.account import check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.rights import Right
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.http.addresses import find_network
from dunwell.platform.ids import Ids
from dunwell.platform.resources import Resources


@dataclass(frozen=True, slots=True)
class UserWork:
    """An open transaction, who acts, and when, in real time."""

    tx: Connection
    actor: Actor
    now: datetime
    ids: Ids
    keys: KeyRing
    # Where the portal is reached, for addresses in e-mails.
    public_url: str

    @classmethod
    def open(cls, resources: Resources, tx: Connection, actor: Actor) -> Self:
        return cls(
            tx=tx, actor=actor, now=resources.clock.now(), ids=resources.ids, keys=resources.keys,
            public_url=resources.settings.public_url,
        )  # fmt: skip

    def need(self, right: Right) -> None:
        """As `Work.need`. Raises InsufficientScope."""
        check_right(self.actor, right)


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
