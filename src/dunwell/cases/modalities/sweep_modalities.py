"""Ends modalities that are broken, over or fulfilled, tells their debtors, and lets a claim rest
after a broken plan.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.modalities.modality import HOLDS, EndReason, Modality
from dunwell.cases.modalities.progress import (
    DueReminder,
    RateNotice,
    decide_course,
    find_next_notice,
    list_due_notices,
    local_date,
    mend_by,
    morning_of,
    start_of_day,
)
from dunwell.cases.modalities.store import (
    find_merchants_to_check,
    load_live_modalities,
    load_modality,
    lock_claims_to_check,
    postpone_checks,
    save_ends,
)
from dunwell.contact.escalation.forecast.person_guard import find_quiet_hours
from dunwell.contact.notices.occasions.facts import (
    OccasionFacts,
    PlanBrokenFacts,
    PlanFulfilledFacts,
    RateDueFacts,
    RateMissedFacts,
    ToldOccasion,
)
from dunwell.contact.notices.occasions.store import NewOccasion, save_occasions
from dunwell.core.claims.access import access_claim
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.states import ACTIVE, HoldKind, Status
from dunwell.core.claims.store import LockedClaim, lift_holds_of_claims, load_holds
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

QUIET_AFTER_BREAK = timedelta(days=1)

# Of claims whose plans have ended: what still holds them for these, and not for a later one. By the
# holds' primary key, then by payment_modalities_one.
_END_HOLDS = """
UPDATE holds h
SET until = $3
WHERE h.merchant_id = $1 AND h.claim_id = ANY($2::bigint[]) AND h.kind = 'MODALITY_ACTIVE'
  AND h.lifted_at IS NULL
  AND NOT EXISTS (SELECT FROM payment_modalities p
                  WHERE p.merchant_id = $1 AND p.claim_id = h.claim_id AND p.ended_at IS NULL
                    AND p.state = 'APPROVED')
"""
# By the holds' primary key, then by payment_modalities_one.
_STANDS = """
SELECT EXISTS (SELECT FROM holds
               WHERE merchant_id = $1 AND claim_id = $2 AND kind = 'MODALITY_ACTIVE'
                 AND lifted_at IS NULL)
    OR EXISTS (SELECT FROM payment_modalities
               WHERE merchant_id = $1 AND claim_id = $2 AND ended_at IS NULL)
"""
_WHY = "That the plan has ended did not arrive; it is told by the next way."


async def begin_rest(work: Work, claim_ids: list[int]) -> None:
    """Of locked claims whose plans have just broken; what tells it is written beside. A sandbox's
    clock does not wait for real messages: its rest begins at once."""
    until = work.now + QUIET_AFTER_BREAK if work.merchant.is_sandbox else None
    await work.tx.execute(_END_HOLDS, work.merchant_id, claim_ids, until)


async def rest_after_break(work: Work, claim_id: int, subject: str, told: ToldOccasion) -> None:
    """subject: the plan's id. The claim must be locked. A hold that has fallen stays so, unless
    news that did not arrive is under way."""
    if not told.is_under_way:
        await save_audit(
            work, "modality.tell", f"claim:{claim_id}",
            modalityId=subject, isTold=told.at is not None,
        )  # fmt: skip
    if work.merchant.is_sandbox:
        return
    if told.is_under_way:
        await _stand_still(work, claim_id)
        return
    until = (told.at or work.now) + QUIET_AFTER_BREAK
    await work.tx.execute(_END_HOLDS, work.merchant_id, [claim_id], until)


async def _stand_still(work: Work, claim_id: int) -> None:
    """By the hold there is, or by one in its place; what has ended, or has a plan, needs none."""
    await work.tx.execute(_END_HOLDS, work.merchant_id, [claim_id], None)
    if await work.tx.fetchval(_STANDS, work.merchant_id, claim_id):
        return
    claim = await access_claim(work, claim_id)
    if claim.status in ACTIVE:
        await open_hold(work, claim_id, HoldKind.MODALITY_ACTIVE, reason=_WHY)


@dataclass(frozen=True, slots=True)
class PlanStanding:
    """A modality with its claim's reference and status. ended: why, if it ends now."""

    modality: Modality
    reference_number: str
    status: Status
    ended: EndReason | None = None


