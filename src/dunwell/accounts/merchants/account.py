"""What a use case is given."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self
from uuid import UUID

from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import RIGHT_WORDS, Right
from dunwell.platform.database.database import Connection
from dunwell.platform.database.listed_table import ListScope
from dunwell.platform.errors import InsufficientScope
from dunwell.platform.ids import Ids
from dunwell.platform.resources import Resources


@dataclass(frozen=True, slots=True)
class Work:
    """What a use case is given: an open transaction, whose merchant, who acts, and when."""

    tx: Connection
    merchant: Merchant
    actor: Actor
    # The merchant's time.
    now: datetime
    # The world's, which rules sessions, deliveries and limits.
    real_now: datetime
    ids: Ids

    @classmethod
    def open(cls, resources: Resources, tx: Connection, merchant: Merchant, actor: Actor) -> Self:
        """At the present instant."""
        real_now = resources.clock.now()
        now = merchant.sandbox_now or real_now
        return cls(
            tx=tx, merchant=merchant, actor=actor, now=now, real_now=real_now, ids=resources.ids
        )

    @property
    def merchant_id(self) -> int:
        return self.merchant.merchant_id

    def scope(self, *part: int | UUID) -> ListScope:
        """The rows of a list that are the merchant's. `part`: the values of the list's further
        scope columns, such as the claim's id."""
        return ListScope(
            self.tx,
            (self.merchant_id, *part),
            now=self.now,
            follows_real_time=not self.merchant.is_sandbox,
        )

    def require(self, right: Right) -> None:
        """The first line of every use case. It asks before anything is looked up, so that a refusal
        tells nothing about what exists. Raises InsufficientScope.
        """
        check_right(self.actor, right)


def check_right(actor: Actor, right: Right) -> None:
    """Where a use case opens its transactions itself. Raises InsufficientScope."""
    if right not in actor.rights:
        raise InsufficientScope(
            f"This needs the right to {RIGHT_WORDS[right]} ({right}), which was not given here. "
            "Ask whoever gave you access for it.",
            right=str(right),
        )
