"""Paying: the amount, the payment method, and the hand-off to a provider.

The choice is in the address, and the server computes the amount. The amount in a form is only
compared with it, to detect that the page showed another amount.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from starlette.responses import Response

from dunwell.accounts.merchants.actor import build_debtor_actor
from dunwell.cases.payments.choice import PaymentChoice
from dunwell.cases.payments.provider import PaymentProviderRefused, PaymentProviderUnavailable
from dunwell.cases.payments.requests.start_payment import (
    REQUEST_ID_PLACEHOLDER,
    PaymentIntent,
    start_payment,
)
from dunwell.interfaces.landing.payment.payment_choice import (
    FIELDS,
    PaymentOptions,
    RefusedChoice,
    accepts_transfers,
    can_pay,
    get_options,
    list_methods,
    parse_choice,
    parse_means,
    parse_submitted_choice,
    render_choice,
)
from dunwell.interfaces.landing.payment.views import (
    PaymentCheckPage,
    describe_amount,
    describe_choice,
)
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.web.in_session import RoutedPages, accepts_form, in_session
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.amounts import render_typed_amount
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_redirect
from dunwell.platform.errors import InvalidState, ValidationError

_MAX_TYPED_LENGTH = 40
_MAX_CENTS_DIGITS = 12
# The items that each button selects. None selects all.
_ITEMS_BY_TICK_BUTTON: Mapping[str, Sequence[str] | None] = {"all": None, "none": ()}


@in_session
async def get_amount_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    """Show the choice of amounts, or the payment methods if there is nothing to choose."""
    if not can_pay(site, opened):
        return site.redirect(site.build_claim_context(request, opened), "claim")
    options = get_options(opened)
    if options.has_choice:
        return _answer_amount(site, request, opened, options)
    return _answer_payment_methods(site, request, opened, options.whole)


@in_session
async def get_payment_methods_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    context = site.build_claim_context(request, opened)
    if not can_pay(site, opened):
        return site.redirect(context, "claim")
    choice = parse_choice_address(request, opened, context.language)
    if choice is None:
        return site.redirect(context, "pay")
    if isinstance(choice, RefusedChoice):
        return _answer_amount(site, request, opened, options=get_options(opened), refused=choice)
    return _answer_payment_methods(site, request, opened, choice)


@accepts_form
async def submit_hand_off(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    context = site.build_claim_context(request, opened)
    choice = parse_submitted_choice(form, get_options(opened), opened.facts.currency)
    if choice is None:
        return _answer_changed(site, request, opened)
    return_path = context.address("return", request_id=REQUEST_ID_PLACEHOLDER)
    intent = PaymentIntent(
        provider=form.get("provider", ""),
        means=parse_means(form.get("means", "")),
        amount_cents=choice.cents,
        return_url=site.resources.settings.public_url + return_path,
        language=context.language,
        kind=choice.kind,
        item_ids=choice.item_ids,
    )
    outcome = await start_hand_off(site, opened, intent)
    if outcome is HandOffFailure.CHANGED:
        return _answer_changed(site, request, await site.find_opened(request) or opened)
    if outcome is HandOffFailure.UNAVAILABLE and can_pay(site, opened):
        return _answer_payment_methods(
            site, request, opened, choice=choice, notice="UNAVAILABLE", status=503
        )
    if isinstance(outcome, HandOffFailure):
        return site.redirect(context, "claim")
    return build_redirect(outcome)


def parse_choice_address(
    request: DebtorRequest, opened: OpenedClaim, language: str
) -> PaymentChoice | RefusedChoice | None:
    """Parse the choice in the address. Return None if it is missing although there are options, or
    if it is no longer available."""
    options, query = get_options(opened), request.query
    if options.has_choice and not any(name in query for name in FIELDS):
        return None
    choice = parse_choice(query, options, opened.facts.currency, language)
    return None if choice is RefusedChoice.CHANGED else choice


def _answer_changed(site: DebtorSite, request: DebtorRequest, opened: OpenedClaim) -> Response:
    """Show the options again, or the payment methods with a notice if there is nothing to
    choose."""
    if not can_pay(site, opened):
        return site.redirect(site.build_claim_context(request, opened), "claim")
    options = get_options(opened)
    if options.has_choice:
        return _answer_amount(site, request, opened, options=options, refused=RefusedChoice.CHANGED)
    return _answer_payment_methods(site, request, opened, choice=options.whole, notice="CHANGED")


def _answer_amount(
    site: DebtorSite,
    request: DebtorRequest,
    opened: OpenedClaim,
    options: PaymentOptions,
    refused: RefusedChoice | None = None,
) -> Response:
    context = site.build_claim_context(request, opened)
    typed = (request.find_parameter("amount") or "")[:_MAX_TYPED_LENGTH]
    given = request.find_parameter("cents") or ""
    if not typed and given.isascii() and given.isdecimal() and len(given) <= _MAX_CENTS_DIGITS:
        typed = render_typed_amount(int(given), opened.facts.currency, context.language)
    # The buttons that select all items or none take precedence over the selected items.
    given_items = _ITEMS_BY_TICK_BUTTON.get(
        request.find_parameter("tick") or "", request.query.get("item")
    )
    page = describe_amount(opened, options, typed=typed, ticked=given_items, refused=refused)
    # A change of the claim is not an error of the reader.
    return site.render_page(
        context, page, 422 if refused not in (None, RefusedChoice.CHANGED) else 200
    )


def _answer_payment_methods(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, choice: PaymentChoice,
    notice: str | None = None, *, status: int = 200,
) -> Response:  # fmt: skip
    context = site.build_claim_context(request, opened)
    methods = list_methods(site.providers, opened.merchant)
    if not methods:
        name, _, value = render_choice(choice).partition("=")
        return site.redirect(context, "transfer", **{name: value})
    page = PaymentCheckPage(
        choice=describe_choice(opened, choice),
        remaining_cents=opened.facts.outstanding_cents - choice.cents,
        methods=methods,
        accepts_transfers=accepts_transfers(opened.merchant),
        notice=notice,
    )
    origins = {site.hand_off_origins.get(method.name) for method in methods}
    return site.render_page(context, page, status, form_origins=sorted(filter(None, origins)))


class HandOffFailure(StrEnum):
    """Why the debtor cannot be redirected to the provider's page."""

    # The provider cannot be reached.
    UNAVAILABLE = "UNAVAILABLE"
    # The claim was paid or closed since the page was shown, or another payment is pending. The
    # claim's page says which.
    NOT_PAYABLE = "NOT_PAYABLE"
    # The outstanding amount has changed.
    CHANGED = "CHANGED"


async def start_hand_off(
    site: DebtorSite, opened: OpenedClaim, intent: PaymentIntent
) -> str | HandOffFailure:
    """Start the payment and return the URL of the provider's page. Raises ValidationError if the
    provider does not exist."""
    actor = build_debtor_actor(str(opened.session.session_id))
    try:
        started = await start_payment(
            site.resources,
            site.providers,
            opened.merchant,
            actor=actor,
            claim_id=opened.facts.claim_id,
            intent=intent,
        )
    except (PaymentProviderUnavailable, PaymentProviderRefused):
        return HandOffFailure.UNAVAILABLE
    except InvalidState:
        return HandOffFailure.NOT_PAYABLE
    except ValidationError as refusal:
        if all(fault.code != "AMOUNT_CHANGED" for fault in refusal.faults):
            raise
        return HandOffFailure.CHANGED
    return started.url


PAGES: RoutedPages = {
    "pay": {"GET": get_amount_page},
    "pay_method": {"GET": get_payment_methods_page, "POST": submit_hand_off},
}
