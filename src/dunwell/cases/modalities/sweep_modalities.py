"""End modalities that are broken, past or fulfilled, notify their debtors, and keep a claim on hold
for a quiet period after a broken plan."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.modalities.modality import HOLD_KINDS, Modality, ModalityEndReason
from dunwell.cases.modalities.progress import (
    InstalmentNotice,
    InstalmentNoticeKind,
    compute_last_pay_day,
    compute_morning,
    decide_progress,
    find_next_notice,
    list_due_notices,
    local_date,
    start_of_day,
)
from dunwell.cases.modalities.store import (
    find_modality,
    list_claims_to_check,
    list_live_modalities,
    list_merchants_to_check,
    lock_claims_to_check,
    postpone_check,
    save_ends,
    save_next_checks,
)
from dunwell.contact.escalation.forecast.person_guard import build_quiet_hours
from dunwell.contact.notices.occasions.facts import (
    InstalmentDueFacts,
    InstalmentMissedFacts,
    OccasionFacts,
    OccasionOutcome,
    PlanBrokenFacts,
    PlanFulfilledFacts,
)
from dunwell.contact.notices.occasions.store import OccasionToSave, save_occasions
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.states import ACTIVE, HoldKind, Status
from dunwell.core.claims.store import LockedClaim, lift_holds_of_claims, load_holds
from dunwell.platform.database.database import raise_if_outage
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

QUIET_AFTER_BREAK = timedelta(days=1)

# Sets the end of holds whose plans have ended, or removes it (NULL), unless the claim has a newer
# approved modality. Uses the holds' primary key and then payment_modalities_one.
_SET_END_OF_HOLDS = """
UPDATE holds h
SET until = $3
WHERE h.merchant_id = $1 AND h.claim_id = ANY($2::bigint[]) AND h.kind = 'MODALITY_ACTIVE'
  AND h.lifted_at IS NULL
  AND NOT EXISTS (SELECT FROM payment_modalities p
                  WHERE p.merchant_id = $1 AND p.claim_id = h.claim_id AND p.ended_at IS NULL
                    AND p.state = 'APPROVED')
"""
# Uses the holds' primary key and then payment_modalities_one.
_HAS_HOLD_OR_MODALITY = """
SELECT EXISTS (SELECT FROM holds
               WHERE merchant_id = $1 AND claim_id = $2 AND kind = 'MODALITY_ACTIVE'
                 AND lifted_at IS NULL)
    OR EXISTS (SELECT FROM payment_modalities
               WHERE merchant_id = $1 AND claim_id = $2 AND ended_at IS NULL)
