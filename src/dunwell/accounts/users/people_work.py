"""What a use case about people is given: they belong to no merchant, so this is no `Work`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from dunwell.accounts.merchants.account import check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.rights import Right
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.ids import Ids
from dunwell.platform.resources import Resources


@dataclass(frozen=True, slots=True)
class PeopleWork:
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
