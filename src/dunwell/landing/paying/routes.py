"""Paying: how much, by which method, and the hand-off to a provider.

What is chosen stands in the address; the amount is the server's, and what a form says was shown is
only compared with it.
"""

from functools import partial

from dunwell.errors import Fault, InvalidState, ValidationError
from dunwell.landing.paying.choosing import (
    FIELDS,
    Options,
    Refused,
    find_options,
    read_choice,
    render_choice,
)
from dunwell.landing.paying.methods import has_method, list_methods, takes_transfers
from dunwell.landing.render.amounts import render_plain
from dunwell.landing.render.formats import render_amount
from dunwell.landing.render.pages import Frame
from dunwell.landing.render.slots import Slot
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.session.session import Level
from dunwell.landing.session.states import decide_state, find_next_rate, is_payable
from dunwell.landing.web.answer import Answer, answer_page, answer_redirect
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.in_session import in_session, takes_form
from dunwell.landing.web.visit import Form, Visit
from dunwell.merchants.actor import Actor, ActorKind
from dunwell.messages.formatting import render_line
from dunwell.payments.choice import Choice, allow_rate
from dunwell.payments.provider import ProviderAway
from dunwell.payments.start_payment import REQUEST_ID_MARK, StartPayment, start_payment

_MOST_TYPED = 40


