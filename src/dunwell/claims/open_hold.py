"""Opens a hold: the claim's process stops until the last hold falls (CONTRACT 4)."""

from datetime import datetime
from uuid import UUID

from dunwell.claims.access import access_claim
from dunwell.claims.holds import Hold, HoldKind, check_new_hold
from dunwell.claims.states import ACTIVE
from dunwell.claims.store_holds import load_holds, save_hold
from dunwell.errors import InvalidState, Said
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit


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
        raise InvalidState(
            Said("ONLY_IN_PROCESS", "Only a claim in process can be held."), state=claim.status
        )
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
