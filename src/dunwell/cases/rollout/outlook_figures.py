"""The figures of an outlook as tables show them: the command line and the portal
show the same rows, sums and limits. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from dunwell.accounts.merchants.configuration import Channel
from dunwell.cases.rollout.effects_views import FeeSumView, OutlookView
from dunwell.cases.rollout.outlook import DebtorFees

CHANNELS: tuple[Channel, ...] = ("EMAIL", "SMS", "LETTER")
# Six weeks of single days are read at a glance; a longer window is shown by weeks.
MOST_DAYS_SHOWN = 42
# Fees are few different sums as a rule; more than this would hide the total.
MOST_SUMS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class DayRow:
    """The contacts of a day, or of the week that begins with it, in the order of `CHANNELS`."""

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
    # The lowest sums; `more_debtors` get fees of a higher one.
    sums: Sequence[FeeSumView]
    more_debtors: int
    highest: DebtorFees | None


def tabulate_days(outlook: OutlookView, days: int) -> DayTable:
    """days: of the window, which decides whether the rows are days or weeks."""
    is_by_week = days > MOST_DAYS_SHOWN
    found: dict[date, list[int]] = {}
    for each in outlook.days:
        first = each.day - timedelta(days=each.day.weekday()) if is_by_week else each.day
        row = found.setdefault(first, [0] * (len(CHANNELS) + 1))
        for place, channel in enumerate(CHANNELS):
            row[place] += each.contacts.get(channel, 0)
        row[-1] += sum(each.held_back.values())
    rows = [DayRow(first, row[:-1], row[-1]) for first, row in sorted(found.items())]
    contacts = [sum(row.contacts[place] for row in rows) for place in range(len(CHANNELS))]
    return DayTable(is_by_week, rows, contacts, sum(row.held_back for row in rows))


def count_held_back(outlook: OutlookView) -> dict[str, int]:
    """How many contacts were held back by what; each is sent later."""
    counts: dict[str, int] = {}
    for day in outlook.days:
        for by, count in day.held_back.items():
            counts[by] = counts.get(by, 0) + count
    return counts


def add_up_fees(outlook: OutlookView) -> FeeFigures:
    sums = sorted(outlook.fee_sums, key=lambda each: each.cents)
    return FeeFigures(
        fees=outlook.fees,
        debtors=sum(each.debtors for each in sums),
        cents=sum(each.cents * each.debtors for each in sums),
        sums=sums[:MOST_SUMS_SHOWN],
        more_debtors=sum(each.debtors for each in sums[MOST_SUMS_SHOWN:]),
        highest=max(outlook.highest_fees, default=None),
    )
