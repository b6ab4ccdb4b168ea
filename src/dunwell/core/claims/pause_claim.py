"""Pauses a claim's process until an instant, or until it is resumed, and resumes it.

A claim has one pause of its merchant's at a time, beside a debtor's own: pausing again puts another
end and another reason in its place.
"""

from datetime import datetime

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.access import access_claim
from dunwell.core.claims.hold_claim import lift_hold, open_hold
from dunwell.core.claims.holds import Hold, HoldKind
from dunwell.core.claims.store_holds import lift_standing_holds, load_holds


async def pause_claim(
    work: Work, claim_id: int, *, until: datetime | None = None, reason: str | None = None
) -> None:
    """The same pause again changes nothing. Raises NotFound, InvalidState (the claim is not in
    process) and ValidationError (the end has come)."""
    work.need(Right.CHANGE_CLAIMS)
    await access_claim(work, claim_id)
    holds = await load_holds(work.tx, work.merchant_id, claim_id)
    standing = [hold for hold in holds if _is_merchants(hold) and hold.lifted_at is None]
    same = (until, reason)
    if any((hold.until, hold.reason) == same and hold.stands(work.now) for hold in standing):
        return
    # Opened before the others fall, so that the process stands still all the while.
    await open_hold(work, claim_id, HoldKind.PAUSE, until=until, reason=reason)
    for hold in standing:
        await lift_standing_holds(
            work.tx,
            work.merchant_id,
            claim_id=claim_id,
            kind=HoldKind.PAUSE,
            now=work.now,
            hold_id=hold.hold_id,
        )


async def resume_claim(work: Work, claim_id: int) -> None:
    """Its pauses fall, whoever made them; other holds stay. Resuming what is not paused changes
    nothing. Raises NotFound."""
    work.need(Right.CHANGE_CLAIMS)
    await lift_hold(work, claim_id, HoldKind.PAUSE)


def _is_merchants(hold: Hold) -> bool:
    return hold.kind is HoldKind.PAUSE and hold.actor_kind is not ActorKind.DEBTOR
