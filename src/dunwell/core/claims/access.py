"""Get the claim of a use case: locked, checked to be the merchant's, and unchanged since the user
saw it."""

from datetime import UTC, datetime, timedelta

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.store import LockedClaim, has_claim, lock_claim
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import EditConflict, NotFound


async def lock_claim_of_merchant(work: Work, claim_id: int) -> LockedClaim:
    """Lock the claim until the transaction ends. It is locked before anything else. Raises
    NotFound."""
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
_LOAD = """
SELECT xmin::text AS written_by, updated_at
FROM claims
WHERE merchant_id = $1 AND claim_id = $2
"""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


async def check_unchanged(work: Work, claim_id: int, seen: str) -> None:
    """Lock the claim and check that it is unchanged. `seen`: the revision that the form was shown
    with. Raises NotFound, EditConflict."""
    work.require(Right.READ_CLAIMS)
    await lock_claim_of_merchant(work, claim_id)
    if await _load_revision(work.tx, work.merchant_id, claim_id) != seen:
        raise EditConflict("The claim was changed since it was looked at.")


async def load_claim_revision(work: Work, claim_id: int) -> str:
    """Return the claim's revision for a form. Load it before the data that the page shows. Raises
    NotFound."""
    work.require(Right.READ_CLAIMS)
    await check_claim_exists(work, claim_id)
    return await _load_revision(work.tx, work.merchant_id, claim_id)


async def _load_revision(tx: Connection, merchant_id: int, claim_id: int) -> str:
    row = await tx.fetchrow(_LOAD, merchant_id, claim_id)
    return f"{row['written_by']}-{(row['updated_at'] - _EPOCH) // _MICROSECOND}"


def parse_last_change(seen: str) -> datetime:
    """Return the time of the last change in a revision. An invalid revision gives 1970."""
    number = seen.partition("-")[2]
    is_sound = number.isascii() and number.isdigit() and len(number) <= 17
    return _EPOCH + _MICROSECOND * (int(number) if is_sound else 0)
