"""The return from a provider, and the receipt as a page, as a PDF and by e-mail."""

from collections.abc import Callable
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.installation.installation_file import Operator
from dunwell.cases.payments.provider import PaymentProviderUnavailable
from dunwell.cases.payments.requests.request_states import (
    BANK_TRANSFER,
    LOAD_RECEIPT,
    PaymentReceipt,
    PaymentRequestState,
    ReceiptPayment,
)
from dunwell.cases.payments.requests.settle_payment import settle_payment
from dunwell.contact.messages.letters.sheet import Paper, PaperBody, build_paper, encode_paper
from dunwell.contact.messages.templates.creditors import build_creditor
from dunwell.contact.messages.templates.formatting import render_money
from dunwell.contact.notices.notice import Addressee
from dunwell.contact.notices.occasions.facts import ReceiptFacts
from dunwell.contact.notices.send_notice import find_repeated_notice, send_notice
from dunwell.interfaces.landing.payment.payment_choice import can_pay
from dunwell.interfaces.landing.payment.views import (
    describe_method,
    describe_receipt,
    describe_return,
    find_copy_address,
)
from dunwell.interfaces.landing.session.details import KEY, Detail
from dunwell.interfaces.landing.session.states import is_closed
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    accepts_form_with,
    in_session_with,
)
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.formats import build_message_filters
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_file_response
from dunwell.platform.database.sql import nest_row
from dunwell.platform.errors import NotFound
from dunwell.platform.text.translation import Language


def compose_receipt(
    language: Language, opened: OpenedClaim, payment: ReceiptPayment, method: str,
    operator: Operator | None = None,
) -> Paper:  # fmt: skip
    """Compose the receipt for printing. Raises MerchantNotConfigured."""
    translate, facts = language.translate, opened.facts
    is_claim_closed = is_closed(facts)
    creditor = build_creditor(opened.merchant, operator)

    def money(cents: int) -> str:
        return render_money(cents, facts.currency, language.code)

    moment = build_message_filters(language.code)["moment"]
    timezone = opened.merchant.configuration.timezone
    body = PaperBody(
        title=translate("Receipt"),
        lead=_describe_returned_amount(translate, payment, money(payment.returned_cents)),
        rows=[
            (translate("Paid"), money(payment.amount_cents)),
            (translate("To"), creditor.legal_name),
            (translate("For"), facts.reference_number),
            (translate("On"), moment(payment.paid_at, timezone)),
            (translate("Paid with"), method),
            (translate("Payment number"), payment.transaction_id),
            *(
                []
                if is_claim_closed
                else [(translate("Still to pay"), money(facts.outstanding_cents))]
            ),
        ],
        notes=[]
        if is_claim_closed
        else [_describe_remaining_amount(translate, facts.outstanding_cents)],
    )
    brand = opened.merchant.configuration.brand
    return build_paper(brand, creditor, language.code, body)


def _describe_returned_amount(
    translate: Callable[[str], str], payment: ReceiptPayment, returned: str
) -> list[str]:
    if payment.returned_cents == payment.amount_cents:
        return [translate("This payment was returned completely.")]
    if payment.returned_cents:
        return [translate("%(amount)s of this payment was returned.") % {"amount": returned}]
    return []


def _describe_remaining_amount(translate: Callable[[str], str], outstanding_cents: int) -> str:
    if outstanding_cents == 0:
        return translate("Nothing is left to pay. We will not write to you about it again.")
    return translate("We will only write to you about the remaining amount.")


# The outcomes of sending a copy that the page can show.
_COPY_OUTCOMES = ("sent", "refused")
RECEIPT: Detail[PaymentReceipt] = Detail(
    nest_row(LOAD_RECEIPT, *KEY, "$2"), PaymentReceipt, "request_id",
    "There is no such payment of this claim.",
)  # fmt: skip


