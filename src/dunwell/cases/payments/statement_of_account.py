"""A claim's statement of account at the end of a day: what was demanded, paid and reversed by then.

An item counts from its own date, but not before the claim was created. A payment counts from the
day it was made. What was returned of it is an entry of the day on which that was recorded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.movements import RETURN_OF
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
    """`kind` is an item's type, PAYMENT or REVERSAL. `cents` is the change of the balance."""

    on: date
    kind: str
    description: str
    cents: int
    # The balance after this entry.
    balance_cents: int
    subject_id: UUID | None = None


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
        paid = await list_statement_payments(work.tx, work.merchant_id, claim_id)
        returned = await list_statement_returns(work.tx, work.merchant_id, claim_id)
    zone = ZoneInfo(work.merchant.configuration.timezone)
    return build_statement_of_account(
        items, paid, returned, created_at=claim.created_at, zone=zone, on=on
    )


def build_statement_of_account(
    items: Sequence[OwedItem], paid: Sequence[StatementPayment],
    returned: Sequence[StatementReturn], *, created_at: datetime, zone: ZoneInfo, on: date,
) -> StatementOfAccount:  # fmt: skip
    """Build the statement. Entries are sorted by day; within a day, items come before payments and
    payments before reversals."""
    began = created_at.astimezone(zone).date()
    moved: list[tuple[date, int, str, str, int, UUID | None]] = [
        (_find_demand_day(item, began), 0, item.type, item.reference or "", item.value_cents, None)
        for item in items
    ]
    for each in paid:
        day = each.paid_at.astimezone(zone).date()
        moved.append((day, 1, "PAYMENT", each.description, -each.amount_cents, each.payment_id))
    for change in returned:
        day = change.recorded_at.astimezone(zone).date()
        is_restored = change.kind in RETURN_OF
        kind, cents = (
            ("PAYMENT", -change.booked_cents) if is_restored else ("REVERSAL", change.booked_cents)
        )
        moved.append((day, 2, kind, change.description, cents, change.payment_id))
    counted = sorted((each for each in moved if each[0] <= on), key=lambda each: each[:2])
    entries, balance = [], 0
    for day, _, kind, description, cents, subject_id in counted:
        balance += cents
        entries.append(
            StatementEntry(
                day,
                kind,
                description=description,
                cents=cents,
                balance_cents=balance,
                subject_id=subject_id,
            )
        )
    demanded = sum(each.cents for each in entries if each.kind not in ("PAYMENT", "REVERSAL"))
    return StatementOfAccount(entries, demanded, demanded - balance)


def _find_demand_day(item: OwedItem, began: date) -> date:
    """Return the day from which the item counts. An item dated before the claim was created counts
    from its creation."""
    return max(began, item.item_on) if item.item_on else began
