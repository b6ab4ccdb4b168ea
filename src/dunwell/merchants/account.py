"""What a use case is given."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from dunwell.kit.db import Connection
from dunwell.kit.ids import Ids
from dunwell.kit.resources import Resources
from dunwell.merchants.actor import Actor
from dunwell.merchants.merchant import Merchant


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
