"""Coming back from a provider, and the receipt: as a page, as a PDF, by e-mail.

Coming back marks nothing as paid; it only has the provider asked. Of a closed claim nothing is said
of what is left, and what the payment was made with and the address on file are not for a link
alone.
"""

from uuid import UUID

from dunwell.errors import NotFound
from dunwell.landing.paying.methods import label_provider
from dunwell.landing.paying.paper import compose_receipt
from dunwell.landing.paying.routes import can_pay
from dunwell.landing.render.formats import render_bound_moment
from dunwell.landing.session.details import RECEIPT
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.session.session import Level
from dunwell.landing.session.states import decide_outcome, is_closed
from dunwell.landing.telling.facts import ReceiptFacts
from dunwell.landing.web.answer import Answer, answer_file, answer_page
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.in_session import in_session_with, takes_form_with
from dunwell.landing.web.visit import Form, Visit
from dunwell.messages.identities import mask_address
from dunwell.messages.letters.paper import write_paper
from dunwell.notices.notice import Addressee
from dunwell.notices.send_notice import find_repeated, send_notice
from dunwell.payments.banking_days import BANK_TRANSFER
from dunwell.payments.find_request import Paid, Receipt
from dunwell.payments.provider import ProviderAway
from dunwell.payments.request_states import RequestState
from dunwell.payments.settle_payment import settle_payment

# What the page can say of a copy that was asked for.
_COPIES = ("sent", "refused")


@in_session_with(RECEIPT)
async def come_back(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    receipt = RECEIPT.read(opened.detail)
    if receipt.provider == BANK_TRANSFER:
        return desk.redirect(desk.frame_opened(visit, opened), "/claim/pay/sent")
    if receipt.state is not RequestState.COMPLETED:
        await _settle(desk, opened, receipt.request_id)
        opened = await desk.find_opened(visit, RECEIPT) or opened
        receipt = RECEIPT.read(opened.detail)
    frame = desk.frame_opened(visit, opened)
    outstanding_cents = opened.facts.outstanding_cents
    same = {
        "outcome": decide_outcome(receipt.state), "provider": label_provider(receipt.provider),
        "can_pay": can_pay(desk, opened), "is_closed": is_closed(opened.facts),
        "is_all_paid": outstanding_cents == 0,
    }  # fmt: skip
    slots = {
        "request_id": str(receipt.request_id),
        "amount": desk.show_amount(receipt.amount_cents, frame, opened),
        "outstanding": desk.show_amount(outstanding_cents, frame, opened),
    }
    return answer_page(desk.pages.render_slotted("back.html", frame, same, slots))


@in_session_with(RECEIPT)
async def show_receipt(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    receipt, payment = _read_paid(opened)
    frame, facts = desk.frame_opened(visit, opened), opened.facts
    email, copy = _find_email(opened), visit.read_query("copy")
    timezone = opened.merchant.configuration.timezone
    same = {
        "copy": copy if copy in _COPIES else None, "has_masked": email is not None,
        "is_reversed": payment.reversed_at is not None, "is_closed": is_closed(facts),
        "is_all_paid": facts.outstanding_cents == 0, "shows_all": _shows_all(opened),
    }  # fmt: skip
    slots = {
        "request_id": str(receipt.request_id), "reference": facts.reference_number,
        "amount": desk.show_amount(payment.amount_cents, frame, opened),
        "outstanding": desk.show_amount(facts.outstanding_cents, frame, opened),
        "paid_at": render_bound_moment(payment.paid_at, timezone, frame.language),
        "method": _describe_method(receipt, payment, opened),
        "transaction_id": payment.transaction_id,
        "masked": "" if email is None else mask_address("EMAIL", email),
    }  # fmt: skip
    return answer_page(desk.pages.render_slotted("receipt.html", frame, same, slots))


@in_session_with(RECEIPT)
async def send_pdf(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    receipt, payment = _read_paid(opened)
    frame = desk.frame_opened(visit, opened)
    words = desk.pages.languages[frame.language]
    paper = compose_receipt(words, opened, payment, _describe_method(receipt, payment, opened))
    pdf = await desk.press.print_paper(write_paper(paper))
    return answer_file(pdf, "application/pdf", "receipt.pdf")


@takes_form_with(RECEIPT)
async def send_copy(desk: Desk, visit: Visit, opened: OpenedClaim, _form: Form) -> Answer:
    """To the address on file, which the page shows masked."""
    receipt, payment = _read_paid(opened)
    frame, facts = desk.frame_opened(visit, opened), opened.facts
    email = _find_email(opened)
    if email is None:
        raise NotFound("There is no address to send it to.")
    told = ReceiptFacts(
        facts.reference_number, facts.currency, payment.amount_cents, payment.paid_at,
        payment.transaction_id, _describe_method(receipt, payment, opened),
        None if is_closed(facts) else facts.outstanding_cents,
    )  # fmt: skip
    addressee = Addressee(facts.claim_id, "EMAIL", email, frame.language)
    notice = desk.notices.write(opened.merchant, addressee, told)
    async with desk.resources.database.transaction() as tx:
        work = desk.work(tx, opened.merchant, opened.session.session_id)
        sent = await find_repeated(work, notice) or await send_notice(
            work, desk.resources.keys, notice
        )
    outcome = "sent" if isinstance(sent, UUID) else "refused"
    return desk.redirect(frame, f"/claim/receipt/{receipt.request_id}?copy={outcome}")


def _shows_all(opened: OpenedClaim) -> bool:
    return opened.session.level.reaches(Level.FACT)


def _find_email(opened: OpenedClaim) -> str | None:
    """Where a copy may go; None: nowhere, or not for a link alone."""
    return opened.facts.on_file.email if _shows_all(opened) else None


def _describe_method(receipt: Receipt, payment: Paid, opened: OpenedClaim) -> str:
    method = payment.method if _shows_all(opened) else None
    return ", ".join(filter(None, (label_provider(receipt.provider), method)))


def _read_paid(opened: OpenedClaim) -> tuple[Receipt, Paid]:
    receipt = RECEIPT.read(opened.detail)
    if receipt.payment is None:
        raise NotFound("Nothing was paid by this request.")
    return receipt, receipt.payment


async def _settle(desk: Desk, opened: OpenedClaim, request_id: UUID) -> None:
    """What is not known now comes by notice, or with the next look."""
    try:
        await settle_payment(
            desk.resources, desk.providers, opened.merchant.merchant_id, request_id
        )
    except ProviderAway:
        return
