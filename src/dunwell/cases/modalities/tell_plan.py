"""Has debtors told what becomes of their payment plans: of rates that are due or missed, of a plan
that broke, of one that was fulfilled. Each once, and only as long as it is true.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.cases.modalities.modality import EndReason, Modality
from dunwell.cases.modalities.progress import local_date
from dunwell.cases.modalities.reminding import (
    DueNotice,
    RateNotice,
    list_due_notices,
    mend_by,
    morning_of,
)
from dunwell.cases.modalities.store import load_modality
from dunwell.contact.escalation.forecast.person_guard import find_quiet_hours
from dunwell.contact.notices.occasions.facts import (
    OccasionFacts,
    PlanBrokenFacts,
    PlanFulfilledFacts,
    RateDueFacts,
    RateMissedFacts,
)
from dunwell.contact.notices.occasions.store import NewOccasion, save_occasions
from dunwell.core.claims.holds import HoldKind
from dunwell.core.claims.states import ACTIVE, Status
from dunwell.core.claims.store import LockedClaim, load_holds


@dataclass(frozen=True, slots=True)
class PlanStanding:
    """A modality with its claim's reference and status. ended: why, if it ends now."""

    modality: Modality
    reference_number: str
    status: Status
    ended: EndReason | None = None


async def tell_plans(work: Work, looked_at: Sequence[PlanStanding]) -> None:
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


def _describe(standing: PlanStanding, due: DueNotice) -> OccasionFacts:
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
