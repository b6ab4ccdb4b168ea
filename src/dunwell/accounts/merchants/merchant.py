"""A merchant as use cases and rules see it. Pure."""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from dunwell.accounts.merchants.configuration import Configuration
from dunwell.platform.clock import Clock


class Merchant(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    key: str
    name: str
    switched_to_workflows: bool
    # Increases with every change of configuration, rules or workflows. Caches use it as their key.
    revision: int
    configuration: Configuration
    # A sandbox merchant's own time (CONTRACT 12). None for other merchants.
    sandbox_now: datetime | None

    @property
    def is_sandbox(self) -> bool:
        return self.sandbox_now is not None

    def now(self, clock: Clock) -> datetime:
        """Return the time that governs this merchant's steps, holds and event dates."""
        return self.sandbox_now or clock.now()


@dataclass(frozen=True, slots=True)
class NewMerchant:
    key: str
    name: str
    configuration: Configuration
    is_sandbox: bool = False
    switched_to_workflows: bool = True
