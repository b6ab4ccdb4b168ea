"""Asks for a payment plan or a deferment of a claim; its process stops until that is answered.

Within the merchant's bounds only. Where the merchant takes such requests without looking, it is
approved in the same breath, with both events. What is outstanding now is shared out; what is added
to the claim later is no part of it.
"""

from msgspec.structs import replace

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.modalities.bounds import (
    Terms,
    check_may_ask,
    find_terms_faults,
    is_approved_at_once,
)
from dunwell.cases.modalities.confirmation import tell_modality
from dunwell.cases.modalities.modality import EndReason, Modality, ModalityState, ModalityType
from dunwell.cases.modalities.progress import decide_course, find_end, local_date, start_of_day
from dunwell.cases.modalities.reminding import find_next_notice
from dunwell.cases.modalities.store import load_claim_facts, load_modalities, save_modality
from dunwell.core.claims.access import access_claim
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.holds import HoldKind
from dunwell.core.claims.raise_event import raise_event
from dunwell.core.claims.states import ACTIVE, Status
from dunwell.core.events.payloads import payment_modality_state_change
from dunwell.platform.errors import Fault, InvalidState, ValidationError

# Of a claim's earlier modalities; more than anybody can have asked for in the interval that counts.
_EARLIER = 200


async def request_modality(
    work: Work, claim_id: int, terms: Terms, *, shown_cents: int | None = None
) -> Modality:
    """shown_cents: what was outstanding when the terms were looked at; None: they were not.

    Raises NotFound, InvalidState (claim ended, another modality lives, asked too often) and
    ValidationError with every fault of the terms, or for another amount than the shown one
    (AMOUNT_CHANGED).
    """
    work.need(Right.CHANGE_CLAIMS)
    claim = await access_claim(work, claim_id)
    status = claim.status
    if status not in ACTIVE:
        raise InvalidState("Only a claim in process can be paid later or in rates.", state=status)
    earlier = await load_modalities(work.tx, work.merchant_id, claim_id, limit=_EARLIER)
    check_may_ask(earlier, work.actor.kind, work.now)
    modality = await _compose(work, claim_id, terms, claim.currency)
    if shown_cents is not None and shown_cents != modality.amount_cents:
        message = "The outstanding amount has changed meanwhile. Look at the claim again."
        raise ValidationError([Fault("/amount", message, "AMOUNT_CHANGED")])
    modalities = work.merchant.configuration.modalities
    is_approved = is_approved_at_once(terms, modalities, earlier)
    if is_approved:
        modality = replace(modality, state=ModalityState.APPROVED, answered_at=work.now)
    await _save(work, modality, status)
    await open_modality_hold(work, modality)
    await announce(work, replace(modality, state=ModalityState.REQUESTED))
    if is_approved:
        await announce(work, modality)
    await tell_modality(work, claim, modality)
    await save_audit(
        work, "modality.request", f"claim:{claim_id}",
        after={"state": modality.state, "type": modality.type},
        modalityId=str(modality.modality_id), type=modality.type, state=modality.state,
    )  # fmt: skip
    return modality


async def open_modality_hold(work: Work, modality: Modality) -> None:
    """A request holds until it is answered, a deferment until its day is over. A plan holds as long
    as it is in force and, if it breaks, until that was told: it has no end of its own that could
    come before."""
    if modality.state is ModalityState.REQUESTED:
        await open_hold(work, modality.claim_id, HoldKind.MODALITY_REQUESTED)
        return
    until = None
    if modality.type is ModalityType.PAYMENT_DEFEREMENT:
        end_on = find_end(modality.type, modality.schedule)
        until = start_of_day(end_on, work.merchant.configuration.timezone)
    await open_hold(work, modality.claim_id, HoldKind.MODALITY_ACTIVE, until=until)


async def announce(work: Work, modality: Modality) -> None:
    """PAYMENT_MODALITY_STATE_CHANGE with the modality's state as it is given."""
    await raise_event(
        work,
        modality.claim_id,
        lambda head: payment_modality_state_change(
            head, modality.type.value, modality.state.value, modality.modality_id
        ),
    )


async def _compose(work: Work, claim_id: int, terms: Terms, currency: str) -> Modality:
    configuration = work.merchant.configuration
    facts = await load_claim_facts(work.tx, work.merchant_id, claim_id)
    today = local_date(work.now, configuration.timezone)
    faults = find_terms_faults(terms, configuration.modalities, facts, today)
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


async def _save(work: Work, modality: Modality, status: Status) -> None:
    zone = work.merchant.configuration.timezone
    look_on = decide_course(modality, status, local_date(work.now, zone))
    assert not isinstance(look_on, EndReason)
    look_at = start_of_day(look_on, zone)
    check_at = min(look_at, find_next_notice(modality, work.now, zone) or look_at)
    await save_modality(
        work.tx, work.merchant_id, modality, actor_id=work.actor.actor_id, check_at=check_at
    )
