"""Decide whether an entry with a bank's reference is known, new, or may be either.

An entry with the same reference, amount and day of booking is the same one. Some banks use a
reference again, and some move the day of booking of an entry. While the days are near each other,
only a person can distinguish the two cases, so such an entry is stored and a person decides. Pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from uuid import UUID

from dunwell.cases.statements.formats.statement import BankEntry

# A bank moves the day of booking past a weekend and holidays, but not further.
MAX_MOVED = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class PaymentMarks:
    """What distinguishes two payments: the end-to-end id and the digest of the payer's account.
    Both are None if they are not known, or if the entry has several payments."""

    end_to_end_id: str | None = None
    payer_digest: bytes | None = None

    def contradict(self, other: "PaymentMarks") -> bool:
        """Return whether the marks cannot belong to the same payment."""
        pairs = (
            (self.end_to_end_id, other.end_to_end_id), (self.payer_digest, other.payer_digest),
        )  # fmt: skip
        return any(None not in pair and pair[0] != pair[1] for pair in pairs)


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """A booked entry with a reference, as it is stored."""

    entry_id: UUID
    bank_reference: str
    amount_cents: int
    currency: str
    booked_on: date
    charges_cents: int
    statement_hash: bytes
    transaction_count: int
    marks: PaymentMarks


@dataclass(frozen=True, slots=True)
class EntryDecision:
    is_known: bool
    # What distinguishes the entry from another one with the same reference, amount and day.
    other_marks: PaymentMarks | None = None
    # The day of an entry of another statement that may be the same one.
    resembles_on: date | None = None


def is_near(first: date | None, second: date | None) -> bool:
    """Return whether one entry may have been booked on both days."""
    return first is not None and second is not None and abs(first - second) <= MAX_MOVED


def decide_entry(
    entry: BankEntry,
    ordinal: int,
    marks: PaymentMarks,
    stored: Iterable[StoredEntry],
    statement_hash: bytes,
) -> EntryDecision:
    """Decide whether an entry of the statement with this hash is known. `ordinal` is its place
    among equal entries of the statement, and `stored` are entries with its reference."""
    equal = [
        each
        for each in stored
        if (each.amount_cents, each.currency) == (entry.amount_cents, entry.currency)
        and is_near(each.booked_on, entry.booked_on)
    ]
    of_day = [each for each in equal if each.booked_on == entry.booked_on]
    is_taken = len(of_day) > ordinal
    if is_taken and not all(marks.contradict(each.marks) for each in of_day):
        return EntryDecision(is_known=True)
    # Two statements that differ only in their texts have the same hash.
    others = [each.booked_on for each in equal if is_taken or each.statement_hash != statement_hash]
    return EntryDecision(
        is_known=False,
        other_marks=marks if is_taken else None,
        resembles_on=_find_nearest(entry, others),
    )


def _find_nearest(entry: BankEntry, days: Sequence[date]) -> date | None:
    booked_on = entry.booked_on
    if booked_on is None:
        return None
    return min(days, key=lambda each: (abs(each - booked_on), each), default=None)
