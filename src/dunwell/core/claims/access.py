"""How a use case comes to the claim it is about: locked, or known to be the merchant's."""

from dunwell.accounts.merchants.account import Work
from dunwell.core.claims.store import LockedClaim, has_claim, lock_claim
from dunwell.platform.errors import NotFound


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
