"""A claim as its merchant sees it: submitted data, status, balance and holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.balance import Balance, OwedItem, sum_balance
from dunwell.core.claims.fields import DebtorFields
from dunwell.core.claims.states import Hold, Status
from dunwell.core.claims.store import (
    ClaimRecord,
    load_claim,
    load_holds,
    load_items,
    load_paid_cents,
)
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class CurrentAssignment:
    workflow_id: UUID
    # v<major>.<minor>: the version that the next step uses.
    version: str
    # The scenario, for a merchant that has not switched to workflows.
    scenario_id: int | None = None


@dataclass(frozen=True, slots=True)
class ClaimView:
    claim_id: int
    reference_number: str
    currency: str
    status: Status
    debtor: DebtorFields
    items: Sequence[OwedItem]
    balance: Balance
    # The active holds.
    holds: Sequence[Hold]
    assignment: CurrentAssignment | None
    # None while a contact is in progress, on hold, and after the claim has ended.
    next_step_at: datetime | None
    created_at: datetime
    updated_at: datetime


async def get_claim(work: Work, claim_id: int) -> ClaimView:
    """Return the claim. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    # One snapshot, so that items and payments are consistent.
    async with snapshot(work.tx):
        claim = await load_claim(work.tx, work.merchant_id, claim_id)
        if claim is None:
            raise NotFound(f"There is no claim {claim_id}.")
        items = await load_items(work.tx, work.merchant_id, claim_id)
        holds = await load_holds(work.tx, work.merchant_id, claim_id)
        paid_cents = await load_paid_cents(work.tx, work.merchant_id, claim_id)
    return ClaimView(
        claim_id=claim_id,
        reference_number=claim.reference_number,
        currency=claim.currency,
        status=claim.status,
        debtor=claim.debtor,
        items=items,
        balance=sum_balance(items, paid_cents),
        holds=[hold for hold in holds if hold.stands(work.now)],
        assignment=_build_assignment(claim, is_switched=work.merchant.switched_to_workflows),
        next_step_at=claim.next_step_at,
        created_at=claim.created_at,
        updated_at=claim.updated_at,
    )


def _build_assignment(claim: ClaimRecord, *, is_switched: bool) -> CurrentAssignment | None:
    if claim.workflow_id is None:
        return None
    scenario_id = None if is_switched else claim.scenario_id
    return CurrentAssignment(claim.workflow_id, f"v{claim.major}.{claim.minor}", scenario_id)
