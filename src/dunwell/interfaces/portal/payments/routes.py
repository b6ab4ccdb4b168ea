"""Payments over all claims: received, started by debtors, recorded, reversed."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import ClassVar
from uuid import UUID

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.list_payments import (
    PaymentFilter,
    PaymentHistory,
    PaymentRequestFilter,
    get_payment,
    get_payment_history,
    get_payment_request,
    list_payment_requests,
    list_payments,
)
from dunwell.cases.payments.provider import MovementKind, PaymentProviderUnavailable
from dunwell.cases.payments.refunds.refund_payment import (
    RefundableAmounts,
    find_refundable_amounts,
    list_pending_refunds,
)
from dunwell.cases.payments.requests.closed_accounts import find_closed_failure
from dunwell.cases.payments.requests.live_requests import cancel_request, is_cancellable
from dunwell.cases.payments.requests.request_states import (
    BANK_TRANSFER,
    LIVE_STATES,
    PaymentRequestState,
)
from dunwell.cases.payments.requests.settle_payment import settle_payment
from dunwell.cases.payments.reversals import (
    ReversalPreview,
    preview_reversal,
)
from dunwell.cases.payments.store import ListedPayment, ListedPaymentRequest
from dunwell.cases.statements.matches.assign_transactions import (
    find_transaction_of_payment,
    reverse_matched_payment,
)
from dunwell.cases.statements.matches.store import BankTransaction
from dunwell.core.claims.access import check_unchanged, load_claim_revision
from dunwell.interfaces.portal.web.access import (
    MerchantAccess,
    PortalRequest,
    find_typed_claims,
    parse_path_id,
)
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import (
    PAGE_SIZE,
    Sorting,
    compute_day_span,
    load_page,
    parse_day,
    parse_sorting,
)
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import EditConflict, InvalidState, NotFound, ValidationError


class PaymentsPage(Page, frozen=True):
    """The list of payments.

    `kind` is payments, unmatched or requests. `state` is the filter of requests, "" for all.
    `typed` is the text for which no claim was found when recording a payment. `surplus` maps the id
    of each overpaid payment to the amount that its provider can refund, 0 while a refund is
    pending.
    """

    template: ClassVar[str] = "payments.html"
    area: ClassVar[str] = "payments"

    kind: str
    on: date | None
    payments: Sequence[ListedPayment]
    requests: Sequence[ListedPaymentRequest]
    sorting: Sorting
    after: str
    next_cursor: str | None
    state: str = ""
    typed: str = ""
    surplus: Mapping[UUID, int] = {}
    result_code: str = ""


class AccountNote(msgspec.Struct, frozen=True):
    """The provider's account of a payment, if it is closed or removed. `failing_since` is the time
    since which requests to a closed account fail, None if they do not."""

    account: str
    is_removed: bool
    failing_since: datetime | None


class PaymentPage(Page, frozen=True):
    """One payment, its movements and refunds, and the form that reverses it. `revision` is that of
    the claim. `error` is the fault of the form. `refundable` is None for a payment that was not
    made through a provider."""

    template: ClassVar[str] = "payment.html"
    area: ClassVar[str] = "payments"

    listed: ListedPayment
    history: PaymentHistory
    refundable: RefundableAmounts | None
    reversal_preview: ReversalPreview
    # None if the account at the provider is in use, or if there is none.
    account_note: AccountNote | None
    # The entry of a bank statement that the payment was recorded from; None for other payments.
    entry: BankTransaction | None
    revision: str
    reason: str
    error: str
    is_conflict: bool
    result_code: str


class PaymentRequestPage(Page, frozen=True):
    template: ClassVar[str] = "payment_request.html"
    area: ClassVar[str] = "payments"

    listed: ListedPaymentRequest
    is_cancellable: bool
    can_refresh_status: bool
    result_code: str


_MAX_TYPED = 200


@at_merchant
async def get_payments_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Show the payments, of one day if the URL names it."""
    show = request.get_parameter("show")
    if show == "requests":
        return await _render_requests_page(site, request, access)
    kind = show if show == "unmatched" else "payments"
    on, after = parse_day(request.get_parameter("on")), request.get_parameter("after")
    since, until = compute_day_span(access.merchant, on)
    wanted = PaymentFilter(since=since, until=until, is_unmatched=kind == "unmatched")
    sorting = parse_sorting(request.get_parameter("sort"), {"time"}, "-time")
    oldest_first = not sorting.is_descending
    async with site.open_work(access) as work:
        found = await load_page(
            lambda cursor: list_payments(
                work, limit=PAGE_SIZE, cursor=cursor, wanted=wanted, oldest_first=oldest_first
            ),
            after,
        )
        surplus = await _find_surplus(work, found.items) if kind == "unmatched" else {}
    typed = request.get_parameter("typed")[:_MAX_TYPED]
    page = PaymentsPage(
        kind,
        on,
        payments=found.items,
        requests=(),
        sorting=sorting,
        after=after,
        next_cursor=found.next_cursor,
        typed=typed,
        surplus=surplus,
        result_code=request.get_parameter("done"),
    )
    return site.render_merchant_page(request, access, page)


