"""Holds stop a claim's workflow until the last one ends: open and lift holds, pause and resume a
claim, and end expired holds (CONTRACT 4)."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM, ActorKind
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_merchant
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.states import ACTIVE, Hold, HoldKind, check_new_hold
from dunwell.core.claims.store import (
    lift_active_holds,
    lift_ended_holds,
    list_claims_with_ended_holds,
    load_holds,
    save_hold,
    save_hold_end,
)
from dunwell.platform.errors import InvalidState, Unavailable
from dunwell.platform.resources import Resources
from dunwell.platform.text.translation import LazyText


async def open_hold(
    work: Work,
    claim_id: int,
    kind: HoldKind,
    *,
    until: datetime | None = None,
    reason: str | None = None,
) -> UUID:
    """Open a hold and return its id. Raises NotFound, InvalidState (the claim has ended, or there
    are too many holds), ValidationError (the end is missing or invalid)."""
    claim = await lock_claim_of_merchant(work, claim_id)
    if claim.status not in ACTIVE:
        raise InvalidState(
            LazyText("Only a claim in process can be put on hold."), state=claim.status
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


async def lift_holds(
    work: Work, claim_id: int, kind: HoldKind, *, hold_id: UUID | None = None
) -> None:
    """Lift the claim's holds of this kind, or only `hold_id`. If there is none, only an audit entry
    is written. Raises NotFound."""
    await lock_claim_of_merchant(work, claim_id)
    await lift_active_holds(
        work.tx, work.merchant_id, claim_id=claim_id, kind=kind, now=work.now, hold_id=hold_id
    )
    await save_audit(work, "hold.lift", f"claim:{claim_id}", before={"kind": kind}, kind=kind)


async def ensure_hold(
    work: Work, claim_id: int, kind: HoldKind, *, hold_id: UUID, reason: str
) -> UUID | None:
    """Remove the end of the hold `hold_id` or, if it was lifted, open a new one. Return the id of
    the active hold, or None if the claim has ended. Raises NotFound."""
    claim = await lock_claim_of_merchant(work, claim_id)
    if await save_hold_end(
        work.tx, work.merchant_id, claim_id=claim_id, hold_id=hold_id, until=None
    ):
        return hold_id
    if claim.status not in ACTIVE:
        return None
    return await open_hold(work, claim_id, kind, reason=reason)


async def pause_claim(
    work: Work, claim_id: int, *, until: datetime | None = None, reason: str | None = None
) -> None:
    """Pause the claim. Nothing changes if the same pause is already active. Raises NotFound,
    InvalidState (the claim has ended), ValidationError (the end is in the past)."""
    work.require(Right.CHANGE_CLAIMS)
    await lock_claim_of_merchant(work, claim_id)
    holds = await load_holds(work.tx, work.merchant_id, claim_id)
    pauses = [hold for hold in holds if _is_pause_of_merchant(hold) and hold.lifted_at is None]
    wanted = (until, reason)
    if any((hold.until, hold.reason) == wanted and hold.is_active(work.now) for hold in pauses):
        return
    # Open the new pause before the old ones are lifted, so that the workflow does not continue in
    # between.
    await open_hold(work, claim_id, HoldKind.PAUSE, until=until, reason=reason)
    for hold in pauses:
        await lift_active_holds(
            work.tx,
            work.merchant_id,
            claim_id=claim_id,
            kind=HoldKind.PAUSE,
            now=work.now,
            hold_id=hold.hold_id,
        )


async def resume_claim(work: Work, claim_id: int) -> None:
    """Lift all pauses, no matter who opened them. Other holds stay. Without a pause, only an
    audit entry is written. Raises NotFound."""
    work.require(Right.CHANGE_CLAIMS)
    await lift_holds(work, claim_id, HoldKind.PAUSE)


def _is_pause_of_merchant(hold: Hold) -> bool:
    return hold.kind is HoldKind.PAUSE and hold.actor_kind is not ActorKind.DEBTOR


_BATCH_SIZE = 500

log = structlog.get_logger(__name__)


async def expire_holds(resources: Resources, merchant_id: int | None = None) -> int:
    """End expired holds of at most _BATCH_SIZE claims, of one merchant or of all, and return the
    number of claims."""
    async with resources.database.connection() as connection:
        claim_ids_by_merchant = await list_claims_with_ended_holds(
            connection, resources.clock.now(), merchant_id, _BATCH_SIZE
        )
    claim_count = 0
    for each_merchant_id, claim_ids in claim_ids_by_merchant.items():
        try:
            claim_count += await _expire_holds_of_merchant(resources, each_merchant_id, claim_ids)
        except Unavailable:
            raise
        except Exception as error:
            # An error of one merchant must not keep the holds of other merchants from ending.
            log.exception(
                "holds.not_expired", merchant_id=each_merchant_id, error=type(error).__name__
            )
    return claim_count


async def _expire_holds_of_merchant(
    resources: Resources, merchant_id: int, claim_ids: Sequence[int]
) -> int:
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, merchant_id)
        if merchant is None:
            return 0
        work = Work.open(resources, tx, merchant, SYSTEM)
        count = await lift_ended_holds(tx, merchant_id, claim_ids, work.now)
        await save_audit(work, "hold.expire", f"merchant:{merchant_id}", claims=count)
        return count
