"""Stops a claim's process by a hold and lets it go on again: it stands still until the last falls
(CONTRACT 4).
"""

from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.core.claims.access import access_claim
from dunwell.core.claims.holds import Hold, HoldKind, check_new_hold
from dunwell.core.claims.states import ACTIVE
from dunwell.core.claims.store_holds import end_hold_at, lift_standing_holds, load_holds, save_hold
from dunwell.platform.errors import InvalidState
from dunwell.platform.text.lazy_text import LazyText


async def open_hold(
    work: Work,
    claim_id: int,
    kind: HoldKind,
    *,
    until: datetime | None = None,
    reason: str | None = None,
) -> UUID:
    """The hold's id. Raises NotFound, InvalidState (claim ended, too many) and ValidationError (no
    or bad end)."""
    claim = await access_claim(work, claim_id)
    if claim.status not in ACTIVE:
        raise InvalidState(LazyText("Only a claim in process can be held."), state=claim.status)
    hold_id = work.ids.new(work.now)
    hold = Hold(
        kind, work.now, until=until, lifted_at=None, actor_kind=work.actor.kind,
        actor_id=work.actor.actor_id, reason=reason, hold_id=hold_id,
    )  # fmt: skip
    check_new_hold(hold, await load_holds(work.tx, work.merchant_id, claim_id))
    await save_hold(work.tx, work.merchant_id, claim_id, hold)
    await save_audit(
        work, "hold.open", f"claim:{claim_id}",
        after={"kind": kind, "until": None if until is None else until.isoformat()}, kind=kind,
    )  # fmt: skip
    return hold_id


async def lift_hold(
    work: Work, claim_id: int, kind: HoldKind, *, hold_id: UUID | None = None
) -> None:
    """`hold_id`: that one alone. Raises NotFound. Lifting what does not stand changes nothing."""
    await access_claim(work, claim_id)
    await lift_standing_holds(
        work.tx, work.merchant_id, claim_id=claim_id, kind=kind, now=work.now, hold_id=hold_id
    )
    await save_audit(work, "hold.lift", f"claim:{claim_id}", before={"kind": kind}, kind=kind)


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
