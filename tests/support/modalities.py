"""A merchant that offers payment plans and deferments, and one claim of 102.40 EUR whose debtor
requests one."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.actor import Actor, build_debtor_actor
from dunwell.accounts.merchants.configuration import (
    DeferralSettings,
    ModalitySettings,
    PlanSettings,
)
from dunwell.cases.modalities.answer_modality import (
    approve_modality,
    reject_modality,
    request_modality,
    withdraw_modality,
)
from dunwell.cases.modalities.limits import DeferralTerms, PlanTerms, Terms
from dunwell.cases.modalities.modality import Modality
from dunwell.cases.modalities.store import find_modality
from dunwell.cases.modalities.sweep_modalities import sweep_modalities
from dunwell.cases.payments.record_payment import RecordedPayment
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.merchants import CONFIGURATION

DEBTOR = build_debtor_actor("session-1")
OFFERED = ModalitySettings(PlanSettings(counts=(2, 3, 6)), DeferralSettings(max_days=30))
OFFERING = msgspec.structs.replace(CONFIGURATION, modalities=OFFERED)
AT_ONCE = msgspec.structs.replace(
    CONFIGURATION,
    modalities=ModalitySettings(
        PlanSettings(counts=(2, 3, 6), auto_approve=True),
        DeferralSettings(max_days=30, auto_approve=True),
    ),
)
# The test's clock begins on 2 March 2026.
PLAN = PlanTerms(3, date(2026, 3, 16))
DEFERMENT = DeferralTerms(date(2026, 3, 31))


@dataclass
class Arrangement:
    """A claim of a merchant that offers plans and deferments, and the operations on them."""

    harness: Harness
    claim_id: int

    async def ask(self, terms: Terms = PLAN, actor: Actor = DEBTOR) -> Modality:
        async with self.harness.work(actor) as work:
            return await request_modality(work, self.claim_id, terms)

    async def approve(self, modality_id: UUID) -> Modality:
        async with self.harness.work() as work:
            return await approve_modality(work, self.claim_id, modality_id)

    async def reject(self, modality_id: UUID, reason: str | None = None) -> Modality:
        async with self.harness.work() as work:
            return await reject_modality(work, self.claim_id, modality_id, reason=reason)

    async def withdraw(self, modality_id: UUID) -> Modality:
        async with self.harness.work(DEBTOR) as work:
            return await withdraw_modality(work, self.claim_id, modality_id)

    async def agree(self, terms: Terms = PLAN) -> Modality:
        return await self.approve((await self.ask(terms)).modality_id)

    async def reverse(self, recorded: RecordedPayment) -> None:
        async with self.harness.work() as work:
            await reverse_payment(work, self.claim_id, recorded.payment.payment_id)

    async def sweep_at(self, instant: datetime) -> int:
        """Move the clock to the instant and run one pass."""
        self.harness.clock.move_to(instant)
        return await sweep_modalities(self.harness.resources)

    async def look(self, modality_id: UUID) -> Modality:
        async with self.harness.work() as work:
            found = await find_modality(work.tx, work.merchant_id, self.claim_id, modality_id)
        assert found is not None
        return found

    async def holds(self) -> list[str]:
        return [hold.kind.value for hold in (await self.harness.read(self.claim_id)).holds]

    async def states(self) -> list[str]:
        """Return the states of modalities in the claim's events."""
        return [
            event["claim"]["paymentModality"]["state"]
            for event in await self.harness.events(self.claim_id)
            if event["type"] == "PAYMENT_MODALITY_STATE_CHANGE"
        ]


async def an_arrangement(
    resources: Resources, clock: MovableClock, *, debtor: dict[str, Any] | None = None, **given: Any
) -> Arrangement:
    """Return the merchant and its claim. `given` is passed to a_harness; `debtor` holds fields of
    the claim."""
    given.setdefault("configuration", OFFERING)
    harness = await a_harness(resources, clock, a_definition(), **given)
    [claim_id] = await harness.create(**(debtor or {}))
    return Arrangement(harness, claim_id)
