"""The sums of a statement are checked, to the cent."""

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.statements.formats.invariants import find_broken_invariants
from dunwell.cases.statements.formats.statement import (
    BankEntry,
    BankStatement,
    EntryDetail,
    EntryStatus,
    StatementKind,
)
from tests.support.bank_files import IBAN

ENTRY = BankEntry(11900, "EUR", EntryStatus.BOOK, date(2026, 11, 27), bank_reference="B-1")
STATEMENT = BankStatement(
    StatementKind.STATEMENT, "S-1", IBAN, None, "EUR", (ENTRY,),
    opening_cents=100, closing_cents=12000,
)  # fmt: skip


def find(*entries: BankEntry, **changes: int | StatementKind | None) -> tuple[str, ...]:
    return find_broken_invariants(replace(STATEMENT, entries=entries, **changes))  # type: ignore[arg-type]


def test_a_statement_that_adds_up_is_right() -> None:
    assert find_broken_invariants(STATEMENT) == ()


def test_balances_that_do_not_add_up_are_explained() -> None:
    assert find(ENTRY, closing_cents=12001) == (
        (
            "The opening balance 1.00 EUR and the booked entries 119.00 EUR add up to 120.00 EUR, "
            "but the closing balance is 120.01 EUR."
        ),
    )


def test_only_booked_entries_change_the_balance() -> None:
    pending = replace(ENTRY, status=EntryStatus.PDNG)
    assert find(ENTRY, pending) == ()
    assert len(find(pending)) == 1


@pytest.mark.parametrize("name", ["opening_cents", "closing_cents"])
def test_a_statement_without_a_balance_cannot_be_checked(name: str) -> None:
    assert find(ENTRY, ENTRY, **{name: None}) == ()


@pytest.mark.parametrize("kind", [StatementKind.REPORT, StatementKind.DETAILS])
def test_balances_of_reports_and_notifications_are_not_relied_on(kind: StatementKind) -> None:
    assert find(ENTRY, ENTRY, kind=kind) == ()


def test_an_entry_is_the_sum_of_its_transactions_and_charges() -> None:
    details = (EntryDetail(12000), EntryDetail(50))
    entry = replace(ENTRY, details=details, charges_cents=-150)
    assert find(entry) == ()
    assert find(replace(entry, charges_cents=-151)) == (
        (
            "Entry 1 (B-1) is 119.00 EUR, but its transactions add up to 120.50 EUR and its "
            "charges to -1.51 EUR."
        ),
    )


def test_transactions_without_amounts_cannot_be_checked() -> None:
    assert find(replace(ENTRY, details=(EntryDetail(None), EntryDetail(1)))) == ()


def test_an_entry_in_another_currency_than_the_account_is_explained() -> None:
    assert find(ENTRY, replace(ENTRY, currency="USD")) == (
        "Entry 2 (B-1) is in USD, but the account is in EUR.",
    )


@given(st.integers(-(10**12), 10**12), st.lists(st.lists(st.integers(-10_000, 10_000), min_size=1)))
def test_a_change_of_one_cent_is_always_seen(opening: int, amounts: list[list[int]]) -> None:
    entries = tuple(
        replace(ENTRY, amount_cents=sum(each), details=tuple(EntryDetail(cents) for cents in each))
        for each in amounts
    )
    closing = opening + sum(sum(each) for each in amounts)
    assert find(*entries, opening_cents=opening, closing_cents=closing) == ()
    assert len(find(*entries, opening_cents=opening, closing_cents=closing + 1)) == 1
    if entries:
        changed = replace(entries[0], charges_cents=1)
        assert len(find(changed, *entries[1:], opening_cents=opening, closing_cents=closing)) == 1
