"""Request, approve, reject, withdraw and assign payment plans and deferrals.

The claim's workflow stops until a request is answered, and while an approved modality is active.
"""

from collections.abc import Collection, Mapping
from datetime import date
from uuid import UUID

from msgspec.structs import replace

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import MASKED, save_audit, select_changed_fields
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.assignee import Assignee, build_assignee_error, check_assignment
from dunwell.accounts.users.store import load_assignees_by_id
from dunwell.cases.modalities.limits import (
    Terms,
    check_may_request,
    is_approved_automatically,
    list_terms_faults,
)
from dunwell.cases.modalities.modality import (
    HOLD_KINDS,
    Modality,
    ModalityEndReason,
    ModalityState,
    ModalityType,
    check_answer,
)
from dunwell.cases.modalities.progress import (
    compute_end_day,
    compute_response_day,
    decide_progress,
    find_next_notice,
    local_date,
    start_of_day,
)
from dunwell.cases.modalities.store import (
    find_assignee_id,
    find_modality,
    insert_modality,
    list_assignee_ids,
    list_recent_modalities,
    load_modality_facts,
    save_approval,
    save_assignee,
    save_ends,
    save_rejection,
)
from dunwell.contact.notices.occasions.facts import DeferralFacts, PlanFacts, RejectionFacts
from dunwell.contact.notices.occasions.notify_debtor import notify_debtor
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.claim_holds import lift_holds, open_hold
from dunwell.core.claims.publish_event import publish_event
from dunwell.core.claims.states import ACTIVE, HoldKind, Status
from dunwell.core.claims.store import LockedClaim, lift_holds_of_claims
from dunwell.core.events.payloads import payment_modality_state_change
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.text.texts import check_printable
from dunwell.platform.text.translation import LazyText


def is_active_or_fulfilled(modality: Modality) -> bool:
    """Return whether the modality was approved, and is active or was fulfilled."""
    is_approved = modality.state is ModalityState.APPROVED
    return is_approved and modality.ended_reason in (None, ModalityEndReason.FULFILLED)


def build_answer_facts(
    modality: Modality, reference_number: str, answer_on: date | None = None
) -> PlanFacts | DeferralFacts | RejectionFacts:
    """Build the facts of the message about a request or the response to it. `answer_on` is the day
    by which a request is answered."""
    if modality.state is ModalityState.REJECTED:
        return RejectionFacts(
            reference_number, modality.type is ModalityType.PAYMENT_PLAN, modality.reason
        )
    is_approved = modality.state is ModalityState.APPROVED
    if modality.type is ModalityType.PAYMENT_PLAN:
        rows = tuple((each.due_on, each.amount_cents) for each in modality.schedule)
        return PlanFacts(
            reference_number=reference_number,
            currency=modality.currency,
            rows=rows,
            costs_cents=0,
            is_approved=is_approved,
            answer_on=answer_on,
        )
    until = modality.schedule[0].due_on
    return DeferralFacts(
        reference_number=reference_number,
        currency=modality.currency,
        amount_cents=modality.amount_cents,
        until=until,
        is_approved=is_approved,
        answer_on=answer_on,
    )


async def notify_of_modality(work: Work, claim: LockedClaim, modality: Modality) -> None:
    """Notify the debtor of the modality's state, once per state."""
    subject = f"{modality.modality_id} {modality.state}"
    configuration, answer_on = work.merchant.configuration, None
    if modality.state is ModalityState.REQUESTED:
        within = configuration.modalities.answer_within_days
        answer_on = compute_response_day(modality, within, configuration.timezone)
    facts = build_answer_facts(modality, claim.reference_number, answer_on)
    await notify_debtor(work, claim.claim_id, subject, facts)


# How many earlier modalities are loaded at most. A claim cannot get as many within the period that
# the limit of requests covers.
_MAX_EARLIER = 200


