"""The values every use case works with: the merchant, and the transaction at hand."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

import msgspec

from dunwell.kit.clock import Clock
from dunwell.kit.db import Connection
from dunwell.kit.ids import Ids
from dunwell.kit.resources import Resources
from dunwell.merchants.actor import Actor
from dunwell.merchants.configuration import Configuration


class Merchant(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    key: str
    name: str
    switched_to_workflows: bool
    # Raised by every change of configuration, rules or workflows; a key for caches.
    revision: int
    configuration: Configuration
    # A sandbox merchant's own clock (CONTRACT 12); none for the others.
    sandbox_now: datetime | None

    @property
    def is_sandbox(self) -> bool:
        return self.sandbox_now is not None

    def now(self, clock: Clock) -> datetime:
        """The instant that rules this merchant's steps, holds and event dates."""
        return self.sandbox_now or clock.now()


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
