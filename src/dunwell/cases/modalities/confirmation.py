"""What is told of a plan or a deferment that was asked for or answered, by message and on paper."""

from datetime import date

from dunwell.accounts.merchants.account import Work
from dunwell.cases.modalities.modality import EndReason, Modality, ModalityState, ModalityType
from dunwell.cases.modalities.progress import find_request_answer_day
from dunwell.contact.notices.occasions.facts import DefermentFacts, PlanFacts, RejectionFacts
from dunwell.contact.notices.occasions.tell_debtor import tell_debtor
from dunwell.core.claims.store import LockedClaim


def is_agreed(modality: Modality) -> bool:
    """Whether what was agreed still holds, or was kept."""
    is_kept = modality.ended_reason in (None, EndReason.FULFILLED)
    return modality.state is ModalityState.APPROVED and is_kept


def tell_answer(
    modality: Modality, reference_number: str, answer_on: date | None = None
) -> PlanFacts | DefermentFacts | RejectionFacts:
    """answer_on: by when a request is answered."""
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
    return DefermentFacts(
        reference_number=reference_number,
        currency=modality.currency,
        amount_cents=modality.amount_cents,
        until=until,
        is_approved=is_approved,
        answer_on=answer_on,
    )


async def tell_modality(work: Work, claim: LockedClaim, modality: Modality) -> None:
    """That it was asked for, or how that was answered; of each state once."""
    subject = f"{modality.modality_id} {modality.state}"
    configuration, answer_on = work.merchant.configuration, None
    if modality.state is ModalityState.REQUESTED:
        within = configuration.modalities.answer_within_days
        answer_on = find_request_answer_day(modality, within, configuration.timezone)
    facts = tell_answer(modality, claim.reference_number, answer_on)
    await tell_debtor(work, claim.claim_id, subject, facts)
