"""Lets a claim that rests go on resting without an end, or stand still anew if its rest is over."""

from uuid import UUID

from dunwell.claims.access import access_claim
from dunwell.claims.holds import HoldKind
from dunwell.claims.open_hold import open_hold
from dunwell.claims.states import ACTIVE
from dunwell.claims.store_holds import end_hold_at
from dunwell.merchants.account import Work


async def let_stand(
    work: Work, claim_id: int, kind: HoldKind, *, hold_id: UUID, reason: str
) -> UUID | None:
    """By which hold it stands: this one, unless it has fallen, else a new one for this reason.
    None: the claim has ended. Raises NotFound."""
    if await end_hold_at(work.tx, work.merchant_id, claim_id=claim_id, hold_id=hold_id, until=None):
        return hold_id
    claim = await access_claim(work, claim_id)
    if claim.status not in ACTIVE:
        return None
    return await open_hold(work, claim_id, kind, reason=reason)
