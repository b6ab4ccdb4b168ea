"""Paying: how much, by which method, and the hand-off to a provider.

What is chosen stands in the address; the amount is the server's, and what a form says was shown is
only compared with it.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from starlette.responses import Response

from dunwell.accounts.merchants.actor import debtor_actor
from dunwell.cases.payments.choice import PaymentChoice
from dunwell.cases.payments.provider import PaymentProviderUnavailable
from dunwell.cases.payments.requests.start_payment import (
    REQUEST_ID_PLACEHOLDER,
    PaymentIntent,
    start_payment,
)
from dunwell.interfaces.landing.payment.payment_choice import (
    FIELDS,
    Options,
    RefusedChoice,
    can_pay,
    list_methods,
    list_options,
    read_carried_choice,
    read_choice,
    render_choice,
    takes_transfers,
)
from dunwell.interfaces.landing.payment.views import CheckPage, describe_amount, describe_choice
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import RoutedPages, in_session, takes_form
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.amounts import render_plain
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.responses import answer_redirect
from dunwell.platform.errors import InvalidState, ValidationError

_MOST_TYPED = 40
_TICKED: Mapping[str, Sequence[str] | None] = {"all": None, "none": ()}


@in_session
async def choose_amount(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    """Where there is nothing to choose, the page after it."""
    if not can_pay(site, opened):
        return site.redirect(site.frame_opened(visit, opened), "claim")
    options = list_options(opened)
    if options.has_any:
        return _answer_amount(site, visit, opened, options)
    return _answer_check(site, visit, opened, options.whole)


@in_session
async def check_payment(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    frame = site.frame_opened(visit, opened)
    if not can_pay(site, opened):
        return site.redirect(frame, "claim")
    choice = read_address(visit, opened, frame.language)
    if choice is None:
        return site.redirect(frame, "pay")
    if isinstance(choice, RefusedChoice):
        return _answer_amount(site, visit, opened, options=list_options(opened), refused=choice)
    return _answer_check(site, visit, opened, choice)


@takes_form
async def hand_off(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    frame = site.frame_opened(visit, opened)
    choice = read_carried_choice(form, list_options(opened), opened.facts.currency)
    if choice is None:
        return _answer_changed(site, visit, opened)
    return_path = frame.address("return", request_id=REQUEST_ID_PLACEHOLDER)
    wanted = PaymentIntent(
        provider=form.get("provider", ""),
        amount_cents=choice.cents,
        return_url=site.resources.settings.public_url + return_path,
        language=frame.language,
        kind=choice.kind,
        item_ids=choice.item_ids,
    )
    outcome = await start_hand_off(site, opened, wanted)
    if outcome is NotHandedOff.CHANGED:
        return _answer_changed(site, visit, await site.find_opened(visit) or opened)
    if outcome is NotHandedOff.AWAY and can_pay(site, opened):
        return _answer_check(site, visit, opened, choice=choice, notice="AWAY", status=503)
    if isinstance(outcome, NotHandedOff):
        return site.redirect(frame, "claim")
    return answer_redirect(outcome)


def read_address(
    visit: DebtorRequest, opened: OpenedClaim, language: str
) -> PaymentChoice | RefusedChoice | None:
    """None: nothing was chosen where there is something to choose, or it is not to be had."""
    options, query = list_options(opened), visit.query
    if options.has_any and not any(name in query for name in FIELDS):
        return None
    choice = read_choice(query, options, opened.facts.currency, language)
    return None if choice is RefusedChoice.CHANGED else choice


def _answer_changed(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    """What was shown is not to be had any more: choose again, or check all of it once more."""
    if not can_pay(site, opened):
        return site.redirect(site.frame_opened(visit, opened), "claim")
    options = list_options(opened)
    if options.has_any:
        return _answer_amount(site, visit, opened, options=options, refused=RefusedChoice.CHANGED)
    return _answer_check(site, visit, opened, choice=options.whole, notice="CHANGED")


def _answer_amount(
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    options: Options,
    refused: RefusedChoice | None = None,
) -> Response:
    frame = site.frame_opened(visit, opened)
    typed = (visit.read_query("amount") or "")[:_MOST_TYPED]
    given = visit.read_query("cents") or ""
    if not typed and given.isascii() and given.isdecimal() and len(given) <= len("999999999999"):
        typed = render_plain(int(given), opened.facts.currency, frame.language)
    # All or none at one press.
    given_items = _TICKED.get(visit.read_query("tick") or "", visit.query.get("item"))
    page = describe_amount(opened, options, typed=typed, ticked=given_items, refused=refused)
    # What has changed is no fault of the reader's.
    return site.answer(frame, page, 422 if refused not in (None, RefusedChoice.CHANGED) else 200)


def _answer_check(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, choice: PaymentChoice,
    notice: str | None = None, *, status: int = 200,
) -> Response:  # fmt: skip
    frame = site.frame_opened(visit, opened)
    methods = list_methods(site.providers, opened.merchant)
    if not methods:
        name, _, value = render_choice(choice).partition("=")
        return site.redirect(frame, "transfer", **{name: value})
    page = CheckPage(
        choice=describe_choice(opened, choice),
        rest_cents=opened.facts.outstanding_cents - choice.cents,
        methods=methods,
        takes_transfers=takes_transfers(opened.merchant),
        notice=notice,
    )
    origins = {site.hand_off_origins.get(method.name) for method in methods}
    return site.answer(frame, page, status, form_origins=sorted(filter(None, origins)))


class NotHandedOff(StrEnum):
    # The provider cannot be reached.
    AWAY = "AWAY"
    # Paid, ended, or money under way since the page was shown: the claim page says which.
    NOT_PAYABLE = "NOT_PAYABLE"
    # Another sum is owed.
    CHANGED = "CHANGED"


async def start_hand_off(
    site: DebtorSite, opened: OpenedClaim, wanted: PaymentIntent
) -> str | NotHandedOff:
    """The provider's page to go to. Raises ValidationError for a provider there is not."""
    actor = debtor_actor(str(opened.session.session_id))
    try:
        started = await start_payment(
            site.resources,
            site.providers,
            opened.merchant,
            actor=actor,
            claim_id=opened.facts.claim_id,
            intent=wanted,
        )
    except PaymentProviderUnavailable:
        return NotHandedOff.AWAY
    except InvalidState:
        return NotHandedOff.NOT_PAYABLE
    except ValidationError as refusal:
        if all(fault.code != "AMOUNT_CHANGED" for fault in refusal.faults):
            raise
        return NotHandedOff.CHANGED
    return started.url


PAGES: RoutedPages = {
    "pay": {"GET": choose_amount},
    "pay_method": {"GET": check_payment, "POST": hand_off},
}
