"""Ends modalities that are broken, passed or fulfilled, or whose claim has ended, and has debtors
told of their plans: of rates that are due or missed, of the end. Run by a timer.

In sets: the claims of a set are locked first, so that a payment is either seen whole or comes
afterwards, and has the modality looked at again. The process then goes on at its next step; after
a plan that broke once its debtor was told of it (`rest_after_break`). No event is raised (CONTRACT
5).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.modalities.modality import HOLDS, EndReason
from dunwell.cases.modalities.progress import decide_course, local_date, start_of_day
from dunwell.cases.modalities.reminding import find_next_notice
from dunwell.cases.modalities.rest_after_break import begin_rest
from dunwell.cases.modalities.store import load_live_modalities, save_ends
from dunwell.cases.modalities.store_checks import (
    find_merchants_to_check,
    lock_claims_to_check,
    postpone_checks,
)
from dunwell.cases.modalities.tell_plan import PlanStanding, tell_plans
from dunwell.core.claims.store import lift_holds_of_claims
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

MODALITY_SECONDS = 5.0
_SET_SIZE = 500

log = structlog.get_logger(__name__)


async def sweep_modalities(resources: Resources, merchant_id: int | None = None) -> int:
    """One set of each merchant that has modalities to look at, or of one; how many were."""
    async with resources.database.connection() as connection:
        now = resources.clock.now()
        merchant_ids = await find_merchants_to_check(connection, now, merchant_id)
    looked_at = 0
    for owner_id in merchant_ids:
        try:
            looked_at += await _sweep_for(resources, owner_id)
        except Unavailable:
            raise
        except Exception as error:
            # One merchant's fault must not keep the others' claims from going on.
            log.exception("cannot sweep", merchant_id=owner_id, error=type(error).__name__)
    return looked_at


async def _sweep_for(resources: Resources, merchant_id: int) -> int:
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, merchant_id)
        if merchant is None:
            return 0
        work = Work.open(resources, tx, merchant, SYSTEM)
        claim_ids = await lock_claims_to_check(tx, merchant_id, work.now, _SET_SIZE)
        # A statement of its own: it sees what was committed while the locks were waited for.
        found = await load_live_modalities(tx, merchant_id, claim_ids)
        if found:
            await _apply(work, [PlanStanding(*each) for each in found])
    return len(found)


async def _apply(work: Work, found: Sequence[PlanStanding]) -> None:
    zone = work.merchant.configuration.timezone
    today = local_date(work.now, zone)
    looked_at: list[PlanStanding] = []
    following: dict[UUID, datetime] = {}
    for each in found:
        course = decide_course(each.modality, each.status, today)
        if isinstance(course, EndReason):
            looked_at.append(replace(each, ended=course))
        else:
            looked_at.append(each)
            next_notice = find_next_notice(each.modality, work.now, zone)
            look_at = start_of_day(course, zone)
            following[each.modality.modality_id] = min(look_at, next_notice or look_at)
    await postpone_checks(work.tx, work.merchant_id, following)
    await _end(work, [each for each in looked_at if each.ended])
    await tell_plans(work, looked_at)


async def _end(work: Work, ended: Sequence[PlanStanding]) -> None:
    if not ended:
        return
    reasons = {each.modality.modality_id: each.ended for each in ended if each.ended}
    await save_ends(work.tx, work.merchant_id, work.now, reasons)
    broken = [each.modality.claim_id for each in ended if each.ended is EndReason.BROKEN]
    others = [each.modality.claim_id for each in ended if each.ended is not EndReason.BROKEN]
    await begin_rest(work, broken)
    await lift_holds_of_claims(
        work.tx, work.merchant_id, claim_ids=others, kinds=HOLDS, now=work.now
    )
    await save_audit(
        work, "modality.sweep", f"merchant:{work.merchant_id}", ended=Counter(reasons.values())
    )