async def notify_of_plans(work: Work, looked_at: Sequence[PlanStanding]) -> None:
    """Of a set whose claims are locked, in one statement; what was told is not told again."""
    told = [each for standing in looked_at for each in _list_told(work, standing)]
    await save_occasions(work.tx, work.merchant_id, told)


async def is_still_true(work: Work, claim: LockedClaim, subject: str, facts: OccasionFacts) -> bool:
    """Whether what was to be told holds when it is sent. Nobody is asked to pay what they dispute.
    The claim is locked."""
    if not isinstance(facts, RateDueFacts | RateMissedFacts | PlanBrokenFacts | PlanFulfilledFacts):
        return True
    modality_id, _, number = subject.partition(" ")
    modality = await load_modality(work.tx, work.merchant_id, claim.claim_id, UUID(modality_id))
    if modality is None:
        return False
    if isinstance(facts, PlanFulfilledFacts):
        is_closed = claim.status is Status.COLLECTED
        return modality.ended_reason is EndReason.FULFILLED and is_closed is facts.is_closed
    if isinstance(facts, PlanBrokenFacts):
        return claim.status in ACTIVE and modality.ended_reason is EndReason.BROKEN
    is_asked = claim.status in ACTIVE and _is_still_due(work, modality, number, facts)
    return is_asked and not await _is_disputed(work, claim.claim_id)


def _is_still_due(
    work: Work, modality: Modality, number: str, facts: RateDueFacts | RateMissedFacts
) -> bool:
    """With the same amount; a rate that was paid in part is not told with what it was."""
    kind = RateNotice.DUE if isinstance(facts, RateDueFacts) else RateNotice.MISSED
    due = list_due_notices(modality, work.now, work.merchant.configuration.timezone)
    told = (kind, number, facts.left_cents)
    return told in [(each.kind, str(each.rate.number), each.rate.left_cents) for each in due]


async def _is_disputed(work: Work, claim_id: int) -> bool:
    holds = await load_holds(work.tx, work.merchant_id, claim_id)
    return any(each.kind is HoldKind.DISPUTE and each.stands(work.now) for each in holds)


def _list_told(work: Work, standing: PlanStanding) -> Iterable[NewOccasion]:
    modality, claim_id = standing.modality, standing.modality.claim_id
    zone = work.merchant.configuration.timezone
    if standing.ended is EndReason.BROKEN:
        rate = next(each for each in modality.schedule if not each.is_paid)
        broken = PlanBrokenFacts(
            standing.reference_number, modality.currency, rate.left_cents, rate.due_on
        )
        morning = morning_of(local_date(work.now, zone), zone)
        yield NewOccasion(claim_id, str(modality.modality_id), broken, _find_moment(work, morning))
    elif standing.ended is EndReason.FULFILLED:
        is_closed = standing.status is Status.COLLECTED
        kept = PlanFulfilledFacts(standing.reference_number, is_closed=is_closed)
        yield NewOccasion(claim_id, str(modality.modality_id), kept, _find_moment(work, work.now))
    elif standing.ended is None:
        for due in list_due_notices(modality, work.now, zone):
            yield NewOccasion(
                claim_id,
                f"{modality.modality_id} {due.rate.number}",
                _describe(standing, due),
                _find_moment(work, work.now),
            )


def _describe(standing: PlanStanding, due: DueReminder) -> OccasionFacts:
    modality, rate = standing.modality, due.rate
    if due.kind is RateNotice.DUE:
        return RateDueFacts(
            standing.reference_number, modality.currency, rate.left_cents, rate.due_on
        )
    return RateMissedFacts(
        standing.reference_number,
        modality.currency,
        left_cents=rate.left_cents,
        due_on=rate.due_on,
        mend_by=mend_by(rate),
    )


def _find_moment(work: Work, wanted: datetime) -> datetime:
    """The first from then on outside quiet hours, in real time. A sandbox's clock is not real: it
    is told at once."""
    if work.merchant.is_sandbox:
        return work.real_now
    hours = find_quiet_hours(work.merchant.configuration)["EMAIL"]
    return hours.first_moment(max(wanted, work.real_now))


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
    await notify_of_plans(work, looked_at)


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