@in_session
async def choose_amount(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    """Where there is nothing to choose, the page after it."""
    if not can_pay(desk, opened):
        return desk.redirect(desk.frame_opened(visit, opened), "/claim")
    options = list_options(opened)
    if options.has_any:
        return _answer_amount(desk, visit, opened, options)
    return _answer_check(desk, visit, opened, options.whole)


@in_session
async def check_payment(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    frame = desk.frame_opened(visit, opened)
    if not can_pay(desk, opened):
        return desk.redirect(frame, "/claim")
    choice = read_address(visit, opened, frame.language)
    if choice is None:
        return desk.redirect(frame, "/claim/pay")
    if isinstance(choice, Refused):
        return _answer_amount(desk, visit, opened, list_options(opened), choice)
    return _answer_check(desk, visit, opened, choice)


@takes_form
async def hand_off(desk: Desk, visit: Visit, opened: OpenedClaim, form: Form) -> Answer:
    frame = desk.frame_opened(visit, opened)
    choice = read_form(form, opened)
    if choice is None:
        return _answer_changed(desk, visit, opened)
    public_url = desk.resources.settings.public_url
    wanted = StartPayment(
        provider=form.get("provider", ""),
        amount_cents=choice.cents,
        return_url=f"{public_url}/claim/return/{REQUEST_ID_MARK}{frame.query}",
        language=frame.language,
        kind=choice.kind,
        item_ids=choice.item_ids,
    )
    actor = Actor(ActorKind.DEBTOR, str(opened.session.session_id))
    try:
        started = await start_payment(
            desk.resources, desk.providers, opened.merchant, actor, opened.facts.claim_id, wanted
        )
    except ProviderAway:
        if not can_pay(desk, opened):
            return desk.redirect(frame, "/claim")
        return _answer_check(desk, visit, opened, choice, "AWAY", status=503)
    except InvalidState:
        # Paid, ended, or money under way since the page was shown: the claim page says which.
        return desk.redirect(frame, "/claim")
    except ValidationError as refusal:
        if not is_amount(refusal.faults):
            raise
        return _answer_changed(desk, visit, await desk.find_opened(visit) or opened)
    return answer_redirect(started.url)


def can_pay(desk: Desk, opened: OpenedClaim) -> bool:
    state = decide_state(opened.facts, opened.merchant.now(desk.resources.clock))
    return is_payable(state) and has_method(desk.providers, opened.merchant)


def list_options(opened: OpenedClaim) -> Options:
    partial = opened.merchant.configuration.payment.partial
    shows_items = opened.session.level.reaches(Level.FACT)
    rate = find_next_rate(opened.modality) if shows_items else None
    partial = allow_rate(partial, None if rate is None else rate.left_cents)
    return find_options(opened.facts, partial, shows_items=shows_items)


def read_address(visit: Visit, opened: OpenedClaim, language: str) -> Choice | Refused | None:
    """None: nothing was chosen where there is something to choose, or it is not to be had."""
    options, query = list_options(opened), visit.query
    if options.has_any and not any(name in query for name in FIELDS):
        return None
    choice = read_choice(query, options, opened.facts.currency, language)
    return None if choice is Refused.CHANGED else choice


def read_form(form: Form, opened: OpenedClaim) -> Choice | None:
    """What a form carries on, worked out anew; None: another sum was shown for it."""
    carried: dict[str, list[str]] = {
        name: [form[name]] for name in ("cents", "items") if name in form
    }
    choice = read_choice(carried, list_options(opened), opened.facts.currency, "")
    if isinstance(choice, Refused) or form.get("shown") != str(choice.cents):
        return None
    return choice


def describe_choice(
    desk: Desk, frame: Frame, opened: OpenedClaim, choice: Choice
) -> dict[str, str]:
    """For the slots of pages that carry it on."""
    chosen, facts, carried = set(choice.item_ids), opened.facts, render_choice(choice)
    items = [item for item in facts.items if item.item_id in chosen]
    name, _, value = carried.partition("=")
    return {
        "amount": desk.show_amount(choice.cents, frame, opened),
        "reference": render_line(facts.reference_number),
        "chosen_items": desk.pages.render_part("_chosen.html", frame, items=items, facts=facts)
        if items else "",
        "shown_cents": str(choice.cents), "carried_name": name, "carried_value": value,
        "address_end": f"?{carried}{frame.query.replace('?', '&')}",
    }  # fmt: skip


def is_amount(faults: list[Fault]) -> bool:
    return any(fault.code == "AMOUNT_CHANGED" for fault in faults)


def _answer_changed(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    """What was shown is not to be had any more: choose again, or check all of it once more."""
    if not can_pay(desk, opened):
        return desk.redirect(desk.frame_opened(visit, opened), "/claim")
    options = list_options(opened)
    if options.has_any:
        return _answer_amount(desk, visit, opened, options, Refused.CHANGED)
    return _answer_check(desk, visit, opened, options.whole, "CHANGED")


def _answer_amount(
    desk: Desk,
    visit: Visit,
    opened: OpenedClaim,
    options: Options,
    refused: Refused | None = None,
) -> Answer:
    frame = desk.frame_opened(visit, opened)
    currency = opened.facts.currency
    typed = (visit.read_query("amount") or "")[:_MOST_TYPED]
    given = visit.read_query("cents") or ""
    if not typed and given.isascii() and given.isdecimal() and len(given) <= len("999999999999"):
        typed = render_plain(int(given), currency, frame.language)
    bounds = options.bounds
    ticked = [] if refused is Refused.NO_ITEM else visit.query.get("item")
    same = {
        "refused": refused, "has_bounds": bounds is not None,
        "groups": tuple(
            (
                each.item.type, bool(each.item.reference), bool(each.fees),
            )
            for each in options.groups
        ),
    }  # fmt: skip
    show = partial(render_amount, currency=currency, language=frame.language)
    slots: dict[str, Slot] = {
        "typed": {"amount": typed} if typed else {},
        "most": show(options.outstanding_cents),
        "least": show(bounds.least_cents) if bounds else "",
        "example": render_plain(bounds.least_cents, currency, frame.language) if bounds else "",
        "item_ids": [str(each.item.item_id) for each in options.groups],
        "ticks": [
            " checked" if ticked is None or str(each.item.item_id) in ticked else ""
            for each in options.groups
        ],
        "references": [render_line(each.item.reference) for each in options.groups],
        "amounts": [show(each.cents) for each in options.groups],
        "fees": [show(each.fees_cents) for each in options.groups],
        "address_end": frame.query.replace("?", "&"),
    }
    body = desk.pages.render_slotted("pay_amount.html", frame, same, slots)
    # What has changed is no fault of the reader's.
    return answer_page(body, 422 if refused not in (None, Refused.CHANGED) else 200)


def _answer_check(
    desk: Desk,
    visit: Visit,
    opened: OpenedClaim,
    choice: Choice,
    notice: str | None = None,
    status: int = 200,
) -> Answer:
    frame = desk.frame_opened(visit, opened)
    methods = list_methods(desk.providers, opened.merchant)
    if not methods:
        return desk.redirect(frame, f"/claim/pay/transfer?{render_choice(choice)}")
    rest_cents = opened.facts.outstanding_cents - choice.cents
    same = {
        "methods": tuple(methods), "notice": notice, "has_rest": rest_cents > 0,
        "takes_transfers": takes_transfers(opened.merchant),
    }  # fmt: skip
    slots = {
        **describe_choice(desk, frame, opened, choice),
        "rest": desk.show_amount(rest_cents, frame, opened),
    }  # fmt: skip
    body = desk.pages.render_slotted("pay.html", frame, same, slots)
    origins = {desk.hand_off_origins.get(method.name) for method in methods} - {None}
    return answer_page(body, status, form_origins=sorted(filter(None, origins)))
