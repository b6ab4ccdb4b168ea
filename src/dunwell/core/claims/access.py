"""How a use case gets the claim it is about: locked, known to be the merchant's, and still as
somebody saw it who wants to change it.
"""

from datetime import UTC, datetime, timedelta

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.store import LockedClaim, has_claim, lock_claim
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import EditConflict, NotFound


async def access_claim(work: Work, claim_id: int) -> LockedClaim:
    """Locked until the transaction ends, and before anything else is. Raises NotFound."""
    claim = await lock_claim(work.tx, work.merchant_id, claim_id)
    if claim is None:
        raise _absent(claim_id)
    return claim


async def check_claim(work: Work, claim_id: int) -> None:
    """Raises NotFound."""
    if not await has_claim(work.tx, work.merchant_id, claim_id):
        raise _absent(claim_id)


def _absent(claim_id: int) -> NotFound:
    return NotFound(f"There is no claim {claim_id}.")


# By primary key.
_LOAD = """
SELECT xmin::text AS written_by, updated_at
FROM claims
WHERE merchant_id = $1 AND claim_id = $2
"""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


async def check_unchanged(work: Work, claim_id: int, seen: str) -> None:
    """seen: of `load_seen`, when the form was shown. The claim stays locked. Raises NotFound and
    EditConflict."""
    work.require(Right.READ_CLAIMS)
    await access_claim(work, claim_id)
    if await _load(work.tx, work.merchant_id, claim_id) != seen:
        raise EditConflict("The claim was changed since it was looked at.")


async def load_seen(work: Work, claim_id: int) -> str:
    """As a form bears it; read before what its page shows. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    await check_claim(work, claim_id)
    return await _load(work.tx, work.merchant_id, claim_id)


async def _load(tx: Connection, merchant_id: int, claim_id: int) -> str:
    row = await tx.fetchrow(_LOAD, merchant_id, claim_id)
    return f"{row['written_by']}-{(row['updated_at'] - _EPOCH) // _MICROSECOND}"


def find_last_seen(seen: str) -> datetime:
    """When the claim had last changed for who saw it so; the beginning of time for other texts."""
    number = seen.partition("-")[2]
    is_sound = number.isascii() and number.isdigit() and len(number) <= 17
    return _EPOCH + _MICROSECOND * (int(number) if is_sound else 0)