async def request_modality(
    work: Work, claim_id: int, terms: Terms, *, shown_cents: int | None = None
) -> Modality:
    """Request a payment plan or deferral for the claim. The request may be approved automatically.

    `shown_cents` is the outstanding amount that the page showed, or None without a page. Raises
    NotFound, InvalidState if the claim has ended, another modality has not ended or there were too
    many requests, and ValidationError with every fault of the terms, or AMOUNT_CHANGED if the
    outstanding amount is no longer the shown one.
    """
    work.require(Right.CHANGE_CLAIMS)
    claim = await lock_claim_of_merchant(work, claim_id)
    status = claim.status
    if status not in ACTIVE:
        raise InvalidState(
            "Only an active claim can be deferred or paid in instalments.", state=status
        )
    earlier = await list_recent_modalities(work.tx, work.merchant_id, claim_id, limit=_MAX_EARLIER)
    check_may_request(earlier, work.actor.kind, work.now)
    modality = await _build_modality(work, claim_id, terms, claim.currency)
    if shown_cents is not None and shown_cents != modality.amount_cents:
        message = "The outstanding amount has changed. Reload the claim."
        raise ValidationError([Fault("/amount", message, "AMOUNT_CHANGED")])
    modalities = work.merchant.configuration.modalities
    is_approved = is_approved_automatically(terms, modalities, earlier)
    if is_approved:
        modality = replace(modality, state=ModalityState.APPROVED, answered_at=work.now)
    await _insert_modality(work, modality, status)
    await open_modality_hold(work, modality)
    await publish_state_change(work, replace(modality, state=ModalityState.REQUESTED))
    if is_approved:
        await publish_state_change(work, modality)
    await notify_of_modality(work, claim, modality)
    await save_audit(
        work, "modality.request", f"claim:{claim_id}",
        after={"state": modality.state, "type": modality.type},
        modalityId=str(modality.modality_id), type=modality.type, state=modality.state,
    )  # fmt: skip
    return modality


async def open_modality_hold(work: Work, modality: Modality) -> None:
    """Open the hold of a modality.

    The hold of a request lasts until the response, that of a deferral until its day is over. The
    hold of a plan has no end date: it lasts while the plan is active and, after a break, until the
    debtor has been notified.
    """
    if modality.state is ModalityState.REQUESTED:
        await open_hold(work, modality.claim_id, HoldKind.MODALITY_REQUESTED)
        return
    until = None
    if modality.type is ModalityType.PAYMENT_DEFEREMENT:
        end_on = compute_end_day(modality.type, modality.schedule)
        until = start_of_day(end_on, work.merchant.configuration.timezone)
    await open_hold(work, modality.claim_id, HoldKind.MODALITY_ACTIVE, until=until)


async def publish_state_change(work: Work, modality: Modality) -> None:
    """Publish PAYMENT_MODALITY_STATE_CHANGE with the state of the given modality."""
    await publish_event(
        work,
        modality.claim_id,
        lambda head: payment_modality_state_change(
            head, modality.type.value, modality.state.value, modality.modality_id
        ),
    )


async def _build_modality(work: Work, claim_id: int, terms: Terms, currency: str) -> Modality:
    configuration = work.merchant.configuration
    facts = await load_modality_facts(work.tx, work.merchant_id, claim_id)
    today = local_date(work.now, configuration.timezone)
    faults = list_terms_faults(terms, configuration.modalities, facts, today)
    if faults:
        raise ValidationError(faults)
    return Modality(
        modality_id=work.ids.new(work.now),
        claim_id=claim_id,
        type=terms.type,
        state=ModalityState.REQUESTED,
        currency=currency,
        amount_cents=facts.outstanding_cents,
        schedule=terms.schedule(facts.outstanding_cents),
        paid_cents=0,
        requested_at=work.now,
        actor_kind=work.actor.kind,
    )


