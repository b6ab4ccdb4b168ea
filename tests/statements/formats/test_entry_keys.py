"""An entry is recognised when it comes again, and two equal payments stay two."""

from dataclasses import replace
from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.statements.formats.entry_keys import EntryKey, compute_entry_keys
from dunwell.cases.statements.formats.statement import (
    BankEntry,
    BankStatement,
    EntryDetail,
    EntryStatus,
    StatementKind,
)
from tests.support.bank_files import IBAN

DAY = date(2026, 11, 27)
DETAIL = EntryDetail(11900, remittance_lines=("Invoice 4711",), counterparty_name="Erika")
ENTRY = BankEntry(11900, "EUR", EntryStatus.BOOK, DAY, details=(DETAIL,))
NAMED = replace(ENTRY, bank_reference="B-1")


def build(*entries: BankEntry, statement_id: str = "S-1", iban: str = IBAN) -> BankStatement:
    return BankStatement(StatementKind.STATEMENT, statement_id, iban, None, "EUR", entries)


def compute(*entries: BankEntry, **options: str) -> tuple[EntryKey | None, ...]:
    return compute_entry_keys(build(*entries, **options))


def test_a_key_does_not_depend_on_the_statement() -> None:
    for entry in (ENTRY, NAMED):
        assert compute(entry) == compute(entry, statement_id="S-2")


def test_the_way_an_account_is_written_does_not_matter() -> None:
    written = "de89 3704 0044 0532 0130 00"
    for entry in (ENTRY, NAMED):
        assert compute(entry, iban=written) == compute(entry, iban="DE89370400440532013000")


def test_with_a_reference_the_day_of_booking_matters_and_neither_texts_nor_the_value_date() -> None:
    assert compute(NAMED) == compute(replace(NAMED, details=(), value_on=DAY))
    assert compute(NAMED) != compute(replace(NAMED, booked_on=DAY + timedelta(1)))


def test_without_a_reference_every_text_matters_and_spaces_do_not() -> None:
    spaced = replace(DETAIL, remittance_lines=("Invoice  4711 ",))
    assert compute(ENTRY) == compute(replace(ENTRY, details=(spaced,)))
    for changed in (
        replace(DETAIL, remittance_lines=("Invoice", "4711")),
        replace(DETAIL, remittance_lines=("Invoice 471", "1")),
        replace(DETAIL, counterparty_name="Max"),
        replace(DETAIL, end_to_end_id="E2E-1"),
        replace(DETAIL, additional_text="x"),
    ):
        assert compute(ENTRY) != compute(replace(ENTRY, details=(changed,)))
    assert compute(ENTRY) != compute(replace(ENTRY, additional_text="x"))
    first, second = (
        replace(DETAIL, remittance_lines=lines) for lines in (("ab", "c"), ("a", "bc"))
    )
    assert compute(replace(ENTRY, details=(first,))) != compute(replace(ENTRY, details=(second,)))


def test_account_amount_sign_currency_and_day_matter() -> None:
    for changed in (
        replace(ENTRY, amount_cents=-11900), replace(ENTRY, amount_cents=11901),
        replace(ENTRY, currency="CHF"), replace(ENTRY, booked_on=DAY + timedelta(1)),
    ):  # fmt: skip
        assert compute(ENTRY) != compute(changed)
    assert compute(ENTRY) != compute(ENTRY, iban="DE02120300000000202051")
    assert compute(NAMED) != compute(NAMED, iban="DE02120300000000202051")
    assert compute(NAMED) != compute(replace(NAMED, bank_reference="B-2"))


def test_a_booking_and_its_reversal_with_the_same_reference_are_two_entries() -> None:
    reversal = replace(NAMED, amount_cents=-11900, is_reversal=True)
    assert len(set(compute(NAMED, reversal))) == 2
    assert compute(NAMED) != compute(reversal)


def test_equal_entries_of_a_day_are_counted() -> None:
    assert len(set(compute(ENTRY, ENTRY, ENTRY))) == 3
    assert compute(ENTRY, ENTRY)[0] == compute(ENTRY)[0]
    assert len(set(compute(NAMED, NAMED))) == 2


def test_an_entry_that_is_not_booked_has_no_key() -> None:
    pending = replace(ENTRY, status=EntryStatus.PDNG)
    assert compute(pending, ENTRY, pending) == (None, *compute(ENTRY), None)


def test_an_entry_of_zero_has_a_key() -> None:
    assert compute(replace(ENTRY, amount_cents=0)) != (None,)


ENTRIES = st.lists(
    st.builds(
        lambda cents, day, reference, text: BankEntry(
            cents, "EUR", EntryStatus.BOOK, DAY + timedelta(day), bank_reference=reference,
            additional_text=text,
        ),
        st.sampled_from([100, -100, 200]), st.integers(0, 3),
        st.sampled_from([None, None, None, "B-1", "B-2"]), st.sampled_from(["a", "b"]),
    ),
    max_size=20,
)  # fmt: skip


@given(ENTRIES, st.data())
def test_files_that_overlap_neither_duplicate_nor_lose_an_entry(
    entries: list[BankEntry], data: st.DataObject
) -> None:
    """Each file has the whole days of a period, and every day is in a file. The bank uses
    references again."""
    periods = data.draw(st.permutations([(0, 1), (1, 2), (2, 3), (0, 3), (3, 3)]))
    imported = set()
    for first, last in periods:
        days = {DAY + timedelta(day) for day in range(first, last + 1)}
        imported |= set(compute(*(each for each in entries if each.booked_on in days)))
    assert len(imported) == len(entries)
