"""A preview's figures for programs, names on the wire in camelCase, and in one line. Pure."""

from datetime import date, datetime

import msgspec

from dunwell.cases.rollout.costs import Costs
from dunwell.cases.rollout.effects import Effects
from dunwell.cases.rollout.next_contacts import Aspect, ClaimPreview, Kind
from dunwell.cases.rollout.outlook import DebtorFees, Outlook
from dunwell.cases.rollout.uses import describe_count

_KIND_WORDS = {
    Kind.CHANGED: "changed",
    Kind.GONE: "gone",
    Kind.NEW: "new",
    Kind.UNCHANGED: "unchanged",
    Kind.HELD: "held without end",
    Kind.UNSETTLED: "waiting for a person",
}


class NextContactsView(msgspec.Struct, frozen=True, rename="camel"):
    """How many claims of each kind, and of the changed ones what differs."""

    claims: int
    kinds: dict[str, int]
    aspects: dict[str, int]
    listed: list[ClaimPreview]


class DraftEffectsView(NextContactsView, frozen=True, rename="camel"):
    """The next contacts, and what the draft does in the days after them. Stored with its job."""

    days: int = 0
    outlook: "OutlookView | None" = None
    # None: nothing was played forward, or no line of the merchant has prices.
    costs: Costs | None = None


class ContactsView(msgspec.Struct, frozen=True, rename="camel"):
    day: date
    # By channel, and what was held back by what.
    contacts: dict[str, int]
    held_back: dict[str, int]


class FeeSumView(msgspec.Struct, frozen=True, rename="camel"):
    cents: int
    debtors: int


class OutlookView(msgspec.Struct, frozen=True, rename="camel"):
    """What the draft does in the window to the claims that are not held."""

    since: datetime
    until: datetime
    claims: int
    persons: int
    days: list[ContactsView]
    fees: int
    fee_sums: list[FeeSumView]
    highest_fees: list[DebtorFees]
    unreachable: int
    unreachable_examples: list[str]
    missed_contacts: int
    archived: int


def view_next_contacts(effects: Effects) -> NextContactsView:
    return NextContactsView(
        claims=effects.claims,
        kinds={kind.value: effects.counts[kind] for kind in Kind},
        aspects={aspect.value: effects.aspects[aspect] for aspect in Aspect},
        listed=effects.listed,
    )


def view_draft_effects(effects: Effects, days: int, costs: Costs | None) -> DraftEffectsView:
    """days: of the window that was played forward."""
    contacts = view_next_contacts(effects)
    return DraftEffectsView(
        claims=contacts.claims,
        kinds=contacts.kinds,
        aspects=contacts.aspects,
        listed=contacts.listed,
        days=days,
        outlook=None if effects.outlook is None else view_outlook(effects.outlook),
        costs=costs,
    )


def view_outlook(outlook: Outlook) -> OutlookView:
    days = sorted({day for day, _ in [*outlook.contacts, *outlook.held_back]})
    return OutlookView(
        since=outlook.since,
        until=outlook.until,
        claims=outlook.claims,
        persons=outlook.persons,
        days=[_view_day(outlook, day) for day in days],
        fees=outlook.fees,
        fee_sums=[
            FeeSumView(cents, debtors) for cents, debtors in sorted(outlook.fee_sums.items())
        ],
        highest_fees=sorted(outlook.highest_fees, reverse=True),
        unreachable=outlook.unreachable,
        unreachable_examples=outlook.unreachable_examples,
        missed_contacts=outlook.missed_contacts,
        archived=outlook.archived,
    )


def describe_next_contacts(effects: Effects) -> str:
    """`next contacts of 12 claims: 3 changed (time 2, content 1), 9 unchanged`."""
    told = []
    for kind, words in _KIND_WORDS.items():
        count = effects.counts[kind]
        if not count:
            continue
        aspects = describe_aspects(effects) if kind is Kind.CHANGED else ""
        told.append(f"{count:,} {words}{f' ({aspects})' if aspects else ''}")
    return f"next contacts of {describe_count(effects.claims)}: {', '.join(told)}"


def describe_aspects(effects: Effects) -> str:
    found = [(aspect, effects.aspects[aspect]) for aspect in Aspect]
    return ", ".join(f"{aspect.lower()} {count:,}" for aspect, count in found if count)


def _view_day(outlook: Outlook, day: date) -> ContactsView:
    return ContactsView(
        day,
        {channel: n for (on, channel), n in sorted(outlook.contacts.items()) if on == day},
        {by.value: n for (on, by), n in sorted(outlook.held_back.items()) if on == day},
    )
