"""Divide an amount into monthly instalments, exact to the cent.

The first instalments get one cent more if the division has a remainder: 10240 in 3 is 3414, 3413,
3413. Each date has the first one's day of the month, or the last day of a shorter month. Pure.
"""

from calendar import monthrange
from collections.abc import Sequence
from datetime import date

import msgspec
from msgspec.structs import replace

_DAYS_OF_EVERY_MONTH = 28


class Instalment(msgspec.Struct, frozen=True, gc=False):
    """An instalment of a schedule, and what has been paid of it. `number` counts from 1.

    `awaited_on` is set for an instalment that is collected by direct debit: the instalment is not
    missed before this day is over. After a return or a cancellation it is the day of that event.
    """

    number: int
    due_on: date
    amount_cents: int
    paid_cents: int = 0
    awaited_on: date | None = None

    @property
    def missed_after(self) -> date:
        """The day after which the instalment is missed if it is not paid."""
        return self.due_on if self.awaited_on is None else max(self.due_on, self.awaited_on)

    @property
    def left_cents(self) -> int:
        return max(0, self.amount_cents - self.paid_cents)

    @property
    def is_paid(self) -> bool:
        return self.paid_cents >= self.amount_cents


class InstalmentShares(msgspec.Struct, frozen=True, gc=False):
    """The first instalments have one amount, and the others, if any, another."""

    first_count: int
    first_cents: int
    last_count: int
    last_cents: int


def compute_shares(amount_cents: int, count: int) -> InstalmentShares:
    """Divide the amount into `count` instalments of at least one cent each."""
    share, remainder = divmod(amount_cents, count)
    if not remainder:
        return InstalmentShares(count, share, 0, share)
    return InstalmentShares(remainder, share + 1, count - remainder, share)


def build_schedule(amount_cents: int, count: int, first_on: date) -> tuple[Instalment, ...]:
    """Return `count` monthly instalments of at least one cent each."""
    shares = compute_shares(amount_cents, count)
    return tuple(
        Instalment(
            index + 1,
            add_months(first_on, index),
            shares.first_cents if index < shares.first_count else shares.last_cents,
        )
        for index in range(count)
    )


def add_months(day: date, months: int) -> date:
    """Return the same day `months` later, or the last day of a shorter month."""
    years, month = divmod(day.month - 1 + months, 12)
    year, month = day.year + years, month + 1
    if day.day <= _DAYS_OF_EVERY_MONTH:
        return date(year, month, day.day)
    return date(year, month, min(day.day, monthrange(year, month)[1]))


def apply_payments(instalments: Sequence[Instalment], paid_cents: int) -> tuple[Instalment, ...]:
    """Apply the paid amount to the instalments in order. What is left over is ignored."""
    covered, left = [], max(0, paid_cents)
    for instalment in instalments:
        paid = min(left, instalment.amount_cents)
        is_unchanged = paid == instalment.paid_cents
        covered.append(instalment if is_unchanged else replace(instalment, paid_cents=paid))
        left -= paid
    return tuple(covered)
