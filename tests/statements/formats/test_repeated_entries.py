"""A bank that uses a reference again loses no entry, and one that moves the day of booking of an
entry does not have it booked twice."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from uuid import UUID, uuid5

from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.statements.formats.entry_keys import compute_entry_keys
from dunwell.cases.statements.formats.repeated_entries import (
    EntryDecision,
    PaymentMarks,
    StoredEntry,
    decide_entry,
)
from dunwell.cases.statements.formats.statement import (
    BankEntry,
    BankStatement,
    EntryDetail,
    EntryStatus,
    StatementKind,
)
from tests.support.bank_files import IBAN

DAY = date(2026, 11, 27)
FIRST, SECOND = b"first", b"second"
ENTRY = BankEntry(11900, "EUR", EntryStatus.BOOK, DAY, bank_reference="B-1")
NEW, KNOWN = EntryDecision(is_known=False), EntryDecision(is_known=True)


def _mark(name: str | None) -> PaymentMarks:
    return PaymentMarks(name)


def _store(entry: BankEntry, statement: bytes = FIRST, name: str | None = None) -> StoredEntry:
    assert entry.booked_on is not None
    assert entry.bank_reference is not None
    return StoredEntry(
        UUID(int=0), entry.bank_reference, entry.amount_cents, entry.currency, entry.booked_on, 0,
        statement, 1, _mark(name),
    )  # fmt: skip


def _decide(
    entry: BankEntry, *stored: StoredEntry, ordinal: int = 0, name: str | None = None
) -> EntryDecision:
    return decide_entry(entry, ordinal, _mark(name), stored, statement_hash=SECOND)


def test_an_entry_of_the_same_day_is_known() -> None:
    assert _decide(ENTRY, _store(ENTRY)) == KNOWN
    assert _decide(ENTRY, _store(ENTRY), name="E-1") == KNOWN
    assert _decide(ENTRY, _store(ENTRY, name="E-1"), name="E-1") == KNOWN


def test_another_amount_or_currency_is_new() -> None:
    for other in (replace(ENTRY, amount_cents=-11900), replace(ENTRY, currency="CHF")):
        assert _decide(ENTRY, _store(other)) == NEW


def test_an_entry_of_another_day_is_new_and_within_seven_days_for_a_person() -> None:
    for days, resembles in ((7, True), (-7, True), (8, False), (-8, False)):
        other = replace(ENTRY, booked_on=DAY + timedelta(days))
        day = other.booked_on if resembles else None
        assert _decide(ENTRY, _store(other)) == EntryDecision(is_known=False, resembles_on=day)


def test_entries_of_several_days_in_one_statement_are_certain() -> None:
    other = replace(ENTRY, booked_on=DAY + timedelta(1))
    assert _decide(ENTRY, _store(other, SECOND)) == NEW


def test_an_equal_entry_of_the_day_is_new_only_if_there_are_fewer_stored() -> None:
    assert _decide(ENTRY, _store(ENTRY, SECOND), ordinal=1) == NEW
    assert _decide(ENTRY, _store(ENTRY), _store(ENTRY), ordinal=1) == KNOWN
    assert _decide(ENTRY, _store(ENTRY), ordinal=1).resembles_on == DAY


def test_another_payer_or_end_to_end_id_on_the_same_day_is_for_a_person() -> None:
    decision = _decide(ENTRY, _store(ENTRY, name="E-1"), name="E-2")
    assert decision == EntryDecision(is_known=False, other_marks=_mark("E-2"), resembles_on=DAY)
    both = _store(ENTRY, name="E-1"), _store(ENTRY, name="E-2")
    assert _decide(ENTRY, *both, name="E-2") == KNOWN


@dataclass
class _Account:
    """What the import stores of an account, without a database."""

    stored: dict[str, StoredEntry] = field(default_factory=dict)
    # The entries that are matched without a person.
    certain: list[BankEntry] = field(default_factory=list)

    def load(self, entries: Sequence[BankEntry]) -> None:
        statement = BankStatement(StatementKind.STATEMENT, "1", IBAN, None, "EUR", tuple(entries))
        statement_hash = repr(entries).encode()
        for key, entry in zip(compute_entry_keys(statement), entries, strict=True):
            assert key is not None
            assert entry.booked_on is not None
            marks = PaymentMarks(entry.details[0].end_to_end_id)
            decision = decide_entry(
                entry, key.ordinal, marks, [*self.stored.values()], statement_hash=statement_hash
            )
            if decision.is_known:
                continue
            marked = decision.other_marks
            text = key.text if marked is None else key.distinguish(marked)
            assert text not in self.stored, "it would be lost"
            self.stored[text] = replace(
                _store(entry, statement_hash), entry_id=uuid5(UUID(int=0), text), marks=marks
            )
            if decision.resembles_on is None:
                self.certain.append(entry)


def _build(day: int, name: str) -> BankEntry:
    detail = EntryDetail(11900, end_to_end_id=name)
    return replace(ENTRY, booked_on=DAY + timedelta(day), details=(detail,))


# Bookings with one reference and amount, which only their days and end-to-end ids distinguish.
BOOKINGS = st.lists(
    st.builds(_build, st.integers(0, 9), st.sampled_from(["E-1", "E-2"])), max_size=12
)


@given(BOOKINGS, st.permutations([(0, 3), (2, 5), (5, 9), (0, 9), (7, 7)]), st.data())
def test_no_file_of_whole_days_loses_or_doubles_an_entry(
    bookings: list[BankEntry], periods: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Whatever the order of the files and of the entries of a day, overlapping and repeated."""
    account = _Account()
    for first, last in [*periods, periods[0]]:
        days = {DAY + timedelta(day) for day in range(first, last + 1)}
        account.load(
            data.draw(st.permutations([each for each in bookings if each.booked_on in days]))
        )
        assert not Counter(account.certain) - Counter(bookings)
    assert sorted(each.booked_on for each in account.stored.values()) == sorted(
        each.booked_on for each in bookings if each.booked_on is not None
    )


@given(st.integers(-7, 7), st.booleans())
def test_an_entry_whose_day_the_bank_moves_is_booked_once(moved: int, is_repeated: bool) -> None:
    account = _Account()
    first, second = _build(0, "E-1"), _build(moved, "E-1")
    for entry in (first, second, *([first] if is_repeated else [])):
        account.load([entry])
    assert account.certain == [first]
    assert len(account.stored) == (1 if moved == 0 else 2)


@given(st.lists(st.sampled_from(["E-1", "E-2", "E-3"]), min_size=1, max_size=6))
def test_parts_of_a_day_that_share_a_reference_lose_no_payment(names: list[str]) -> None:
    """Reports of what was booked since the last one, then the statement of the day."""
    account, bookings = _Account(), [_build(0, name) for name in dict.fromkeys(names)]
    for each in bookings:
        account.load([each])
    assert len(account.stored) == len(bookings)
    account.load(bookings)
    assert len(account.stored) == len(bookings)
    assert len(account.certain) == 1
