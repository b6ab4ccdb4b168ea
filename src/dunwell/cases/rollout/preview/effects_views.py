"""The figures of a preview for programs and as tables, so that command line and portal show the
same rows. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import msgspec

from dunwell.accounts.merchants.configuration import CHANNELS
from dunwell.cases.rollout.preview.costs import PreviewCosts
from dunwell.cases.rollout.preview.effects import (
    ClaimContactChange,
    ContactAspect,
    ContactChangeKind,
    DebtorFees,
    PreviewEffects,
    PreviewOutlook,
)
from dunwell.cases.rollout.uses import render_claim_count

_KIND_WORDS = {
    ContactChangeKind.CHANGED: "changed",
    ContactChangeKind.GONE: "gone",
    ContactChangeKind.NEW: "new",
    ContactChangeKind.UNCHANGED: "unchanged",
    ContactChangeKind.HELD: "held without end",
    ContactChangeKind.UNSETTLED: "waiting for a decision",
}


class NextContactsView(msgspec.Struct, frozen=True, rename="camel"):
    """The number of claims of each kind, and what differs in the changed contacts."""

    claims: int
    kinds: dict[str, int]
    aspects: dict[str, int]
    listed: list[ClaimContactChange]


class DraftEffectsView(NextContactsView, frozen=True, rename="camel"):
    """The next contacts, and what the draft does within the previewed days. It is stored with its
    job."""

    days: int = 0
    outlook: "OutlookView | None" = None
    # None if no days were previewed or no delivery provider of the merchant has prices.
    costs: PreviewCosts | None = None


class ContactsView(msgspec.Struct, frozen=True, rename="camel"):
    day: date
    # Contacts by channel, and delayed contacts by reason.
    contacts: dict[str, int]
    held_back: dict[str, int]


class FeeSumView(msgspec.Struct, frozen=True, rename="camel"):
    cents: int
    debtors: int


class OutlookView(msgspec.Struct, frozen=True, rename="camel"):
    """What the draft does within the previewed days to the claims that are not on hold."""

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


def build_next_contacts_view(effects: PreviewEffects) -> NextContactsView:
    return NextContactsView(
        claims=effects.claims,
        kinds={kind.value: effects.counts[kind] for kind in ContactChangeKind},
        aspects={aspect.value: effects.aspects[aspect] for aspect in ContactAspect},
        listed=effects.listed,
    )


def build_draft_effects_view(
    effects: PreviewEffects, days: int, costs: PreviewCosts | None
) -> DraftEffectsView:
    """Build the view. `days` is the number of previewed days."""
    contacts = build_next_contacts_view(effects)
    return DraftEffectsView(
        claims=contacts.claims,
        kinds=contacts.kinds,
        aspects=contacts.aspects,
        listed=contacts.listed,
        days=days,
        outlook=None if effects.outlook is None else build_outlook_view(effects.outlook),
        costs=costs,
    )


def build_outlook_view(outlook: PreviewOutlook) -> OutlookView:
    days = sorted({day for day, _ in [*outlook.contacts, *outlook.held_back]})
    return OutlookView(
        since=outlook.since,
        until=outlook.until,
        claims=outlook.claims,
        persons=outlook.persons,
        days=[_build_day(outlook, day) for day in days],
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


def describe_next_contacts(effects: PreviewEffects) -> str:
    """Return a line such as `next contacts of 12 claims: 3 changed (time 2, content 1), 9
    unchanged`."""
    parts = []
    for kind, words in _KIND_WORDS.items():
        count = effects.counts[kind]
        if not count:
            continue
        aspects = describe_aspects(effects) if kind is ContactChangeKind.CHANGED else ""
        parts.append(f"{count:,} {words}{f' ({aspects})' if aspects else ''}")
    return f"next contacts of {render_claim_count(effects.claims)}: {', '.join(parts)}"


def describe_aspects(effects: PreviewEffects) -> str:
    counts = [(aspect, effects.aspects[aspect]) for aspect in ContactAspect]
    return ", ".join(f"{aspect.lower()} {count:,}" for aspect, count in counts if count)


def _build_day(outlook: PreviewOutlook, day: date) -> ContactsView:
    return ContactsView(
        day,
        {channel: n for (on, channel), n in sorted(outlook.contacts.items()) if on == day},
        {by.value: n for (on, by), n in sorted(outlook.held_back.items()) if on == day},
    )


# Longer periods are shown by week. Six weeks of single days can still be read at a glance.
MAX_DAYS_SHOWN = 42
# Usually there are few different totals. More rows than this would hide the sum.
MAX_SUMS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class DayRow:
    """The contacts of a day, or of the week that starts on it, in the order of
    `CHANNELS`.
    """

    first: date
    contacts: Sequence[int]
    held_back: int


@dataclass(frozen=True, slots=True)
class DayTable:
    is_by_week: bool
    rows: Sequence[DayRow]
    contacts: Sequence[int]
    held_back: int


@dataclass(frozen=True, slots=True)
class FeeFigures:
    fees: int
    debtors: int
    cents: int
    # The lowest totals. `more_debtors` get higher ones.
    sums: Sequence[FeeSumView]
    more_debtors: int
    highest: DebtorFees | None


def build_day_table(outlook: OutlookView, days: int) -> DayTable:
    """Build the table. The number of previewed days decides whether rows are days or weeks."""
    is_by_week = days > MAX_DAYS_SHOWN
    counts_by_day: dict[date, list[int]] = {}
    for each in outlook.days:
        first = each.day - timedelta(days=each.day.weekday()) if is_by_week else each.day
        row = counts_by_day.setdefault(first, [0] * (len(CHANNELS) + 1))
        for index, channel in enumerate(CHANNELS):
            row[index] += each.contacts.get(channel, 0)
        row[-1] += sum(each.held_back.values())
    rows = [DayRow(first, row[:-1], row[-1]) for first, row in sorted(counts_by_day.items())]
    contacts = [sum(row.contacts[index] for row in rows) for index in range(len(CHANNELS))]
    return DayTable(is_by_week, rows, contacts, sum(row.held_back for row in rows))


def count_held_back(outlook: OutlookView) -> dict[str, int]:
    """Return the number of delays by reason. One contact may be delayed several times, and is sent
    later."""
    counts: dict[str, int] = {}
    for day in outlook.days:
        for by, count in day.held_back.items():
            counts[by] = counts.get(by, 0) + count
    return counts


def compute_fee_figures(outlook: OutlookView) -> FeeFigures:
    sums = sorted(outlook.fee_sums, key=lambda each: each.cents)
    return FeeFigures(
        fees=outlook.fees,
        debtors=sum(each.debtors for each in sums),
        cents=sum(each.cents * each.debtors for each in sums),
        sums=sums[:MAX_SUMS_SHOWN],
        more_debtors=sum(each.debtors for each in sums[MAX_SUMS_SHOWN:]),
        highest=max(outlook.highest_fees, default=None),
    )
