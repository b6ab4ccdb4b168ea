"""The claim's page: what many read alike, and what is one claim's."""

from collections.abc import Hashable, Sequence
from datetime import date, datetime
from functools import partial

from dunwell.claims.holds import HoldKind
from dunwell.disputes.case_number import render_case_number
from dunwell.landing.disputing import can_dispute, find_undisputed_cents
from dunwell.landing.facts import ItemFacts, PaymentFacts
from dunwell.landing.formats import render_amount, render_bound_day
from dunwell.landing.lookup import OpenedClaim
from dunwell.landing.pages import Frame, Pages, Slot
from dunwell.landing.session import Level
from dunwell.landing.shown_plans import Described, describe_schedule
from dunwell.landing.view import (
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


def render_claim(
    pages: Pages, frame: Frame, opened: OpenedClaim, now: datetime, *, can_pay: bool
) -> bytes:
    """now: the merchant's. can_pay: whether there is any way to."""
    facts, configuration = opened.facts, opened.merchant.configuration
    shows_all = opened.session.level.reaches(Level.FACT)
    items = facts.items if shows_all else []
    payments = [each for each in facts.payments if shows_all or each.request_id]
    topics = list_topics(facts, opened.modality, now)
    rate_cents = _find_rate_cents(opened) if shows_all else None
    allocated_cents = sum([item.allocated_cents for item in facts.items])
    overpaid_cents = facts.paid_cents - allocated_cents
    due_on, initials = facts.due_on, render_initials(facts)
    same: dict[str, Hashable] = {
        "state": decide_state(facts, now), "shows_all": shows_all, "can_pay": can_pay,
        "is_warned": frame.session is not None and frame.session.is_warned,
        "has_due_on": due_on is not None, "has_initials": bool(initials),
        "is_due": due_on is not None and due_on < find_day(now, configuration.timezone),
        "topics": tuple(topics), "has_rate": rate_cents is not None,
        "has_modality": opened.modality is not None, "can_dispute": can_dispute(facts),
        "is_overpaid": overpaid_cents > 0, "document_count": facts.document_count,
        "features": configuration.landing_page.features,
        "items": tuple([_find_kind(each) for each in items]),
        "has_receipts": tuple([each.request_id is not None for each in payments]),
    }  # fmt: skip
    show = partial(render_amount, currency=facts.currency, language=frame.language)
    slots: dict[str, Slot] = {
        "outstanding": show(facts.total_cents - allocated_cents), "overpaid": show(overpaid_cents),
        "nothing": show(0), "reference": facts.reference_number, "initials": initials,
        "due_on": render_bound_day(due_on, frame.language), "rate_cents": str(rate_cents),
        "values": [show(each.value_cents) for each in items],
        "paid": [show(each.amount_cents) for each in payments],
        **_list_words(frame.language, items), **_list_payments(frame.language, opened, payments),
    }  # fmt: skip
    if topics:
        more_same, more_slots = _describe_topics(frame.language, opened, now)
        same, slots = same | more_same, {**slots, **more_slots}
    if shows_all and opened.modality is not None and Topic.PLAN_ACTIVE in topics:
        more_same, more_slots = describe_schedule(opened.modality, frame.language)
        same, slots = same | more_same, {**slots, **more_slots}
    return pages.render_slotted("claim.html", frame, same, slots)


def _find_kind(item: ItemFacts) -> tuple[str, bool, bool, bool]:
    """What is said of an item."""
    return item.type, bool(item.reference), item.item_on is not None, item.due_on is not None


def _list_words(language: str, items: Sequence[ItemFacts]) -> dict[str, Sequence[str]]:
    """For the slots, each item in its place."""
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


def _describe_topics(language: str, opened: OpenedClaim, now: datetime) -> Described:
    """What the notices say of payments under way, plans, disputes and pauses."""
    facts, modality, configuration = opened.facts, opened.modality, opened.merchant.configuration
    show_day = partial(_show_day, language, configuration.timezone)
    sent_on, rate = find_announced(facts, now), find_next_rate(modality)
    undisputed = [find_undisputed_cents(each, facts, configuration) for each in facts.disputes]
    dispute_hold = find_hold(facts, HoldKind.DISPUTE, now)
    pause = find_hold(facts, HoldKind.PAUSE, now)
    same: dict[str, Hashable] = {
        "is_awaited": is_awaited(facts), "is_sent": sent_on is not None,
        "disputes": tuple([each is not None for each in undisputed]),
        "has_pause_end": pause is not None and pause.until is not None,
        "has_next_rate": rate is not None,
    }  # fmt: skip
    show = partial(render_amount, currency=facts.currency, language=language)
    slots: dict[str, str | Sequence[str]] = {
        "sent_on": show_day(sent_on),
        "awaited_id": str(facts.request.request_id) if facts.request else "",
        "disputed_on": [show_day(each.opened_at) for each in facts.disputes],
        "case_numbers": [render_case_number(each.dispute_id) for each in facts.disputes],
        "dispute_ids": [str(each.dispute_id) for each in facts.disputes],
        "undisputed_cents": [str(cents) for cents in undisputed],
        "undisputed": [show(cents or 0) for cents in undisputed],
        "held_since": show_day(dispute_hold.since if dispute_hold else None),
        "paused_until": show_day(pause.until if pause else None),
        "next_amount": show(rate.left_cents) if rate else "",
        "next_on": show_day(rate.due_on if rate else None),
        "modality_id": str(modality.modality_id) if modality else "",
        "deferred_until": show_day(modality.schedule[0].due_on if modality else None),
    }  # fmt: skip
    return same, slots


def _show_day(language: str, timezone: str, day: date | datetime | None) -> str:
    return render_bound_day(None if day is None else find_day(day, timezone), language)


def _find_rate_cents(opened: OpenedClaim) -> int | None:
    """What is left of a plan's next rate, unless it is all that is owed."""
    rate = find_next_rate(opened.modality)
    if rate is None or rate.left_cents >= opened.facts.outstanding_cents:
        return None
    return rate.left_cents
