"""The live payment requests of a claim: find, insert, complete, replace and cancel them.

No provider can report on an announced bank transfer, so its request lives as long as its hold. A
request that is cancelled while its checkout is open is still checked at the provider, because the
debtor can still pay there.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.configuration import PaymentMeans
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.modalities.modality import find_open_instalment
from dunwell.cases.modalities.store import list_live_modalities
from dunwell.cases.payments.choice import (
    PaymentChoice,
    PaymentChoiceKind,
    allow_instalment,
    is_choice_allowed,
)
from dunwell.cases.payments.provider import PaymentProvider, PaymentProviders
from dunwell.cases.payments.requests.request_states import (
    BANK_TRANSFER,
    LIVE_STATES,
    PaymentRequestState,
    decide_next_check,
)
from dunwell.cases.payments.requests.store import (
    StoredPaymentRequest,
    find_request,
    insert_request,
    lift_request_hold,
    list_expired_open_requests,
    list_live_requests,
    lock_request,
    save_request_state,
)
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.states import ACTIVE, HoldKind
from dunwell.core.claims.store import LockedClaim, load_holds, load_items, lock_claim
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources


async def refresh_live_requests(work: Work, claim_id: int) -> Sequence[StoredPaymentRequest]:
    """Return the claim's live requests after expiring announced transfers whose hold has ended. The
    claim must be locked."""
    live = await list_live_requests(work.tx, work.merchant_id, claim_id)
    transfers = [request for request in live if request.provider == BANK_TRANSFER]
    if not transfers or await _has_payment_hold(work, claim_id):
        return live
    for request in transfers:
        await _end_transfer(work, request, PaymentRequestState.EXPIRED)
    return [request for request in live if request.provider != BANK_TRANSFER]


async def find_matching_transfer(
    work: Work, claim_id: int, amount_cents: int
) -> StoredPaymentRequest | None:
    """Return the announced transfer that a payment of this amount covers, or None. Announced
    transfers whose hold has ended are expired first. The claim must be locked."""
    live = await refresh_live_requests(work, claim_id)
    transfers = (each for each in live if each.provider == BANK_TRANSFER)
    return next((each for each in transfers if each.amount_cents <= amount_cents), None)


async def complete_transfer(work: Work, request: StoredPaymentRequest) -> None:
    """Complete an announced transfer and lift its hold. No event is published, because the merchant
    has recorded the payment and knows of it."""
    await lift_request_hold(work, request)
    await _end_transfer(work, request, PaymentRequestState.COMPLETED)


async def _end_transfer(
    work: Work, request: StoredPaymentRequest, state: PaymentRequestState
) -> None:
    await save_request_state(
        work.tx,
        work.merchant_id,
        request.request_id,
        state,
        now=work.real_now,
        keeps_checking=False,
    )


async def _has_payment_hold(work: Work, claim_id: int) -> bool:
    holds = await load_holds(work.tx, work.merchant_id, claim_id)
    return any(hold.kind is HoldKind.PAYMENT_PENDING and hold.is_active(work.now) for hold in holds)


async def check_choice(work: Work, claim_id: int, choice: PaymentChoice) -> None:
    """Check that the merchant accepts the choice and that its total is still right. Raises
    ValidationError (AMOUNT_CHANGED) in either case."""
    items = await load_items(work.tx, work.merchant_id, claim_id)
    partial = work.merchant.configuration.payment.partial
    if choice.kind is PaymentChoiceKind.PART:
        partial = allow_instalment(partial, await _load_instalment_cents(work, claim_id))
    if not is_choice_allowed(partial, items, choice):
        message = "The amount due has changed. Reload the claim."
        raise ValidationError([Fault("/amount", message, "AMOUNT_CHANGED")])


async def _load_instalment_cents(work: Work, claim_id: int) -> int | None:
    """Return what is left of the next instalment of the claim's plan, or None if there is no active
    plan."""
    for modality, _, _ in await list_live_modalities(work.tx, work.merchant_id, [claim_id]):
        instalment = find_open_instalment(modality)
        if instalment is not None:
            return instalment.left_cents
    return None


@dataclass(frozen=True, slots=True)
class PaymentIntent:
    """What the debtor wants to pay, and how."""

    # The name of the provider's account.
    provider: str
    # The amount that the page showed the debtor.
    amount_cents: int
    # The page to which the provider returns the debtor. "{request_id}" in it is replaced.
    return_url: str
    # None means the merchant's language.
    language: str | None = None
    # Whether the debtor pays the whole claim, a part, or the items in `item_ids`.
    kind: PaymentChoiceKind = PaymentChoiceKind.WHOLE
    item_ids: tuple[int, ...] = ()
    # The means of payment that the debtor chose; None lets the provider ask.
    means: PaymentMeans | None = None

    @property
    def choice(self) -> PaymentChoice:
        return PaymentChoice(self.kind, self.amount_cents, self.item_ids)


@dataclass(frozen=True, slots=True)
class PaymentAttempt:
    """One click of the debtor: the values that all its transactions share."""

    resources: Resources
    providers: PaymentProviders
    provider: PaymentProvider
    merchant_id: int
    actor: Actor
    claim_id: int
    intent: PaymentIntent

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Work]:
        """Open a transaction with the merchant's current row, because a sandbox clock may have
        moved."""
        async with self.resources.database.transaction() as tx:
            merchant = await load_merchant(tx, self.merchant_id)
            if merchant is None:
                raise NotFound(f"There is no claim {self.claim_id}.")
            yield Work.open(self.resources, tx, merchant, self.actor)


async def find_or_insert_request(attempt: PaymentAttempt) -> StoredPaymentRequest:
    """Return the claim's live request at the provider, or insert a new one.

    A request in state OPEN may be for another payment than the debtor wants now. The caller has to
    check it at the provider, because it may have been paid. Raises NotFound, InvalidState and
    ValidationError (AMOUNT_CHANGED).
    """
    async with attempt.transaction() as work:
        claim = await lock_claim_of_merchant(work, attempt.claim_id)
        if claim.status not in ACTIVE:
            message = "This claim can no longer be paid."
            raise InvalidState(message, state=claim.status)
        live = await refresh_live_requests(work, attempt.claim_id)
        if any(request.state is PaymentRequestState.PENDING for request in live):
            raise InvalidState(
                "Another payment is already in progress.", state=PaymentRequestState.PENDING
            )
        await check_choice(work, attempt.claim_id, attempt.intent.choice)
        for request in live:
            if request.provider != attempt.intent.provider:
                continue
            if request.state is PaymentRequestState.OPEN or is_same_payment(request, attempt):
                return request
            await _cancel_replaced_request(work, request)
        return await _insert_request(work, attempt, claim)


def is_same_payment(request: StoredPaymentRequest, attempt: PaymentAttempt) -> bool:
    """Return whether the request is for the amount, the items and the means of payment that the
    debtor wants now."""
    intent = attempt.intent
    return (request.amount_cents, tuple(request.item_ids), request.means) == (
        intent.amount_cents, intent.item_ids, intent.means,
    )  # fmt: skip


async def list_open_requests_elsewhere(attempt: PaymentAttempt) -> list[StoredPaymentRequest]:
    """Return the claim's requests whose checkout is open at another provider, and its newest
    expired requests whose checkout may still be open, at any provider."""
    async with attempt.resources.database.connection() as connection:
        live = await list_live_requests(connection, attempt.merchant_id, attempt.claim_id)
        expired = await list_expired_open_requests(
            connection, attempt.merchant_id, attempt.claim_id
        )
    elsewhere = [
        each for each in live
        if each.state is PaymentRequestState.OPEN and each.provider != attempt.provider.name
    ]  # fmt: skip
    return [*elsewhere, *expired]


async def cancel_outdated_request(attempt: PaymentAttempt, request: StoredPaymentRequest) -> None:
    """Cancel an open request that is for another payment than the debtor wants now, so that the
    caller can insert a new one."""
    async with attempt.transaction() as work:
        await lock_claim(work.tx, work.merchant_id, attempt.claim_id)
        stored = await lock_request(work.tx, work.merchant_id, request.request_id)
        if stored is not None and stored.state is PaymentRequestState.OPEN:
            await _cancel_replaced_request(work, stored)


async def audit_request(work: Work, action: str, request: StoredPaymentRequest) -> None:
    subject = f"claim:{request.claim_id}"
    await save_audit(
        work, f"paymentRequest.{action}", subject, paymentRequestId=str(request.request_id)
    )


async def _cancel_replaced_request(work: Work, request: StoredPaymentRequest) -> None:
    """Cancel the request, but keep checking its checkout if that is open and can still be paid."""
    await save_request_state(
        work.tx, work.merchant_id, request.request_id, PaymentRequestState.CANCELLED,
        now=work.real_now, keeps_checking=request.state is PaymentRequestState.OPEN,
    )  # fmt: skip
    await audit_request(work, "giveUp", request)


async def _insert_request(
    work: Work, attempt: PaymentAttempt, claim: LockedClaim
) -> StoredPaymentRequest:
    now = work.real_now
    request = StoredPaymentRequest(
        request_id=work.ids.new(now),
        claim_id=attempt.claim_id,
        provider=attempt.provider.name,
        provider_name=attempt.provider.kind,
        amount_cents=attempt.intent.amount_cents,
        currency=claim.currency,
        reference=claim.reference_number,
        state=PaymentRequestState.CREATED,
        provider_reference=None,
        checkout_url=None,
        created_at=now,
        settled_at=None,
        checks=0,
        item_ids=attempt.intent.item_ids,
        means=attempt.intent.means,
    )
    await insert_request(work.tx, work.merchant_id, request, decide_next_check(now, 0, now))
    await audit_request(work, "create", request)
    return request


def is_cancellable(request: StoredPaymentRequest) -> bool:
    """Return whether a user can cancel the request: it is live, and no money is on its way through
    a provider."""
    is_under_way = (
        request.state is PaymentRequestState.PENDING and request.provider != BANK_TRANSFER
    )
    return request.state in LIVE_STATES and not is_under_way


async def cancel_request(work: Work, request_id: UUID) -> None:
    """Cancel a payment that the debtor started or announced, and lift its hold.

    Raises NotFound, and InvalidState if the request has ended or its money is already on its way at
    a provider.
    """
    work.require(Right.RECORD_MONEY)
    known = await find_request(work.tx, work.merchant_id, request_id)
    if known is None:
        raise NotFound(f"There is no payment request {request_id}.")
    await lock_claim(work.tx, work.merchant_id, known.claim_id)
    request = await lock_request(work.tx, work.merchant_id, request_id)
    assert request is not None, "the claim is locked, so the request still exists"
    if not is_cancellable(request):
        message = "The payment has ended or is being processed, so it cannot be cancelled."
        raise InvalidState(message, state=request.state)
    if request.state is PaymentRequestState.PENDING:
        await lift_request_hold(work, request)
    await save_request_state(
        work.tx, work.merchant_id, request_id, PaymentRequestState.CANCELLED,
        now=work.real_now, keeps_checking=request.state is PaymentRequestState.OPEN,
    )  # fmt: skip
    await save_audit(
        work, "paymentRequest.cancel", f"claim:{request.claim_id}",
        before={"state": request.state}, after={"state": PaymentRequestState.CANCELLED},
        paymentRequestId=str(request_id),
    )  # fmt: skip