async def _find_surplus(work: Work, listed: Sequence[ListedPayment]) -> Mapping[UUID, int]:
    """Return the amount that the provider can refund of each overpaid payment, 0 while a refund is
    pending."""
    paid = [
        each
        for each in listed
        if each.unallocated_cents and each.payment.request_id and each.payment.reversed_at is None
        and each.payment.provider_name != BANK_TRANSFER
    ]  # fmt: skip
    pending = await list_pending_refunds(work, [each.payment.claim_id for each in paid])
    pending_ids = {each.payment_id for each in pending}
    return {
        each.payment.payment_id: 0
        if each.payment.payment_id in pending_ids
        else each.unallocated_cents
        for each in paid
    }


async def _render_requests_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    after, asked = request.get_parameter("after"), request.get_parameter("state")
    state = next((each for each in PaymentRequestState if each == asked), None)
    wanted = PaymentRequestFilter(state=state)
    sorting = parse_sorting(request.get_parameter("sort"), {"time"}, "-time")
    oldest_first = not sorting.is_descending
    async with site.open_work(access) as work:
        found = await load_page(
            lambda cursor: list_payment_requests(
                work, limit=PAGE_SIZE, cursor=cursor, wanted=wanted, oldest_first=oldest_first
            ),
            after,
        )
    page = PaymentsPage(
        "requests",
        None,
        payments=(),
        requests=found.items,
        sorting=sorting,
        after=after,
        next_cursor=found.next_cursor,
        state=state or "",
    )
    return site.render_merchant_page(request, access, page)


