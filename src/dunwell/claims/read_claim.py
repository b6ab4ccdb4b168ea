"""A claim as its merchant sees it: what was submitted, where it stands, what is owed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from dunwell.claims.balance import Balance, Item, sum_balance
from dunwell.claims.holds import Hold
from dunwell.claims.states import Status
from dunwell.claims.store import load_claim_row, load_holds, load_items, load_paid_cents
from dunwell.errors import NotFound
from dunwell.kit.db import Row, snapshot
from dunwell.merchants.account import Work


@dataclass(frozen=True, slots=True)
class Debtor:
    first_name: str | None
    last_name: str | None
    company_name: str | None
    email: str | None
    mobile_number: str | None
    language: str | None
    date_of_birth: date | None
    # Keys: street, address_line2, postal_code, city, country.
    address: Mapping[str, str] | None
    customer_number: str | None
    contract_number: str | None
    custom_fields: Mapping[str, str] | None
    max_deferral_on: date | None


@dataclass(frozen=True, slots=True)
class Assignment:
    workflow_id: UUID
    # v<major>.<minor>: what the next step would use.
    version: str
    # Of a merchant that is not switched to workflows: what it knows the process by.
    scenario_id: int | None = None


@dataclass(frozen=True, slots=True)
class ClaimView:
    claim_id: int
    reference_number: str
    currency: str
    status: Status
    debtor: Debtor
    items: Sequence[Item]
    balance: Balance
    # Those that stand now.
    holds: Sequence[Hold]
    assignment: Assignment | None
    # None while a contact is under way, under a hold, and after the end.
    next_step_at: datetime | None
    created_at: datetime
    updated_at: datetime


async def read_claim(work: Work, claim_id: int) -> ClaimView:
    """Raises NotFound."""
    # One snapshot, so that what is owed and what is paid are of the same instant.
    async with snapshot(work.tx):
        row = await load_claim_row(work.tx, work.merchant_id, claim_id)
        if row is None:
            raise NotFound(f"There is no claim {claim_id}.")
        items = await load_items(work.tx, work.merchant_id, claim_id)
        holds = await load_holds(work.tx, work.merchant_id, claim_id)
        paid_cents = await load_paid_cents(work.tx, work.merchant_id, claim_id)
    return ClaimView(
        claim_id=claim_id,
        reference_number=row["reference_number"],
        currency=row["currency"],
        status=Status(row["status"]),
        debtor=_read_debtor(row),
        items=items,
        balance=sum_balance(items, paid_cents),
        holds=[hold for hold in holds if hold.stands(work.now)],
        assignment=_read_assignment(row, is_switched=work.merchant.switched_to_workflows),
        next_step_at=None if row["held"] else row["due_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _read_debtor(row: Row) -> Debtor:
    names: dict[str, Any] = {name: row[name] for name in Debtor.__dataclass_fields__}
    return Debtor(**names)


def _read_assignment(row: Row, *, is_switched: bool) -> Assignment | None:
    if row["workflow_id"] is None:
        return None
    scenario_id = None if is_switched else row["scenario_id"]
    return Assignment(row["workflow_id"], f"v{row['major']}.{row['minor']}", scenario_id)