async def _insert_modality(work: Work, modality: Modality, status: Status) -> None:
    zone = work.merchant.configuration.timezone
    next_check_on = decide_progress(modality, status, local_date(work.now, zone))
    assert not isinstance(next_check_on, ModalityEndReason)
    next_check_at = start_of_day(next_check_on, zone)
    check_at = min(next_check_at, find_next_notice(modality, work.now, zone) or next_check_at)
    await insert_modality(
        work.tx, work.merchant_id, modality, actor_id=work.actor.actor_id, check_at=check_at
    )


async def approve_modality(work: Work, claim_id: int, modality_id: UUID) -> Modality:
    """Approve a request. Repeating it changes nothing. Raises NotFound and InvalidState (see
    `_lock_request`)."""
    work.require(Right.ANSWER)
    claim, requested, is_new = await _lock_request(
        work, claim_id, modality_id, ModalityState.APPROVED
    )
    if not is_new:
        return requested
    approved = replace(requested, state=ModalityState.APPROVED, answered_at=work.now)
    await save_approval(work.tx, work.merchant_id, modality_id, work.now)
    # The new hold is opened first, so that the claim is never without a hold.
    await open_modality_hold(work, approved)
    await lift_holds(work, claim_id, HoldKind.MODALITY_REQUESTED)
    await publish_state_change(work, approved)
    await notify_of_modality(work, claim, approved)
    await _audit_change(work, "modality.approve", requested, approved)
    return approved


async def reject_modality(
    work: Work, claim_id: int, modality_id: UUID, *, reason: str | None = None
) -> Modality:
    """Reject a request. `reason` is for the debtor. Repeating it changes nothing, even with another
    reason.

    Raises ValidationError (control characters), NotFound and InvalidState (see `_lock_request`).
    """
    work.require(Right.ANSWER)
    check_printable(reason, "reason")
    claim, requested, is_new = await _lock_request(
        work, claim_id, modality_id, ModalityState.REJECTED
    )
    if not is_new:
        return requested
    rejected = replace(
        requested,
        state=ModalityState.REJECTED,
        answered_at=work.now,
        reason=reason,
        ended_at=work.now,
        ended_reason=ModalityEndReason.REJECTED,
    )
    await save_rejection(
        work.tx, work.merchant_id, modality_id=modality_id, now=work.now, reason=reason
    )
    await lift_holds(work, claim_id, HoldKind.MODALITY_REQUESTED)
    await publish_state_change(work, rejected)
    await notify_of_modality(work, claim, rejected)
    await _audit_change(work, "modality.reject", requested, rejected)
    return rejected


async def withdraw_modality(work: Work, claim_id: int, modality_id: UUID) -> Modality:
    """Withdraw the modality for the debtor. Repeating it changes nothing. Raises NotFound, and
    InvalidState if it has ended differently."""
    work.require(Right.CHANGE_CLAIMS)
    _, modality = await _lock_modality(work, claim_id, modality_id)
    if modality.ended_reason is ModalityEndReason.WITHDRAWN:
        return modality
    if modality.ended_reason is not None:
        raise InvalidState(
            LazyText(
                "The payment modality has already ended.",
                modality_end=modality.ended_reason,
            ),
            state=str(modality.ended_reason),
        )
    await save_ends(work.tx, work.merchant_id, work.now, {modality_id: ModalityEndReason.WITHDRAWN})
    await lift_holds_of_claims(
        work.tx, work.merchant_id, claim_ids=[claim_id], kinds=HOLD_KINDS, now=work.now
    )
    withdrawn = replace(modality, ended_at=work.now, ended_reason=ModalityEndReason.WITHDRAWN)
    await _audit_change(work, "modality.withdraw", modality, withdrawn)
    return withdrawn


async def _audit_change(work: Work, action: str, before: Modality, after: Modality) -> None:
    values_before, values_after = select_changed_fields(
        _build_audit_values(before), _build_audit_values(after)
    )
    await save_audit(
        work, action, f"claim:{after.claim_id}",
        before=values_before, after=values_after, modalityId=str(after.modality_id),
    )  # fmt: skip


