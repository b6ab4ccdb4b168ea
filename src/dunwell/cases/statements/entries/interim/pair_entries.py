"""Recognise the entries of intraday reports (camt.052, MT942) in the statement of the day.

Without a bank's reference, an entry is recognised by its texts, and a statement often has more
texts, or a reference, where the report had none. The statement is authoritative for its day: one of
its entries and an entry of a report are the same if day and amount are equal, neither was
recognised by its key, and no fact that both have differs. Each entry is used once, so that two
equal payments stay two. Pure.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from dunwell.cases.statements.formats.repeated_entries import PaymentMarks
from dunwell.cases.statements.formats.statement import BankEntry


@dataclass(frozen=True, slots=True)
class StoredCandidate:
    """A stored entry: of a report if a statement arrives, of a statement if a report arrives."""

    entry_id: UUID
    entry_key: str
    bank_reference: str | None
    amount_cents: int
    currency: str
    booked_on: date
    transaction_count: int
    # Whether its transactions are held with its statement.
    is_held: bool
    marks: PaymentMarks


@dataclass(frozen=True, slots=True)
class UnknownEntry:
    """An arriving entry whose key no stored entry has, with its number in the statement."""

    number: int
    entry: BankEntry
    marks: PaymentMarks


def pair_entries(
    unknown: Sequence[UnknownEntry], stored: Sequence[StoredCandidate], keys: Collection[str]
) -> dict[int, StoredCandidate]:
    """Map the number of each recognised arriving entry to its stored entry. `keys` are those of all
    entries of the arriving statement: a stored entry with one of them is another entry."""
    groups: dict[tuple[date | None, int, str], list[StoredCandidate]] = defaultdict(list)
    for each in stored:
        if each.entry_key not in keys:
            groups[each.booked_on, each.amount_cents, each.currency].append(each)
    paired = {}
    # Equal references first, so that no looser match takes their entries.
    for is_same in (_has_same_reference, _may_be_same):
        for arriving in unknown:
            entry = arriving.entry
            group = groups.get((entry.booked_on, entry.amount_cents, entry.currency), [])
            found = next((each for each in group if is_same(arriving, each)), None)
            if found is not None and arriving.number not in paired:
                group.remove(found)
                paired[arriving.number] = found
    return paired


def _has_same_reference(arriving: UnknownEntry, stored: StoredCandidate) -> bool:
    reference = arriving.entry.bank_reference
    is_same = reference is not None and reference == stored.bank_reference
    return is_same and not arriving.marks.contradict(stored.marks)


def _may_be_same(arriving: UnknownEntry, stored: StoredCandidate) -> bool:
    has_two_references = arriving.entry.bank_reference and stored.bank_reference
    return not has_two_references and not arriving.marks.contradict(stored.marks)
