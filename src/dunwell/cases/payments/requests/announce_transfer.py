"""Bank transfers that debtors announce. The claim's workflow stops until the money is recorded or
the waiting time is over."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.choice import PaymentChoice
from dunwell.cases.payments.requests.live_requests import (
    audit_request,
    check_choice,
    refresh_live_requests,
)
from dunwell.cases.payments.requests.request_states import BANK_TRANSFER, PaymentRequestState
from dunwell.cases.payments.requests.store import (
    StoredPaymentRequest,
    insert_request,
    open_request_hold,
)
from dunwell.contact.escalation.contacts.sending_hours import get_day_calendar
from dunwell.contact.notices.occasions.facts import TransferFacts
from dunwell.contact.notices.occasions.notify_debtor import notify_debtor
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.publish_event import publish_event
from dunwell.core.claims.states import ACTIVE
from dunwell.core.claims.store import LockedClaim
from dunwell.core.events.payloads import EventPaymentData, payment_in_progress
from dunwell.platform.banking_days import compute_recorded_on
from dunwell.platform.errors import Fault, InvalidState, ValidationError

_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class AnnouncedTransfer:
    # What the debtor has paid by the transfer.
    choice: PaymentChoice
    # The day of the transfer in the merchant's time zone.
    sent_on: date


async def announce_transfer(work: Work, claim_id: int, transfer: AnnouncedTransfer) -> UUID:
    """Record an announced transfer and return the id of its payment request. If the claim already
    has an announced transfer, return the id of that one's request.

    Raises NotFound, InvalidState if the claim has ended, the merchant has no bank account, another
    payment is on its way or the debtor used up the holds of the last 30 days, and ValidationError
    with the codes IN_FUTURE, TOO_EARLY and AMOUNT_CHANGED.
    """
    work.require(Right.CHANGE_CLAIMS)
    claim = await lock_claim_of_merchant(work, claim_id)
    _check_claim(work, claim)
    live = await refresh_live_requests(work, claim_id)
    for request in live:
        if request.provider == BANK_TRANSFER:
            return request.request_id
    if any(request.state is PaymentRequestState.PENDING for request in live):
        raise InvalidState(
            "Another payment is already in progress.", state=PaymentRequestState.PENDING
        )
    await check_choice(work, claim_id, transfer.choice)
    until = _compute_hold_end(work, transfer.sent_on)
    request = _build_request(work, claim, transfer)
    await open_request_hold(work, request, until)
    await insert_request(work.tx, work.merchant_id, request, next_check_at=None)
    payment = EventPaymentData(
        BANK_TRANSFER, request.amount_cents, request.currency, request.request_id
    )
    await publish_event(
        work, claim_id, lambda head: payment_in_progress(head, payment, request.reference)
    )
    await _notify_debtor(work, request, transfer.sent_on)
    await audit_request(work, "announce", request)
    return request.request_id


async def _notify_debtor(work: Work, request: StoredPaymentRequest, sent_on: date) -> None:
    facts = TransferFacts(
        reference_number=request.reference,
        currency=request.currency,
        amount_cents=request.amount_cents,
        sent_on=sent_on,
        known_on=compute_recorded_on(sent_on),
    )
    await notify_debtor(work, request.claim_id, str(request.request_id), facts)


def _check_claim(work: Work, claim: LockedClaim) -> None:
    if claim.status not in ACTIVE:
        message = "This claim can no longer be paid."
        raise InvalidState(message, state=claim.status)
    if work.merchant.configuration.payment.bank_account is None:
        raise InvalidState("This merchant does not accept bank transfers.", state="NO_BANK_ACCOUNT")


def compute_transfer_hold_end(sent_on: date, timezone: str) -> datetime:
    """Return the end of the day on which the transfer should be recorded at the latest. `sent_on`
    and the days are those of the merchant's `timezone`."""
    return get_day_calendar(timezone).start_of(compute_recorded_on(sent_on) + _ONE_DAY)


def _compute_hold_end(work: Work, sent_on: date) -> datetime:
    """Return the end of the hold. Raises ValidationError if the day of the transfer is not
    plausible."""
    timezone = work.merchant.configuration.timezone
    today = get_day_calendar(timezone).local_date(work.now)
    if sent_on > today:
        message = "The day of the transfer must not be in the future."
        raise ValidationError([Fault("/sentOn", message, "IN_FUTURE")])
    until = compute_transfer_hold_end(sent_on, timezone)
    if until <= work.now:
        message = "A transfer of that day would already have arrived."
        raise ValidationError([Fault("/sentOn", message, "TOO_EARLY")])
    return until


def _build_request(
    work: Work, claim: LockedClaim, transfer: AnnouncedTransfer
) -> StoredPaymentRequest:
    return StoredPaymentRequest(
        request_id=work.ids.new(work.real_now),
        claim_id=claim.claim_id,
        provider=BANK_TRANSFER,
        provider_name=BANK_TRANSFER,
        amount_cents=transfer.choice.cents,
        currency=claim.currency,
        reference=claim.reference_number,
        state=PaymentRequestState.PENDING,
        provider_reference=None,
        checkout_url=None,
        created_at=work.real_now,
        settled_at=None,
        checks=0,
        item_ids=transfer.choice.item_ids,
        sent_on=transfer.sent_on,
    )