def _build_audit_values(modality: Modality) -> dict[str, object]:
    """Return the audited values. The reason is masked, because it is the merchant's message to the
    debtor."""
    reason = None if modality.reason is None else MASKED
    return {"state": modality.state, "endedReason": modality.ended_reason, "reason": reason}


async def _lock_modality(
    work: Work, claim_id: int, modality_id: UUID
) -> tuple[LockedClaim, Modality]:
    """Return the locked claim and the modality. Raises NotFound."""
    claim = await lock_claim_of_merchant(work, claim_id)
    modality = await find_modality(work.tx, work.merchant_id, claim_id, modality_id)
    if modality is None:
        raise NotFound(f"There is no payment modality {modality_id}.")
    return claim, modality


async def _lock_request(
    work: Work, claim_id: int, modality_id: UUID, answer: ModalityState
) -> tuple[LockedClaim, Modality, bool]:
    """Return the locked claim, the modality, and whether the response changes anything.

    Raises NotFound, and InvalidState if the other response was given or the modality has ended,
    even if that is not recorded yet.
    """
    claim, modality = await _lock_modality(work, claim_id, modality_id)
    if not check_answer(modality, answer):
        return claim, modality, False
    today = local_date(work.now, work.merchant.configuration.timezone)
    progress = decide_progress(modality, claim.status, today)
    if isinstance(progress, ModalityEndReason):
        raise InvalidState(_explain_end(progress, claim.status), state=str(progress))
    return claim, modality, True


def _explain_end(reason: ModalityEndReason, status: Status) -> LazyText:
    if reason is ModalityEndReason.PASSED:
        return LazyText("The first requested date has passed, so the request has ended.")
    return LazyText(
        "It is no longer possible to respond to the request: the claim is %(claim_status)s.",
        claim_status=status,
    )


async def assign_modality(
    work: Work,
    claim_id: int,
    modality_id: UUID,
    assignee_id: UUID | None,
    *,
    expected_id: UUID | None,
) -> None:
    """Assign a request. Assigning it to its present assignee changes nothing.

    `expected_id` is the assignee that the user saw. Raises NotFound, InvalidState if the request is
    not open, EditConflict if it has another assignee, and ValidationError if the new assignee may
    not respond here.
    """
    work.require(Right.ANSWER)
    await lock_claim_of_merchant(work, claim_id)
    modality = await find_modality(work.tx, work.merchant_id, claim_id, modality_id)
    if modality is None:
        raise NotFound(f"There is no payment modality {modality_id}.")
    if modality.state is not ModalityState.REQUESTED or modality.ended_at is not None:
        raise InvalidState("The request can no longer be answered.", state=str(modality.state))
    assignee = None
    if assignee_id is not None:
        assignee = (await load_assignees_by_id(work.tx, work.merchant_id, [assignee_id])).get(
            assignee_id
        )
        if assignee is None:
            raise build_assignee_error()
    current = await find_assignee_id(work.tx, work.merchant_id, modality_id)
    if not check_assignment(current, expected_id, assignee):
        return
    await save_assignee(work.tx, work.merchant_id, modality_id, assignee_id)
    await save_audit(
        work, "modality.assign", f"claim:{claim_id}",
        before={"assignee": current and str(current)},
        after={"assignee": assignee_id and str(assignee_id)},
        modalityId=str(modality_id),
    )  # fmt: skip


async def list_assignees(work: Work, modality_ids: Collection[UUID]) -> Mapping[UUID, Assignee]:
    """Return the assignees by modality id, for modalities that have one."""
    work.require(Right.READ_CLAIMS)
    assignee_ids = await list_assignee_ids(work.tx, work.merchant_id, modality_ids)
    assignees = await load_assignees_by_id(work.tx, work.merchant_id, set(assignee_ids.values()))
    return {modality_id: assignees[user_id] for modality_id, user_id in assignee_ids.items()}