@at_merchant
async def find_claim_for_payment(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Find the claim for which a payment is to be recorded. Redirect to its payment form if exactly
    one claim is found, to the list of claims if several are found, and back to the payments if none
    is found."""
    if not access.may(Right.RECORD_MONEY):
        raise NotFound("There is no such page.")
    typed = request.get_parameter("q")[:_MAX_TYPED]
    async with site.open_work(access) as work:
        found = await find_typed_claims(work, typed)
    if len(found) == 1:
        return site.redirect(request, access, "claim_act", claim_id=found[0], act="payment")
    if not found:
        return site.redirect(request, access, "payments", typed=typed)
    return site.redirect(request, access, "claims", q=typed)


@at_merchant
async def get_payment_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_payment_page(site, request, access)


@takes_form_at_merchant
async def submit_reversal(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Reverse a payment. If two users do it at once, the second gets an edit conflict."""
    payment_id, reason = parse_path_id(request, "payment_id"), fields.text("reason")
    error = "" if reason else "REQUIRED"
    try:
        async with site.open_work(access) as work:
            work.require(Right.RECORD_MONEY)
            claim_id = (await get_payment(work, payment_id)).payment.claim_id
            await check_unchanged(work, claim_id, fields["revision"])
            if not error:
                await reverse_matched_payment(work, claim_id, payment_id, reason)
    except EditConflict:
        return await _render_payment_page(site, request, access, reason=reason, is_conflict=True)
    except ValidationError:
        error = "LINE"
    if error:
        return await _render_payment_page(site, request, access, reason=reason, error=error)
    return site.redirect(request, access, "payment", payment_id=payment_id, done="reversed")


async def _render_payment_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, reason: str = "",
    error: str = "",
    is_conflict: bool = False,
) -> Response:  # fmt: skip
    payment_id = parse_path_id(request, "payment_id")
    async with site.open_work(access) as work:
        claim_id = (await get_payment(work, payment_id)).payment.claim_id
        revision = await load_claim_revision(work, claim_id)
        listed = await get_payment(work, payment_id)
        history = await get_payment_history(work, payment_id)
        refundable = await find_refundable_amounts(work, claim_id, payment_id)
        reversal_preview = await preview_reversal(work, claim_id, payment_id)
        entry = await find_transaction_of_payment(work, claim_id, payment_id)
        account_note = await _find_account_note(site, work, history)
    page = PaymentPage(
        listed=listed,
        history=history,
        refundable=refundable,
        reversal_preview=reversal_preview,
        account_note=account_note,
        entry=entry,
        revision=revision,
        reason=reason,
        error=error,
        is_conflict=is_conflict,
        result_code=request.get_parameter("done"),
    )
    status = 409 if is_conflict else 422 if error else 200
    return site.render_merchant_page(request, access, page, status)


async def _find_account_note(
    site: PortalSite, work: Work, history: PaymentHistory
) -> AccountNote | None:
    """Return what staff has to know about the account through which a payment was made."""
    providers = site.debtors.providers
    for each in history.movements:
        if each.kind != MovementKind.PAID or each.request_id is None:
            continue
        provider = providers.get(each.provider)
        if provider is None:
            return AccountNote(each.provider, is_removed=True, failing_since=None)
        if provider.is_closed:
            failing_since = await find_closed_failure(work, each.provider)
            return AccountNote(each.provider, is_removed=False, failing_since=failing_since)
    return None


@at_merchant
async def get_request_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    async with site.open_work(access) as work:
        listed = await get_payment_request(work, parse_path_id(request, "request_id"))
    payment_request = listed.request
    page = PaymentRequestPage(
        listed=listed,
        is_cancellable=is_cancellable(payment_request),
        can_refresh_status=(
            payment_request.provider != BANK_TRANSFER and payment_request.state in LIVE_STATES
        ),
        result_code=request.get_parameter("done"),
    )
    return site.render_merchant_page(request, access, page)


@takes_form_at_merchant
async def change_request(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Cancel a payment request, or refresh its status from the provider."""
    request_id = parse_path_id(request, "request_id")
    apply = _cancel_request if fields["do"] == "end" else _refresh_status
    done = await apply(site, request, access)
    return site.redirect(request, access, "payment_request", request_id=request_id, done=done)


async def _cancel_request(site: PortalSite, request: PortalRequest, access: MerchantAccess) -> str:
    """Cancel the payment request. Return the code of the result."""
    try:
        async with site.open_work(access) as work:
            await cancel_request(work, parse_path_id(request, "request_id"))
    except InvalidState:
        return "not_ended"
    return "ended"


async def _refresh_status(site: PortalSite, request: PortalRequest, access: MerchantAccess) -> str:
    """Record what the provider reports, with the system as the actor. Return the code of the
    result."""
    request_id = parse_path_id(request, "request_id")
    async with site.open_work(access) as work:
        work.require(Right.RECORD_MONEY)
        await get_payment_request(work, request_id)
    try:
        providers = site.debtors.providers
        await settle_payment(site.resources, providers, access.merchant_id, request_id)
    except PaymentProviderUnavailable:
        return "away"
    return "asked"


PAGES: RoutedPages = {
    "payments": {"GET": get_payments_page},
    "payment_find": {"GET": find_claim_for_payment},
    "payment": {"GET": get_payment_page, "POST": submit_reversal},
    "payment_request": {"GET": get_request_page, "POST": change_request},
}
