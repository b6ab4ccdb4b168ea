"""A claim's statement of account at the end of a day: what was demanded, paid and reversed until
then.

An item counts from its own date, but not before the claim was created. A payment counts from the
day on which it was made. A return of a payment is an entry of the day on which the return was
recorded.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.movements import RETURN_OF
from dunwell.cases.payments.refunds.store import ItemReduction, list_reductions
from dunwell.cases.payments.store import (
    StatementPayment,
    StatementReturn,
    list_statement_payments,
    list_statement_returns,
)
from dunwell.core.claims.balance import OwedItem
from dunwell.core.claims.store import load_claim, load_items
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class StatementEntry:
    """A change of the balance by `cents`. `kind` is an item's type, PAYMENT (also for money that
    came back after a return), REVERSAL (for every return), or REDUCTION if the merchant gave up a
    part of an item."""

    on: date
    kind: str
    description: str
    cents: int
    # The balance after this entry.
    balance_cents: int
    # The payment of a PAYMENT or REVERSAL.
    subject_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class AccountHistory:
    """What changed the balance of a claim's items."""

    payments: Sequence[StatementPayment]
    returns: Sequence[StatementReturn] = ()
    reductions: Sequence[ItemReduction] = ()


@dataclass(frozen=True, slots=True)
class StatementOfAccount:
    entries: Sequence[StatementEntry]
    demanded_cents: int
    paid_cents: int

    @property
    def balance_cents(self) -> int:
        """The amount owed. It is negative if the claim is overpaid."""
        return self.demanded_cents - self.paid_cents


async def get_statement_of_account(work: Work, claim_id: int, on: date) -> StatementOfAccount:
    """Return the claim's statement at the end of the day `on`. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        claim = await load_claim(work.tx, work.merchant_id, claim_id)
        if claim is None:
            raise NotFound(f"There is no claim {claim_id}.")
        items = await load_items(work.tx, work.merchant_id, claim_id)
        history = AccountHistory(
            await list_statement_payments(work.tx, work.merchant_id, claim_id),
            await list_statement_returns(work.tx, work.merchant_id, claim_id),
            await list_reductions(work.tx, work.merchant_id, claim_id),
        )
    zone = ZoneInfo(work.merchant.configuration.timezone)
    return build_statement_of_account(items, history, created_at=claim.created_at, zone=zone, on=on)


@dataclass(frozen=True, slots=True)
class _BalanceChange:
    on: date
    # The order within a day.
    rank: int
    kind: str
    description: str
    cents: int
    payment_id: UUID | None = None


def build_statement_of_account(
    items: Sequence[OwedItem], history: AccountHistory, *, created_at: datetime, zone: ZoneInfo,
    on: date,
) -> StatementOfAccount:  # fmt: skip
    """Build the statement. Entries are sorted by day; within a day, items come before payments,
    payments before what was returned or came back, and reductions last."""
    created_on = created_at.astimezone(zone).date()
    changes = [
        *_list_demands(items, history.reductions, created_on, zone),
        *_list_payments(history, zone),
    ]
    counted = sorted(
        (each for each in changes if each.on <= on), key=lambda each: (each.on, each.rank)
    )
    entries, balance = [], 0
    for change in counted:
        balance += change.cents
        entries.append(
            StatementEntry(
                change.on,
                change.kind,
                description=change.description,
                cents=change.cents,
                balance_cents=balance,
                subject_id=change.payment_id,
            )
        )
    demanded = sum(each.cents for each in entries if each.kind not in ("PAYMENT", "REVERSAL"))
    return StatementOfAccount(entries, demanded, demanded - balance)


def _list_demands(
    items: Sequence[OwedItem], reductions: Sequence[ItemReduction], created_on: date, zone: ZoneInfo
) -> Iterator[_BalanceChange]:
    """Yield each reduction, and each item with the value that it had before its reductions."""
    references = {item.item_id: item.reference or "" for item in items}
    given_up = Counter[int]()
    for reduction in reductions:
        given_up[reduction.item_id] += reduction.amount_cents
        day = reduction.recorded_at.astimezone(zone).date()
        cents = -reduction.amount_cents
        yield _BalanceChange(
            day, 3, "REDUCTION", description=references[reduction.item_id], cents=cents
        )
    for item in items:
        cents = item.value_cents + given_up[item.item_id]
        day = _find_demand_day(item, created_on)
        yield _BalanceChange(day, 0, item.type, description=references[item.item_id], cents=cents)


def _list_payments(history: AccountHistory, zone: ZoneInfo) -> Iterator[_BalanceChange]:
    for payment in history.payments:
        day = payment.paid_at.astimezone(zone).date()
        yield _BalanceChange(
            day, 1, "PAYMENT", description=payment.description, cents=-payment.amount_cents,
            payment_id=payment.payment_id,
        )  # fmt: skip
    for each in history.returns:
        day = each.recorded_at.astimezone(zone).date()
        kind, cents = "REVERSAL", each.booked_cents
        if each.kind in RETURN_OF:
            kind, cents = "PAYMENT", -each.booked_cents
        yield _BalanceChange(
            day, 2, kind, description=each.description, cents=cents, payment_id=each.payment_id
        )


def _find_demand_day(item: OwedItem, created_on: date) -> date:
    """Return the day from which the item counts. An item dated before the claim was created counts
    from its creation."""
    return max(created_on, item.item_on) if item.item_on else created_on
