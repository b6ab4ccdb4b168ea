"""A scripted payment provider, and merchants whose debtors can pay with it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.actor import build_debtor_actor
from dunwell.accounts.merchants.configuration import PaymentMethod, PaymentSettings
from dunwell.cases.payments.provider import (
    Checkout,
    CheckoutCancellation,
    CheckoutRequest,
    CheckoutState,
    CheckoutStatus,
    MoneyMovement,
    MovementKind,
    NotificationRejected,
    PaymentProviders,
    PaymentProviderUnavailable,
    Payout,
)
from dunwell.cases.payments.refunds.send_refunds import RefundOrders
from dunwell.cases.payments.requests.account_rounds import AccountRounds
from dunwell.cases.payments.requests.check_payments import PaymentChecks
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.cases.payments.requests.settle_payment import settle_payment
from dunwell.cases.payments.requests.start_payment import (
    PaymentIntent,
    StartedPayment,
    start_payment,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.merchants import CONFIGURATION

DEBTOR = build_debtor_actor("session-1")
PAYING = msgspec.structs.replace(
    CONFIGURATION, payment=PaymentSettings(methods=(PaymentMethod("sandbox"),))
)
RETURN_URL = "http://127.0.0.1:8000/claim/pay/{request_id}"
_STATES = "SELECT state FROM payment_requests WHERE merchant_id = $1 ORDER BY request_id"
_EVENTS = """
SELECT type FROM events WHERE merchant_id = $1 AND sequence IS NOT NULL ORDER BY claim_id, sequence
"""


async def sweep_requests(resources: Resources, providers: PaymentProviders) -> int:
    """Check all payment requests that are due, and return how many were checked."""
    work = PaymentChecks(resources, providers)
    return await AccountRounds(resources, providers, work, turn_seconds=60).run_once()


async def send_refunds(resources: Resources, providers: PaymentProviders) -> int:
    """Send all refunds that are due, and return how many were sent."""
    work = RefundOrders(resources, providers)
    return await AccountRounds(resources, providers, work, turn_seconds=60).run_once()


class ProcessDied(BaseException):
    """Stands for the end of the process at this point."""


def a_paid_checkout(
    movement_id: str, cents: int, currency: str, at: datetime, method: str | None = None
) -> CheckoutState:
    """Return the state of a checkout that was paid."""
    paid = MoneyMovement(movement_id, MovementKind.PAID, cents, currency, at, method)
    return CheckoutState(CheckoutStatus.PAID, [paid])


@dataclass
class ScriptedPaymentProvider:
    """Returns scripted states of checkouts, by default OPEN, and records the requests."""

    answer: CheckoutState = field(default_factory=lambda: CheckoutState(CheckoutStatus.OPEN))
    # The states of single checkouts.
    answers: dict[str, CheckoutState] = field(default_factory=dict)
    name: str = "sandbox"
    kind: str = "sandbox"
    moves_money: bool = False
    is_closed: bool = False
    is_away: bool = False
    cancellation: CheckoutCancellation = CheckoutCancellation.CANNOT_CANCEL
    # Called during a request, before the response.
    during_start: Callable[[], Awaitable[None]] | None = None
    during_fetch: Callable[[], Awaitable[None]] | None = None
    during_cancel: Callable[[], Awaitable[None]] | None = None
    started: list[CheckoutRequest] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    # The cents of each refund by its key.
    refunds: dict[UUID, int] = field(default_factory=dict)

    async def open_checkout(self, request: CheckoutRequest) -> Checkout:
        self.started.append(request)
        if self.is_away:
            raise PaymentProviderUnavailable("The payment provider is away.")
        if self.during_start is not None:
            await self.during_start()
        return Checkout(f"ref-{request.request_id}", f"https://pay.example/{request.request_id}")

    async def cancel_checkout(self, checkout_id: str) -> CheckoutCancellation:
        if self.is_away:
            raise PaymentProviderUnavailable("The payment provider is away.")
        self.cancelled.append(checkout_id)
        if self.during_cancel is not None:
            await self.during_cancel()
        if self.cancellation is CheckoutCancellation.CANCELLED:
            self.answers[checkout_id] = CheckoutState(CheckoutStatus.CANCELLED)
        return self.cancellation

    async def fetch_checkout(self, checkout_id: str) -> CheckoutState:
        self.fetched.append(checkout_id)
        if self.is_away:
            raise PaymentProviderUnavailable("The payment provider is away.")
        answer = self.answers.get(checkout_id, self.answer)
        if self.during_fetch is not None:
            await self.during_fetch()
        return answer

    async def refund(self, checkout_id: str, movement: MoneyMovement, cents: int, key: UUID) -> str:
        if self.is_away:
            raise PaymentProviderUnavailable("The payment provider is away.")
        self.refunds.setdefault(key, cents)
        return f"refund-{key}"

    async def list_payouts(self, since: datetime) -> Sequence[Payout]:
        return ()

    def parse_notification(self, headers: Mapping[str, str], body: bytes) -> Sequence[str]:
        raise NotificationRejected("Nothing sends notifications here.")

    async def find_access_problems(self) -> Sequence[str]:
        return ()


@dataclass
class PaymentHarness:
    """A merchant, its payment provider, and one unpaid claim of 102.40 EUR."""

    harness: Harness
    provider: ScriptedPaymentProvider
    claim_id: int

    @property
    def resources(self) -> Resources:
        return self.harness.resources

    @property
    def providers(self) -> PaymentProviders:
        return {self.provider.name: self.provider}

    @property
    def merchant_id(self) -> int:
        return self.harness.merchant.merchant_id

    async def start(self, cents: int = 10240, **changes: Any) -> StartedPayment:
        wanted = PaymentIntent(changes.pop("provider", "sandbox"), cents, RETURN_URL, **changes)
        return await start_payment(
            self.resources, self.providers, self.harness.merchant, DEBTOR, self.claim_id, wanted
        )

    async def settle(self, request_id: UUID) -> PaymentRequestState:
        return await settle_payment(self.resources, self.providers, self.merchant_id, request_id)

    async def sweep(self) -> int:
        return await sweep_requests(self.resources, self.providers)

    def pays(self, cents: int = 10240, currency: str = "EUR", number: str = "psp-1") -> None:
        """From now on the provider reports this payment."""
        self.provider.answer = a_paid_checkout(number, cents, currency, self.now)

    def moves(self, *movements: MoneyMovement) -> None:
        """From now on the provider lists these movements in addition."""
        before = self.provider.answer
        self.provider.answer = CheckoutState(before.status, [*before.movements, *movements])

    @property
    def now(self) -> datetime:
        return self.resources.clock.now()

    async def end_claim(self, status: str) -> None:
        await self.harness.rows(
            "UPDATE claims SET status = $2, due_at = NULL WHERE merchant_id = $1", status
        )

    async def states(self) -> list[str]:
        return [row["state"] for row in await self.harness.rows(_STATES)]

    async def events(self) -> list[str]:
        return [row["type"] for row in await self.harness.rows(_EVENTS)]

    async def count(self, table: str) -> int:
        statement = f"SELECT count(*) AS count FROM {table} WHERE merchant_id = $1"
        [row] = await self.harness.rows(statement)
        count: int = row["count"]
        return count

    async def audited(self, action: str) -> int:
        rows = await self.harness.rows(
            "SELECT FROM audit_log WHERE merchant_id = $1 AND action = $2", action
        )
        return len(rows)


async def a_payment_harness(
    resources: Resources, clock: MovableClock, **given: Any
) -> PaymentHarness:
    """Return a payment harness.

    `given` holds arguments of a_harness, `provider`, `debtor` (fields of the claim), and
    `definition` (None for a claim without a workflow).
    """
    provider = given.pop("provider", None) or ScriptedPaymentProvider()
    given.setdefault("configuration", PAYING)
    definition = given.pop("definition", a_definition())
    debtor = given.pop("debtor", {})
    harness = await a_harness(resources, clock, definition, **given)
    [claim_id] = await harness.create(**debtor)
    return PaymentHarness(harness, provider, claim_id)