"""
_HOLD_REASON = "The notice was not delivered; the next channel is tried."


async def begin_quiet_period(work: Work, claim_ids: list[int]) -> None:
    """Start the quiet period of locked claims whose plans have just broken. Its end is set when the
    notice has been delivered. A sandbox clock does not wait for deliveries, so there the end is set
    at once."""
    until = work.now + QUIET_AFTER_BREAK if work.merchant.is_sandbox else None
    await work.tx.execute(_SET_END_OF_HOLDS, work.merchant_id, claim_ids, until)


async def set_hold_after_break(
    work: Work, claim_id: int, subject: str, outcome: OccasionOutcome
) -> None:
    """Adjust the claim's hold after the delivery of the notice. The claim must be locked.

    `subject` is the plan's id. While a notice that could not be delivered is sent through another
    channel, the claim is kept on hold; if its hold was lifted, a new one is opened. Otherwise the
    hold ends after the quiet period, and a lifted hold is not replaced.
    """
    if not outcome.is_under_way:
        await save_audit(
            work, "modality.tell", f"claim:{claim_id}",
            modalityId=subject, isTold=outcome.at is not None,
        )  # fmt: skip
    if work.merchant.is_sandbox:
        return
    if outcome.is_under_way:
        await _keep_on_hold(work, claim_id)
        return
    until = (outcome.at or work.now) + QUIET_AFTER_BREAK
    await work.tx.execute(_SET_END_OF_HOLDS, work.merchant_id, [claim_id], until)


async def _keep_on_hold(work: Work, claim_id: int) -> None:
    """Keep the claim on hold: remove the end of its hold, or open a new one if it was lifted. A
    claim that has ended, or that has another modality, needs none."""
    await work.tx.execute(_SET_END_OF_HOLDS, work.merchant_id, [claim_id], None)
    if await work.tx.fetchval(_HAS_HOLD_OR_MODALITY, work.merchant_id, claim_id):
        return
    claim = await lock_claim_of_merchant(work, claim_id)
    if claim.status in ACTIVE:
        await open_hold(work, claim_id, HoldKind.MODALITY_ACTIVE, reason=_HOLD_REASON)


@dataclass(frozen=True, slots=True)
class CheckedModality:
    """A modality with its claim's reference number and status. `end_reason` is set if the modality
    ends now."""

    modality: Modality
    reference_number: str
    status: Status
    end_reason: ModalityEndReason | None = None


async def notify_of_progress(work: Work, checked: Sequence[CheckedModality]) -> None:
    """Notify the debtors of several locked claims, in one statement. A notice that was sent before
    is not sent again."""
    occasions = [each for modality in checked for each in _list_occasions(work, modality)]
    await save_occasions(work.tx, work.merchant_id, occasions)


async def is_notice_still_true(
    work: Work, claim: LockedClaim, subject: str, facts: OccasionFacts
) -> bool:
    """Return whether a notice of this module is still true when it is sent. A debtor is not asked
    to pay a disputed claim. The claim must be locked."""
    if not isinstance(
        facts, InstalmentDueFacts | InstalmentMissedFacts | PlanBrokenFacts | PlanFulfilledFacts
    ):
        return True
    modality_id, _, number = subject.partition(" ")
    modality = await find_modality(work.tx, work.merchant_id, claim.claim_id, UUID(modality_id))
    if modality is None:
        return False
    if isinstance(facts, PlanFulfilledFacts):
        is_closed = claim.status is Status.COLLECTED
        return modality.ended_reason is ModalityEndReason.FULFILLED and is_closed is facts.is_closed
    if isinstance(facts, PlanBrokenFacts):
        return claim.status in ACTIVE and modality.ended_reason is ModalityEndReason.BROKEN
    is_owed = claim.status in ACTIVE and _is_still_due(work, modality, number, facts)
    return is_owed and not await _is_disputed(work, claim.claim_id)


def _is_still_due(
    work: Work, modality: Modality, number: str, facts: InstalmentDueFacts | InstalmentMissedFacts
) -> bool:
    """Return whether the instalment is still due with the same amount, which a partial payment
    changes."""
    kind = (
        InstalmentNoticeKind.DUE
        if isinstance(facts, InstalmentDueFacts)
        else InstalmentNoticeKind.MISSED
    )
    due = list_due_notices(modality, work.now, work.merchant.configuration.timezone)
    stated = (kind, number, facts.left_cents)
    return stated in [
        (each.kind, str(each.instalment.number), each.instalment.left_cents) for each in due
    ]


async def _is_disputed(work: Work, claim_id: int) -> bool:
    holds = await load_holds(work.tx, work.merchant_id, claim_id)
    return any(each.kind is HoldKind.DISPUTE and each.is_active(work.now) for each in holds)


def _list_occasions(work: Work, checked: CheckedModality) -> Iterable[OccasionToSave]:
    modality, claim_id = checked.modality, checked.modality.claim_id
    zone = work.merchant.configuration.timezone
    if checked.end_reason is ModalityEndReason.BROKEN:
        instalment = next(each for each in modality.schedule if not each.is_paid)
        broken = PlanBrokenFacts(
            checked.reference_number, modality.currency, instalment.left_cents, instalment.due_on
        )
        morning = compute_morning(local_date(work.now, zone), zone)
        yield OccasionToSave(
            claim_id, str(modality.modality_id), broken, _compute_send_time(work, morning)
        )
    elif checked.end_reason is ModalityEndReason.FULFILLED:
        is_closed = checked.status is Status.COLLECTED
        fulfilled = PlanFulfilledFacts(checked.reference_number, is_closed=is_closed)
        yield OccasionToSave(
            claim_id, str(modality.modality_id), fulfilled, _compute_send_time(work, work.now)
        )
    elif checked.end_reason is None:
        for due in list_due_notices(modality, work.now, zone):
            yield OccasionToSave(
                claim_id,
                f"{modality.modality_id} {due.instalment.number}",
                _build_instalment_facts(checked, due),
                _compute_send_time(work, work.now),
            )


def _build_instalment_facts(checked: CheckedModality, due: InstalmentNotice) -> OccasionFacts:
    modality, instalment = checked.modality, due.instalment
    if due.kind is InstalmentNoticeKind.DUE:
        return InstalmentDueFacts(
            checked.reference_number, modality.currency, instalment.left_cents, instalment.due_on
        )
    return InstalmentMissedFacts(
        checked.reference_number,
        modality.currency,
        left_cents=instalment.left_cents,
        due_on=instalment.due_on,
        payable_until=compute_last_pay_day(instalment),
    )


def _compute_send_time(work: Work, earliest: datetime) -> datetime:
    """Return the first time outside quiet hours (real time), not before `earliest` or now. For a
    sandbox merchant it is now, because its clock is not real."""
    if work.merchant.is_sandbox:
        return work.real_now
    hours = build_quiet_hours(work.merchant.configuration)["EMAIL"]
    return hours.first_moment(max(earliest, work.real_now))


# How often a worker checks due modalities.
MODALITY_SECONDS = 5.0
_SET_SIZE = 500
# When a modality whose check failed is checked again.
_RETRY_AFTER = timedelta(hours=1)

log = structlog.get_logger(__name__)


async def sweep_modalities(resources: Resources, merchant_id: int | None = None) -> int:
    """Check one batch of due modalities of each merchant, or of one. Return how many were
    checked.
    """
    async with resources.database.connection() as connection:
        now = resources.clock.now()
        merchant_ids = await list_merchants_to_check(connection, now, merchant_id)
    checked = 0
    for owner_id in merchant_ids:
        try:
            checked += await _sweep_merchant(resources, owner_id)
        except Unavailable:
            raise
        except Exception as error:
            # A failure at one merchant must not stop the claims of others.
            log.exception("modality sweep failed", merchant_id=owner_id, error=type(error).__name__)
    return checked


async def _sweep_merchant(resources: Resources, merchant_id: int) -> int:
    """Check a batch of modalities of a merchant together. If that fails, check each by itself, so
    that one that cannot be checked does not hold up the others. Return how many were checked."""
    try:
        return await _sweep_batch(resources, merchant_id, None)
    except Exception as error:
        raise_if_outage(error)
        log.exception(
            "modalities not checked together", merchant_id=merchant_id, error=type(error).__name__
        )
    async with resources.database.connection() as connection:
        merchant = await load_merchant(connection, merchant_id)
        if merchant is None:
            return 0
        now = merchant.now(resources.clock)
        claim_ids = await list_claims_to_check(connection, merchant_id, now, _SET_SIZE)
    return sum([await _sweep_claim(resources, merchant, claim_id) for claim_id in claim_ids])


async def _sweep_claim(resources: Resources, merchant: Merchant, claim_id: int) -> int:
    """Check the modality of one claim. If that fails, it is checked again later. Return how many
    were checked."""
    try:
        return await _sweep_batch(resources, merchant.merchant_id, claim_id)
    except Exception as error:
        raise_if_outage(error)
        log.exception("modality not checked", claim_id=claim_id, error=type(error).__name__)
    until = merchant.now(resources.clock) + _RETRY_AFTER
    async with resources.database.transaction() as tx:
        await postpone_check(tx, merchant.merchant_id, claim_id, until)
    return 0


async def _sweep_batch(resources: Resources, merchant_id: int, claim_id: int | None) -> int:
    """Check due modalities in one transaction: those of a batch of claims, or of one claim."""
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, merchant_id)
        if merchant is None:
            return 0
        work = Work.open(resources, tx, merchant, SYSTEM)
        claim_ids = await lock_claims_to_check(
            tx, merchant_id, work.now, _SET_SIZE, claim_id=claim_id
        )
        # A separate statement sees what was committed while it waited for the locks.
        live = await list_live_modalities(tx, merchant_id, claim_ids)
        if live:
            await _save_progress(work, [CheckedModality(*each) for each in live])
    return len(live)


async def _save_progress(work: Work, modalities: Sequence[CheckedModality]) -> None:
    """End the modalities that have ended, save when the others are checked next, and notify the
    debtors."""
    zone = work.merchant.configuration.timezone
    today = local_date(work.now, zone)
    checked: list[CheckedModality] = []
    next_checks: dict[UUID, datetime] = {}
    for each in modalities:
        end_reason_or_day = decide_progress(each.modality, each.status, today)
        if isinstance(end_reason_or_day, ModalityEndReason):
            checked.append(replace(each, end_reason=end_reason_or_day))
        else:
            checked.append(each)
            next_notice = find_next_notice(each.modality, work.now, zone)
            next_check_at = start_of_day(end_reason_or_day, zone)
            next_checks[each.modality.modality_id] = min(
                next_check_at, next_notice or next_check_at
            )
    await save_next_checks(work.tx, work.merchant_id, next_checks)
    await _end(work, [each for each in checked if each.end_reason])
    await notify_of_progress(work, checked)


async def _end(work: Work, ended: Sequence[CheckedModality]) -> None:
    if not ended:
        return
    reasons = {each.modality.modality_id: each.end_reason for each in ended if each.end_reason}
    await save_ends(work.tx, work.merchant_id, work.now, reasons)
    broken_ids = [
        each.modality.claim_id for each in ended if each.end_reason is ModalityEndReason.BROKEN
    ]
    other_ids = [
        each.modality.claim_id for each in ended if each.end_reason is not ModalityEndReason.BROKEN
    ]
    await begin_quiet_period(work, broken_ids)
    await lift_holds_of_claims(
        work.tx, work.merchant_id, claim_ids=other_ids, kinds=HOLD_KINDS, now=work.now
    )
    await save_audit(
        work, "modality.sweep", f"merchant:{work.merchant_id}", ended=Counter(reasons.values())
    )
