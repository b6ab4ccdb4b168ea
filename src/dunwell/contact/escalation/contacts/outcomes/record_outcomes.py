"""Record the outcomes of contacts: their states, the ledger entries, the ESCALATED events and how
each claim continues. An operator resolves contacts of unknown outcome here as well."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.escalation.contacts.outcomes.settlement import (
    ATTACHMENT_MISSING,
    ContactAccepted,
    ContactSettlement,
    FailContact,
    OutcomeUnknown,
    RepeatCall,
    RetryContact,
    UndoHandOver,
    UseFallback,
)
from dunwell.contact.escalation.contacts.outcomes.store import (
    ContactClaim,
    ContactWithClaim,
    OutcomeRows,
    get_contact_state,
    lock_claims_of_contacts,
    lock_contact,
    save_outcomes,
)
from dunwell.contact.escalation.prepared_workflow import PreparedWorkflow, get_prepared_workflow
from dunwell.contact.escalation.schedule import SkipReason
from dunwell.contact.messages.contact import LeasedContact
from dunwell.contact.messages.guards.store import free_contact_days
from dunwell.contact.sending.report import find_destination
from dunwell.core.claims.states import ACTIVE
from dunwell.core.events.body import EventActionStep
from dunwell.core.events.event_log import save_events
from dunwell.core.events.payloads import Event, EventHead, escalated
from dunwell.core.workflows.store import load_newest
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.text.translation import LazyText

# The reason stored with a retry that is cancelled.
_CANCELLED = "The claim was paid, ended or reassigned while this was being sent."
# States in which the debtor was not contacted. The guards no longer count the day of such a
# contact.
_STATES_WITHOUT_CONTACT = ("PLANNED", "CANCELLED", "FAILED")
# Temporary failures and repeated calls add no ledger entry.
_LEDGER_OUTCOMES = {"ACCEPTED": "ACCEPTED", "FAILED": "REFUSED", "UNKNOWN": "UNKNOWN"}


@dataclass(frozen=True, slots=True)
class AnsweredContact:
    contact: LeasedContact
    settlement: ContactSettlement
    workflow: PreparedWorkflow
    version_id: UUID
    # True if an operator resolved the contact, rather than its channel.
    is_by_operator: bool = False


AnsweredPair = tuple[AnsweredContact, ContactClaim]


async def record_outcomes(work: Work, answered: Sequence[AnsweredContact], lease_id: UUID) -> int:
    """Record outcomes and return their number. Contacts whose lease another worker has taken over
    are skipped."""
    settled = 0
    for group in _split_by_claim(answered):
        settled += await _record_group(work, group, lease_id)
    await save_audit(work, "contacts.settle", f"merchant:{work.merchant_id}", contacts=settled)
    return settled


def _split_by_claim(answered: Sequence[AnsweredContact]) -> list[list[AnsweredContact]]:
    """Split contacts into groups that contain each claim once. Two contacts of one claim (of two
    runs) both change the claim and are recorded one after the other. There is usually one group."""
    groups: list[dict[int, AnsweredContact]] = []
    for each in answered:
        claim_id = each.contact.claim_id
        group = next((group for group in groups if claim_id not in group), None)
        if group is None:
            groups.append(group := {})
        group[claim_id] = each
    return [list(group.values()) for group in groups]


async def _record_group(work: Work, answered: Sequence[AnsweredContact], lease_id: UUID) -> int:
    ids = [each.contact.communication_id for each in answered]
    claims = await lock_claims_of_contacts(work.tx, work.merchant_id, ids, lease_id)
    pairs = [
        (each, claims[each.contact.communication_id])
        for each in answered
        if each.contact.communication_id in claims
    ]
    if pairs:
        await record_answers(work, pairs)
    return len(pairs)


async def record_answers(work: Work, pairs: Sequence[AnsweredPair]) -> None:
    """Write the outcomes of contacts that are locked with their claims. No claim may occur
    twice."""
    contacts = [_build_contact_row(work, *pair) for pair in pairs]
    rows = OutcomeRows(
        contacts=contacts,
        positions=[row for pair in pairs for row in _build_position_rows(work, *pair)],
        history=[row for pair in pairs for row in _build_history_rows(*pair)],
        fallbacks=[row for pair in pairs for row in _build_fallback_rows(work, *pair)],
    )
    await save_outcomes(work.tx, work.merchant_id, work.now, rows)
    without_contact = [
        contact_id for contact_id, state, *_ in contacts if state in _STATES_WITHOUT_CONTACT
    ]
    await free_contact_days(work.tx, work.merchant_id, without_contact)
    events = [event for pair in pairs for event in _compose_events(work, *pair)]
    await save_events(work.tx, work.merchant_id, events, work.real_now)


def _build_contact_row(
    work: Work, answered: AnsweredContact, claim: ContactClaim
) -> tuple[Any, ...]:
    """Return the contact's id, its new state, its ledger entry, the provider and destination, and
    whether the channel was called."""
    state, *rest = _compute_state(answered, claim, work.real_now)
    outcome = _find_ledger_outcome(answered, state)
    setup = work.merchant.configuration.channels.get(answered.contact.channel)
    provider = setup.provider if setup else None
    settlement = answered.settlement
    answer = settlement.answer if isinstance(settlement, ContactAccepted) else None
    entry_id = work.ids.new(work.now)
    destination = find_destination(answered.contact) if provider else None
    delivery = (provider, answer, destination, not isinstance(settlement, UndoHandOver))
    return (answered.contact.communication_id, state, *rest, entry_id, outcome, *delivery)


def _compute_state(
    answered: AnsweredContact, claim: ContactClaim, real_now: datetime
) -> tuple[Any, ...]:
    """Return the state, the failure, the earliest next attempt, the end of the lease, and whether
    the state is final."""
    is_awaited = _still_waits_for(answered, claim)
    match answered.settlement:
        case ContactAccepted():
            return ("ACCEPTED", None, None, None, True)
        case RetryContact(at, reason) | UndoHandOver(at, reason) if is_awaited:
            return ("PLANNED", reason or None, at, None, False)
        case RetryContact() | UndoHandOver():
            # The claim was paid, ended or reassigned in the meantime.
            return ("CANCELLED", _CANCELLED, None, None, True)
        case UseFallback(reason=reason) | FailContact(reason=reason):
            return ("FAILED", reason, None, None, True)
        case RepeatCall(after) if is_awaited:
            return ("HANDED_OVER", None, None, real_now + after, False)
        case RepeatCall() | OutcomeUnknown():
            return ("UNKNOWN", None, None, None, False)


def _find_ledger_outcome(answered: AnsweredContact, state: str) -> str | None:
    """Return the outcome for the ledger, or None if the new state adds no ledger entry."""
    if answered.is_by_operator:
        was_sent = isinstance(answered.settlement, ContactAccepted)
        return "SETTLED_SENT" if was_sent else "SETTLED_NOT_SENT"
    return _LEDGER_OUTCOMES.get(state)


def _build_position_rows(
    work: Work, answered: AnsweredContact, claim: ContactClaim
) -> list[tuple[Any, ...]]:
    """Return the claim's next position. A claim that was reassigned in the meantime keeps its
    position. An ended claim moves past the step, in case it is reopened, but is not due."""
    new_events = 1 if isinstance(answered.settlement, ContactAccepted) else 0
    next_step_id, due_at = claim.next_step_id, claim.due_at
    ends_step = isinstance(answered.settlement, ContactAccepted | FailContact)
    if ends_step and _waits_for(answered, claim):
        if next_step_id == answered.contact.step_id:
            next_index = answered.workflow.index_of(answered.contact.step_id) + 1
            next_step_id = answered.workflow.id_at(next_index)
        due_at = work.now if claim.status in ACTIVE else None
    elif not new_events:
        return []
    return [(answered.contact.claim_id, next_step_id, due_at, claim.event_sequence + new_events)]


def _waits_for(answered: AnsweredContact, claim: ContactClaim) -> bool:
    """Return whether the claim waits for this contact: at the contact's step or, if a reported
    failure started a fallback, at a later step."""
    return claim.run == answered.contact.run and claim.due_at is None


def _still_waits_for(answered: AnsweredContact, claim: ContactClaim) -> bool:
    return claim.status in ACTIVE and _waits_for(answered, claim)


def _build_history_rows(answered: AnsweredContact, claim: ContactClaim) -> list[tuple[Any, ...]]:
    """Return the history row of a contact that ended its step. It names the version under which the
    message was sent, even if a new minor version was published in the meantime."""
    contact, version_id = answered.contact, claim.sent_version_id or answered.version_id
    key = (contact.claim_id, contact.run, contact.step_id, version_id)
    if isinstance(answered.settlement, ContactAccepted):
        return [(*key, "DONE", contact.channel)]
    if isinstance(answered.settlement, FailContact):
        if answered.settlement.reason == SkipReason.TOO_LATE:
            return [(*key, "SKIPPED", SkipReason.TOO_LATE)]
        is_missing = answered.settlement.reason == ATTACHMENT_MISSING
        return [(*key, "FAILED", ATTACHMENT_MISSING if is_missing else "NOBODY_REACHABLE")]
    return []


def _build_fallback_rows(
    work: Work, answered: AnsweredContact, claim: ContactClaim
) -> list[tuple[Any, ...]]:
    """Return the row of the fallback contact, if the claim still waits for the failed contact."""
    if not isinstance(answered.settlement, UseFallback) or not _still_waits_for(answered, claim):
        return []
    contact, fallback = answered.contact, answered.settlement.following
    return [
        (
            work.ids.new(work.now), contact.claim_id, contact.run, contact.step_id,
            fallback.place, fallback.channel,
        )
    ]  # fmt: skip


def _compose_events(work: Work, answered: AnsweredContact, claim: ContactClaim) -> list[Event]:
    if not isinstance(answered.settlement, ContactAccepted):
        return []
    contact = answered.contact
    # A scenario is edited in place and may have lost the step.
    names = {step.id: step.name for step in answered.workflow.steps}
    step = EventActionStep(contact.step_id, names.get(contact.step_id, f"Step {contact.step_id}"))
    head = EventHead(
        event_id=work.ids.new(work.now),
        merchant_id=work.merchant_id,
        claim_id=contact.claim_id,
        sequence=claim.event_sequence + 1,
        occurred_at=work.now,
        reference_number=contact.reference_number,
        customer_number=contact.customer_number,
    )
    return [escalated(head, step, contact.channel, contact.communication_id)]


async def resolve_unknown_contact(work: Work, communication_id: UUID, *, was_sent: bool) -> str:
    """Record an operator's decision whether a contact was sent (`was_sent`), and return the new
    state of the contact. Raises NotFound, and InvalidState if the outcome is not unknown."""
    work.require(Right.CONTACT_SETTINGS)
    locked = await lock_contact(work.tx, work.merchant_id, communication_id)
    if locked is None:
        raise NotFound(f"There is no communication {communication_id}.")
    if locked.state != "UNKNOWN":
        raise InvalidState(
            LazyText(
                "Communication %(communication_id)s is %(message_state)s; only a communication "
                "that is UNKNOWN can be resolved.",
                communication_id=communication_id,
                message_state=locked.state,
            ),
            state=locked.state,
        )
    answered = await _build_operator_answer(work, locked, was_sent=was_sent)
    await record_answers(work, [(answered, locked.claim)])
    outcome = "SENT" if was_sent else "NOT_SENT"
    await save_audit(
        work, "contact.settle", f"claim:{locked.contact.claim_id}",
        before={"state": locked.state}, after={"state": outcome},
        communicationId=str(communication_id), outcome=outcome,
    )  # fmt: skip
    return await get_contact_state(work.tx, work.merchant_id, communication_id)


async def _build_operator_answer(
    work: Work, locked: ContactWithClaim, *, was_sent: bool
) -> AnsweredContact:
    """Treat the operator's decision like an answer of the channel: the message was accepted
    (`was_sent`), or is sent again at once."""
    key, version_id = locked.contact.workflow_key, locked.claim.sent_version_id
    assert version_id is not None
    versions = await load_newest(work.tx, work.merchant_id, {key})
    workflow = get_prepared_workflow(versions[key], work.merchant.configuration)
    settlement = ContactAccepted() if was_sent else RetryContact(work.now)
    return AnsweredContact(locked.contact, settlement, workflow, version_id, is_by_operator=True)
