"""The claim's page: what many read alike, and what is one claim's."""

from collections.abc import Hashable, Iterator, Sequence
from datetime import date, datetime
from functools import partial

from dunwell.claims.holds import HoldKind
from dunwell.disputes.dispute import render_case_number
from dunwell.landing.arranging.shown_plans import describe_schedule
from dunwell.landing.objecting.disputing import can_dispute, find_undisputed_cents
from dunwell.landing.render.formats import render_amount, render_bound_day
from dunwell.landing.render.pages import Frame, Pages
from dunwell.landing.render.slots import Described, Slot
from dunwell.landing.session.facts import ItemFacts, PaymentFacts
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.session.session import Level
from dunwell.landing.session.states import (
    Topic,
    decide_state,
    find_announced,
    find_day,
    find_hold,
    find_next_rate,
    is_awaited,
    list_topics,
    render_initials,
)
from dunwell.messages.formatting import render_line
from dunwell.modalities.modality import Modality


def render_claim(
    pages: Pages, frame: Frame, opened: OpenedClaim, now: datetime, *, can_pay: bool
) -> bytes:
    """now: the merchant's. can_pay: whether there is any way to."""
    facts, configuration = opened.facts, opened.merchant.configuration
    shows_all = opened.session.level.reaches(Level.FACT)
    items = facts.items if shows_all else []
    payments = [each for each in facts.payments if shows_all or each.request_id]
    state = decide_state(facts, now)
    topics = list_topics(facts, state, opened.modality, now)
    rate_cents = _find_rate_cents(opened) if shows_all else None
    allocated_cents = sum([item.allocated_cents for item in facts.items])
    overpaid_cents = facts.paid_cents - allocated_cents
    due_on, initials = facts.due_on, render_initials(facts)
    same: dict[str, Hashable] = {
        "state": state, "shows_all": shows_all, "can_pay": can_pay,
        "is_warned": frame.session is not None and frame.session.is_warned,
        "has_due_on": due_on is not None, "has_initials": bool(initials),
        "is_due": due_on is not None and due_on < find_day(now, configuration.timezone),
        "topics": tuple(topics), "has_rate": rate_cents is not None,
        "has_modality": opened.modality is not None, "can_dispute": can_dispute(facts),
        "is_overpaid": overpaid_cents > 0, "document_count": facts.document_count,
        "features": configuration.landing_page.features,
        "items": tuple([_describe_item(each) for each in items]),
        "payments": tuple([each.request_id is not None for each in payments]),
    }  # fmt: skip
    show = partial(render_amount, currency=facts.currency, language=frame.language)
    slots: dict[str, Slot] = {
        "outstanding": show(facts.total_cents - allocated_cents), "overpaid": show(overpaid_cents),
        "nothing": show(0), "reference": facts.reference_number, "initials": initials,
        "due_on": render_bound_day(due_on, frame.language), "rate_cents": str(rate_cents or ""),
        "values": [show(each.value_cents) for each in items],
        "paid": [show(each.amount_cents) for each in payments],
        **_list_item_texts(frame.language, items),
        **_list_payments(frame.language, opened, payments),
    }  # fmt: skip
    for more_same, more_slots in _describe_more(frame.language, opened, now, topics):
        same.update(more_same)
        slots.update(more_slots)
    return pages.render_slotted("claim.html", frame, same, slots)


def _describe_item(item: ItemFacts) -> tuple[str, bool, bool, bool]:
    """What its line says beside its amount: type, reference, day, day it was due."""
    return item.type, bool(item.reference), item.item_on is not None, item.due_on is not None


def _list_item_texts(language: str, items: Sequence[ItemFacts]) -> dict[str, Sequence[str]]:
    """For the slots, each item in its place; "" for what it does not have."""
    return {
        "references": [render_line(each.reference) for each in items],
        "item_days": [render_bound_day(each.item_on, language) for each in items],
        "due_days": [render_bound_day(each.due_on, language) for each in items],
    }


def _list_payments(
    language: str, opened: OpenedClaim, payments: Sequence[PaymentFacts]
) -> dict[str, Sequence[str]]:
    timezone = opened.merchant.configuration.timezone
    return {
        "paid_days": [_show_day(language, timezone, each.paid_at) for each in payments],
        "request_ids": [str(each.request_id) for each in payments],
    }


def _describe_more(
    language: str, opened: OpenedClaim, now: datetime, topics: Sequence[Topic]
) -> Iterator[Described]:
    """Of a claim that more is to be said of than its amount."""
    if topics:
        yield from _describe_topics(language, opened, now, topics)
    if Topic.PLAN_ACTIVE in topics and opened.modality is not None:
        yield describe_schedule(opened.modality, language)


def _describe_topics(
    language: str, opened: OpenedClaim, now: datetime, topics: Sequence[Topic]
) -> Iterator[Described]:
    """What the notices say of payments under way, plans, disputes and pauses."""
    show_day = partial(_show_day, language, opened.merchant.configuration.timezone)
    if Topic.PAYMENT_PENDING in topics:
        request, sent_on = opened.facts.request, find_announced(opened.facts, now)
        yield (
            {"is_awaited": is_awaited(opened.facts), "is_sent": sent_on is not None},
            {
                "sent_on": show_day(sent_on),
                "awaited_id": str(request.request_id) if request else "",
            },
        )
    if Topic.DISPUTED in topics:
        yield _describe_disputes(language, opened, now)
    if Topic.PAUSED in topics:
        pause = find_hold(opened.facts, HoldKind.PAUSE, now)
        until = pause.until if pause else None
        yield {"has_pause_end": until is not None}, {"paused_until": show_day(until)}
    if opened.modality is not None:
        yield _describe_modality(language, opened.modality)


def _describe_disputes(language: str, opened: OpenedClaim, now: datetime) -> Described:
    facts, configuration = opened.facts, opened.merchant.configuration
    show_day = partial(_show_day, language, configuration.timezone)
    undisputed = [find_undisputed_cents(each, facts, configuration) for each in facts.disputes]
    # What the merchant stopped without a dispute.
    hold = None if facts.disputes else find_hold(facts, HoldKind.DISPUTE, now)
    return {"disputes": tuple([bool(cents) for cents in undisputed])}, {
        "disputed_on": [show_day(each.opened_at) for each in facts.disputes],
        "case_numbers": [render_case_number(each.dispute_id) for each in facts.disputes],
        "dispute_ids": [str(each.dispute_id) for each in facts.disputes],
        "undisputed_cents": [str(cents or "") for cents in undisputed],
        "undisputed": [render_amount(each or 0, facts.currency, language) for each in undisputed],
        "held_since": show_day(hold.since if hold else None),
    }  # fmt: skip


def _describe_modality(language: str, modality: Modality) -> Described:
    rate = find_next_rate(modality)
    return {"has_next_rate": rate is not None}, {
        "next_amount": render_amount(rate.left_cents, modality.currency, language) if rate else "",
        "next_on": render_bound_day(rate.due_on if rate else None, language),
        "modality_id": str(modality.modality_id),
        "deferred_until": render_bound_day(modality.schedule[0].due_on, language),
    }


def _show_day(language: str, timezone: str, day: date | datetime | None) -> str:
    return render_bound_day(None if day is None else find_day(day, timezone), language)


def _find_rate_cents(opened: OpenedClaim) -> int | None:
    """What is left of a plan's next rate, unless it is all that is owed."""
    rate = find_next_rate(opened.modality)
    if rate is None or rate.left_cents >= opened.facts.outstanding_cents:
        return None
    return rate.left_cents
