"""Paying by bank transfer: the account, the QR code for banking apps, and announcing a transfer."""

import asyncio
from datetime import date, timedelta

from starlette.responses import Response

from dunwell.accounts.merchants.configuration import BankAccount
from dunwell.cases.modalities.progress import local_date
from dunwell.cases.payments.choice import PaymentChoice
from dunwell.cases.payments.requests.announce_transfer import AnnouncedTransfer, announce_transfer
from dunwell.contact.messages.letters.qr_code import draw_png
from dunwell.contact.messages.letters.rendering import render_payment_code
from dunwell.core.claims.states import HoldKind
from dunwell.interfaces.landing.payment.payment_choice import (
    RefusedChoice,
    accepts_transfers,
    can_pay,
    get_options,
    parse_submitted_choice,
)
from dunwell.interfaces.landing.payment.routes import parse_choice_address
from dunwell.interfaces.landing.payment.views import (
    TransferDatePage,
    TransferPage,
    TransferSentPage,
    describe_choice,
)
from dunwell.interfaces.landing.render.typed_fields import parse_day, parse_iso_day
from dunwell.interfaces.landing.session.states import find_announced_transfer
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.web.in_session import RoutedPages, accepts_form, in_session
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_file_response
from dunwell.platform.banking_days import compute_recorded_on
from dunwell.platform.errors import InvalidState, NotFound, ValidationError

_OTHER_DAY = "other"
# The page to redirect to, by the fault of an announced transfer; None means that it was recorded.
# NOT_PAYABLE means that since the page was shown the claim was paid or closed, or another payment
# became pending.
_PAGE_BY_FAULT = {
    None: "transfer_sent",
    "AMOUNT_CHANGED": "pay",
    "NOT_PAYABLE": "claim",
}


@in_session
async def get_transfer_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    context = site.build_claim_context(request, opened)
    if not _can_pay_by_transfer(site, opened):
        return site.redirect(context, "claim")
    choice = parse_choice_address(request, opened, context.language)
    if choice is None or isinstance(choice, RefusedChoice):
        return site.redirect(context, "pay")
    page = TransferPage(
        choice=describe_choice(opened, choice),
        iban=_get_account(opened).iban,
        has_picture=_render_qr_text(opened, choice) is not None,
    )
    return site.render_page(context, page)


@in_session
async def send_qr_code(site: DebtorSite, request: DebtorRequest, opened: OpenedClaim) -> Response:
    """Send the QR code for banking apps. Raises NotFound if the claim cannot be paid by transfer,
    or the amount has no QR code."""
    choice = (
        parse_choice_address(request, opened, "") if _can_pay_by_transfer(site, opened) else None
    )
    text = _render_qr_text(opened, choice) if isinstance(choice, PaymentChoice) else None
    if text is None:
        raise NotFound("This payment has no QR code.")
    # Drawing takes milliseconds of CPU time, so it runs in a thread.
    return build_file_response(await asyncio.to_thread(draw_png, text), "image/png")


@in_session
async def get_transfer_date_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    """Ask when the transfer was sent. If one is announced already, show what was recorded."""
    context = site.build_claim_context(request, opened)
    now = opened.merchant.now(site.resources.clock)
    sent_on = find_announced_transfer(opened.facts, now)
    if sent_on is not None:
        assert opened.facts.request is not None
        page = TransferSentPage(
            amount_cents=opened.facts.request.amount_cents,
            currency=opened.facts.currency,
            sent_on=sent_on,
            recorded_on=compute_recorded_on(sent_on),
        )
        return site.render_page(context, page)
    if not _can_pay_by_transfer(site, opened):
        return site.redirect(context, "claim")
    choice = parse_choice_address(request, opened, context.language)
    if choice is None or isinstance(choice, RefusedChoice):
        return site.redirect(context, "pay")
    return _answer_form(site, request, opened, choice=choice, form=FormFields({}))


@accepts_form
async def submit_transfer_date(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    context = site.build_claim_context(request, opened)
    now = opened.merchant.now(site.resources.clock)
    if find_announced_transfer(opened.facts, now) is not None:
        return site.redirect(context, "transfer_sent")
    choice = parse_submitted_choice(form, get_options(opened), opened.facts.currency)
    if choice is None:
        return site.redirect(context, "pay")
    sent_on = _parse_day(form)
    if sent_on is None:
        return _answer_form(site, request, opened, choice=choice, form=form, fault="UNREADABLE")
    fault = await _announce(site, opened, AnnouncedTransfer(choice, sent_on))
    if fault in _PAGE_BY_FAULT:
        return site.redirect(context, _PAGE_BY_FAULT[fault])
    return _answer_form(site, request, opened, choice=choice, form=form, fault=fault)


async def _announce(site: DebtorSite, opened: OpenedClaim, sent: AnnouncedTransfer) -> str | None:
    """Record the announced transfer. Return None, or the fault."""
    try:
        async with site.resources.database.transaction() as tx:
            work = site.build_work(tx, opened.merchant, opened.session.session_id)
            await announce_transfer(work, opened.facts.claim_id, sent)
    except ValidationError as refusal:
        return refusal.faults[0].code
    except InvalidState as refusal:
        was_announced_before = refusal.details["state"] == HoldKind.PAYMENT_PENDING
        return "TOO_OFTEN" if was_announced_before else "NOT_PAYABLE"
    return None


def _can_pay_by_transfer(site: DebtorSite, opened: OpenedClaim) -> bool:
    return accepts_transfers(opened.merchant) and can_pay(site, opened)


def _get_account(opened: OpenedClaim) -> BankAccount:
    account = opened.merchant.configuration.payment.bank_account
    assert account is not None
    return account


def _render_qr_text(opened: OpenedClaim, choice: PaymentChoice) -> str | None:
    account = _get_account(opened)
    return render_payment_code(
        holder=account.holder, iban=account.iban, bic=account.bic, cents=choice.cents,
        currency=opened.facts.currency, purpose=opened.facts.reference_number,
    )  # fmt: skip


def _parse_day(form: FormFields) -> date | None:
    """Parse one of the offered days, or the day in the three fields."""
    chosen = form.get("sent", "")
    if chosen and chosen != _OTHER_DAY:
        return parse_iso_day(chosen)
    return parse_day(form, "on")


def _answer_form(
    site: DebtorSite,
    request: DebtorRequest,
    opened: OpenedClaim,
    choice: PaymentChoice,
    form: FormFields,
    fault: str | None = None,
) -> Response:
    context = site.build_claim_context(request, opened)
    timezone = opened.merchant.configuration.timezone
    today = local_date(opened.merchant.now(site.resources.clock), timezone)
    page = TransferDatePage(
        choice=describe_choice(opened, choice),
        today=today,
        yesterday=today - timedelta(days=1),
        sent=form.get("sent", "") if form else today.isoformat(),
        other=_OTHER_DAY,
        typed={part: form.get(f"on_{part}", "")[:4] for part in ("day", "month", "year")},
        fault=fault,
    )
    statuses = {None: 200, "TOO_OFTEN": 409}
    return site.render_page(context, page, statuses.get(fault, 422))


PAGES: RoutedPages = {
    "transfer": {"GET": get_transfer_page},
    "transfer_picture": {"GET": send_qr_code},
    "transfer_sent": {"GET": get_transfer_date_page, "POST": submit_transfer_date},
}