@in_session_with(RECEIPT)
async def get_payment_return_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    receipt = RECEIPT.decode(opened.detail)
    if receipt.provider_name == BANK_TRANSFER:
        return site.redirect(site.build_claim_context(request, opened), "transfer_sent")
    if receipt.state is not PaymentRequestState.COMPLETED:
        await _refresh_state(site, opened, receipt.request_id)
        opened = await site.find_opened(request, RECEIPT) or opened
        receipt = RECEIPT.decode(opened.detail)
    if receipt.payment is not None and receipt.payment.returned_cents:
        # The receipt says how much of the payment is left.
        context = site.build_claim_context(request, opened)
        return site.redirect(context, "receipt", request_id=receipt.request_id)
    page = describe_return(opened, receipt, can_pay=can_pay(site, opened))
    return site.render_page(site.build_claim_context(request, opened), page)


@in_session_with(RECEIPT)
async def get_receipt_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    receipt, payment = _get_paid_receipt(opened)
    copy = request.find_parameter("copy")
    page = describe_receipt(opened, receipt, payment, copy if copy in _COPY_OUTCOMES else None)
    return site.render_page(site.build_claim_context(request, opened), page)


@in_session_with(RECEIPT)
async def download_pdf(site: DebtorSite, request: DebtorRequest, opened: OpenedClaim) -> Response:
    receipt, payment = _get_paid_receipt(opened)
    context = site.build_claim_context(request, opened)
    language = site.pages.languages[context.language]
    method, operator = describe_method(opened, receipt, payment), site.pages.find_operator()
    paper = compose_receipt(language, opened, payment=payment, method=method, operator=operator)
    pdf = await site.printer.for_caller(opened.debtor_key).print_paper(encode_paper(paper))
    return build_file_response(pdf, "application/pdf", "receipt.pdf")


@accepts_form_with(RECEIPT)
async def send_copy(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    """Send the receipt to the e-mail address on file, which the page shows masked."""
    receipt, payment = _get_paid_receipt(opened)
    context, facts = site.build_claim_context(request, opened), opened.facts
    email = find_copy_address(opened)
    if email is None:
        raise NotFound("No e-mail address is on file for a copy.")
    receipt_facts = ReceiptFacts(
        reference_number=facts.reference_number,
        currency=facts.currency,
        amount_cents=payment.amount_cents,
        paid_at=payment.paid_at,
        number=payment.transaction_id,
        method=describe_method(opened, receipt, payment),
        outstanding_cents=None if is_closed(facts) else facts.outstanding_cents,
    )
    addressee = Addressee(facts.claim_id, "EMAIL", email, context.language)
    notice = site.notices.write(opened.merchant, addressee, receipt_facts)
    async with site.resources.database.transaction() as tx:
        work = site.build_work(tx, opened.merchant, opened.session.session_id)
        sent = await find_repeated_notice(work, notice) or await send_notice(
            work, site.resources.keys, notice
        )
    outcome = "sent" if isinstance(sent, UUID) else "refused"
    return site.redirect(context, "receipt", request_id=receipt.request_id, copy=outcome)


def _get_paid_receipt(opened: OpenedClaim) -> tuple[PaymentReceipt, ReceiptPayment]:
    receipt = RECEIPT.decode(opened.detail)
    if receipt.payment is None:
        raise NotFound("This request has no payment.")
    return receipt, receipt.payment


async def _refresh_state(site: DebtorSite, opened: OpenedClaim, request_id: UUID) -> None:
    """Ask the provider for the payment's state. If the provider cannot be reached, the state is
    updated by its callback or at the next visit."""
    try:
        await settle_payment(
            site.resources, site.providers, opened.merchant.merchant_id, request_id
        )
    except PaymentProviderUnavailable:
        return


PAGES: RoutedPages = {
    "return": {"GET": get_payment_return_page},
    "receipt": {"GET": get_receipt_page},
    "receipt_pdf": {"GET": download_pdf},
    "receipt_email": {"GET": get_receipt_page, "POST": send_copy},
}
