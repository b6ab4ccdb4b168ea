"""The context of a use case: transaction, merchant, actor and time."""

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
    """The context of a use case: an open transaction, the merchant, the actor, and the time."""

    tx: Connection
    merchant: Merchant
    actor: Actor
    # The merchant's time, which a sandbox sets.
    now: datetime
    # Real time, which governs sessions, deliveries and limits.
    real_now: datetime
    ids: Ids

    @classmethod
    def open(cls, resources: Resources, tx: Connection, merchant: Merchant, actor: Actor) -> Self:
        """Build the context for the present instant."""
        real_now = resources.clock.now()
        now = merchant.sandbox_now or real_now
        return cls(
            tx=tx, merchant=merchant, actor=actor, now=now, real_now=real_now, ids=resources.ids
        )

    @property
    def merchant_id(self) -> int:
        return self.merchant.merchant_id

    def scope(self, *part: int | UUID) -> ListScope:
        """Return the scope of a list of this merchant. `part` has the values of the scope columns
        after the merchant id, such as the claim id."""
        return ListScope(
            self.tx,
            (self.merchant_id, *part),
            now=self.now,
            follows_real_time=not self.merchant.is_sandbox,
        )

    def require(self, right: Right) -> None:
        """Check that the actor has the permission. Raises InsufficientScope.

        Call this first in every use case, before any lookup, so that a refusal does not reveal what
        exists.
        """
        check_right(self.actor, right)


def check_right(actor: Actor, right: Right) -> None:
    """Check the permission in use cases that open their own transactions. Raises
    InsufficientScope.
    """
    if right not in actor.rights:
        raise InsufficientScope(
            f"This needs the permission to {RIGHT_WORDS[right]} ({right}), which you do not have. "
            "Ask the person who gave you access.",
            right=str(right),
        )
