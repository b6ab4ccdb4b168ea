"""Refunds of a payment: the form, the preview of its effect, the order, and the surplus with one
click."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.list_payments import get_payment
from dunwell.cases.payments.refunds.refund_payment import (
    RefundableAmounts,
    RefundOrder,
    RefundPreview,
    find_refundable_amounts,
    list_refunds,
    order_refund,
    preview_refund,
)
from dunwell.cases.payments.refunds.store import RefundEffect
from dunwell.cases.payments.store import ListedPayment
from dunwell.core.claims.access import check_unchanged, load_claim_revision
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest, parse_path_id
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.amounts import parse_amount, render_typed_amount
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import EditConflict, InvalidState, NotFound, ValidationError


class PaymentRefundPage(Page, frozen=True):
    """The form of a refund. With a `preview`, the page shows its effect and asks to confirm it."""

    template: ClassVar[str] = "payment_refund.html"
    area: ClassVar[str] = "payments"

    listed: ListedPayment
    refundable: RefundableAmounts
    # The revision of the claim, and the number of refunds of its payments.
    revision: str
    known_refunds: int
    # The fields as the user typed them: amount, reason, effect.
    values: Mapping[str, str]
    # Pairs of a field name and the code of its fault.
    faults: Sequence[tuple[str, str]]
    preview: RefundPreview | None
    is_conflict: bool


@dataclass(frozen=True, slots=True)
class _SentForm:
    values: Mapping[str, str]
    order: RefundOrder
    faults: Sequence[tuple[str, str]]


@at_merchant
async def get_refund_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Show the form, filled with the surplus."""
    if not access.may(Right.RECORD_MONEY):
        raise NotFound("There is no such page.")
    return await _render_refund_page(site, request, access, None)


@takes_form_at_merchant
async def submit_refund(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Show a refund's effect, change the form, or order the refund."""
    payment_id = parse_path_id(request, "payment_id")
    if fields["do"] == "surplus":
        return await _refund_surplus(site, request, access, fields)
    async with site.open_work(access) as work:
        work.require(Right.RECORD_MONEY)
        currency = (await get_payment(work, payment_id)).payment.currency
    sent = _parse_form(fields, currency, site.build_context(request, access).language)
    if fields["do"] != "confirm" or sent.faults:
        return await _render_refund_page(
            site, request, access, sent, is_preview=fields["do"] != "edit"
        )
    try:
        async with site.open_work(access) as work:
            await _check_unchanged(work, payment_id, fields)
            claim_id = (await get_payment(work, payment_id)).payment.claim_id
            await order_refund(work, claim_id, payment_id, sent.order)
    except EditConflict:
        return await _render_refund_page(site, request, access, sent, is_conflict=True)
    except ValidationError:
        return await _render_refund_page(site, request, access, sent, is_preview=True)
    except InvalidState:
        return site.redirect(
            request, access, "payment", payment_id=payment_id, done="not_refundable"
        )
    return site.redirect(request, access, "payment", payment_id=payment_id, done="refund_ordered")


async def _check_unchanged(work: Work, payment_id: UUID, fields: FormFields) -> None:
    """Lock the claim, and check that the claim and its refunds are those that the user saw. Raises
    EditConflict."""
    work.require(Right.RECORD_MONEY)
    claim_id = (await get_payment(work, payment_id)).payment.claim_id
    await check_unchanged(work, claim_id, fields["revision"])
    if str(len(await list_refunds(work, claim_id))) != fields["known_refunds"]:
        raise EditConflict("A refund was ordered since you opened the form.")


async def _refund_surplus(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Order the refund of the surplus that the user saw. A second click finds no surplus."""
    payment_id, seen = parse_path_id(request, "payment_id"), fields["surplus_cents"]
    cents = int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 13 else 0
    done = "refund_ordered"
    try:
        async with site.open_work(access) as work:
            work.require(Right.RECORD_MONEY)
            claim_id = (await get_payment(work, payment_id)).payment.claim_id
            order = RefundOrder(cents or None, effect=RefundEffect.SURPLUS)
            await order_refund(work, claim_id, payment_id, order)
    except (ValidationError, InvalidState):
        done = "no_surplus"
    if fields["from"] == "list":
        return site.redirect(request, access, "payments", show="unmatched", done=done)
    return site.redirect(request, access, "payment", payment_id=payment_id, done=done)


def _parse_form(fields: FormFields, currency: str, language: str) -> _SentForm:
    values = {name: fields.text(name) for name in ("amount", "reason", "effect")}
    faults = list[tuple[str, str]]()
    cents = parse_amount(values["amount"], currency, language)
    if not cents:
        faults.append(("amount", "AMOUNT"))
    effect = next((each for each in RefundEffect if each == values["effect"]), None)
    if effect is None:
        faults.append(("effect", "REQUIRED"))
    order = RefundOrder(cents, reason=values["reason"] or None, effect=effect)
    return _SentForm(values, order, faults)


async def _render_refund_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, sent: _SentForm | None, *,
    is_preview: bool = False, is_conflict: bool = False,
) -> Response:  # fmt: skip
    payment_id, preview = parse_path_id(request, "payment_id"), None
    language = site.build_context(request, access).language
    async with site.open_work(access) as work:
        claim_id = (await get_payment(work, payment_id)).payment.claim_id
        revision = await load_claim_revision(work, claim_id)
        listed = await get_payment(work, payment_id)
        refundable = await find_refundable_amounts(work, claim_id, payment_id)
        known_refunds = len(await list_refunds(work, claim_id))
        if refundable is None or not refundable.left_cents:
            return site.redirect(
                request, access, "payment", payment_id=payment_id, done="not_refundable"
            )
        faults = list(sent.faults) if sent else []
        if sent and is_preview and not faults:
            try:
                preview = await preview_refund(work, claim_id, payment_id, sent.order)
            except ValidationError as refusal:
                faults = [(each.path.removeprefix("/"), each.code) for each in refusal.faults]
    cents = refundable.surplus_cents or refundable.left_cents
    initial_values = {
        "amount": render_typed_amount(cents, listed.payment.currency, language),
        "reason": "",
        "effect": "SURPLUS" if refundable.surplus_cents else "",
    }
    page = PaymentRefundPage(
        listed=listed,
        refundable=refundable,
        revision=revision,
        known_refunds=known_refunds,
        values=sent.values if sent else initial_values,
        faults=faults if is_preview else [],
        preview=preview,
        is_conflict=is_conflict,
    )
    status = 409 if is_conflict else 422 if page.faults else 200
    return site.render_merchant_page(request, access, page, status)


PAGES: RoutedPages = {"payment_refund": {"GET": get_refund_page, "POST": submit_refund}}
