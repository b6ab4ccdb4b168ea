"""Get a claim of a merchant: locked for a use case, checked to be unchanged since the user saw it,
or with its data, balance and holds as the merchant sees it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.balance import Balance, OwedItem, sum_balance
from dunwell.core.claims.fields import DebtorFields
from dunwell.core.claims.states import Hold, Status
from dunwell.core.claims.store import (
    ClaimRecord,
    LockedClaim,
    has_claim,
    load_claim,
    load_holds,
    load_items,
    load_paid_cents,
    lock_claim,
)
from dunwell.platform.database.database import Connection, snapshot
from dunwell.platform.errors import EditConflict, NotFound


async def lock_claim_of_merchant(work: Work, claim_id: int) -> LockedClaim:
    """Lock the claim until the transaction ends. To prevent deadlocks, a use case locks the claim
    before any other row that belongs to it. Raises NotFound."""
    claim = await lock_claim(work.tx, work.merchant_id, claim_id)
    if claim is None:
        raise _build_not_found(claim_id)
    return claim


async def check_claim_exists(work: Work, claim_id: int) -> None:
    """Check that the merchant has the claim. Raises NotFound."""
    if not await has_claim(work.tx, work.merchant_id, claim_id):
        raise _build_not_found(claim_id)


def _build_not_found(claim_id: int) -> NotFound:
    return NotFound(f"There is no claim {claim_id}.")


# Uses the primary key.
_LOAD_REVISION = """
SELECT xmin::text AS written_by, updated_at
FROM claims
WHERE merchant_id = $1 AND claim_id = $2
"""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


async def check_unchanged(work: Work, claim_id: int, shown_revision: str) -> None:
    """Lock the claim and check that it is unchanged. `shown_revision` is the claim's revision when
    the form was shown. Raises NotFound, EditConflict."""
    work.require(Right.READ_CLAIMS)
    await lock_claim_of_merchant(work, claim_id)
    if await _load_revision(work.tx, work.merchant_id, claim_id) != shown_revision:
        raise EditConflict("The claim was changed since you opened it.")


async def load_claim_revision(work: Work, claim_id: int) -> str:
    """Return the claim's revision for a form. Call this before loading the data that the page
    shows, so that a concurrent change is detected. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    await check_claim_exists(work, claim_id)
    return await _load_revision(work.tx, work.merchant_id, claim_id)


async def _load_revision(tx: Connection, merchant_id: int, claim_id: int) -> str:
    row = await tx.fetchrow(_LOAD_REVISION, merchant_id, claim_id)
    return f"{row['written_by']}-{(row['updated_at'] - _EPOCH) // _MICROSECOND}"


def parse_last_change(shown_revision: str) -> datetime:
    """Return the time of the last change that a revision names, or 1970 for an invalid revision."""
    number = shown_revision.partition("-")[2]
    is_valid = number.isascii() and number.isdigit() and len(number) <= 17
    return _EPOCH + _MICROSECOND * (int(number) if is_valid else 0)


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
    # None while a contact is in progress, while the claim is on hold, and after it has ended.
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
            raise _build_not_found(claim_id)
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
        holds=[hold for hold in holds if hold.is_active(work.now)],
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
