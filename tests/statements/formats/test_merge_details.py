"""A notification (camt.054) completes the entry of the statement that has the same reference."""

from dataclasses import replace
from datetime import date

from dunwell.cases.statements.formats.invariants import find_broken_invariants
from dunwell.cases.statements.formats.merge_details import merge_details
from dunwell.cases.statements.formats.statement import (
    BankEntry,
    BankStatement,
    EntryDetail,
    EntryStatus,
    StatementKind,
)
from tests.support.bank_files import IBAN

ENTRY = BankEntry(11900, "EUR", EntryStatus.BOOK, date(2026, 11, 27), bank_reference="B-1")
DETAILS = (EntryDetail(10000, end_to_end_id="E-1"), EntryDetail(1900, end_to_end_id="E-2"))
NOTICE = replace(ENTRY, details=DETAILS)


def build_statement(*entries: BankEntry) -> BankStatement:
    return BankStatement(StatementKind.STATEMENT, "S-1", IBAN, None, "EUR", entries)


def build_notification(*entries: BankEntry, iban: str = IBAN) -> BankStatement:
    return BankStatement(StatementKind.DETAILS, "N-1", iban, None, "EUR", entries)


def test_an_entry_is_completed_and_stays_one() -> None:
    merged = merge_details(build_statement(ENTRY), [build_notification(NOTICE)])
    assert merged.statement.entries == (NOTICE,)
    assert (merged.unused, merged.statement.problems) == ((), ())
    assert find_broken_invariants(merged.statement) == ()


def test_several_notices_of_one_entry_complete_it_together() -> None:
    """Some banks notify each payment of a batch by itself."""
    notices = [
        replace(ENTRY, amount_cents=detail.amount_cents or 0, details=(detail,))
        for detail in DETAILS
    ]
    for notifications in ([build_notification(*notices)], [build_notification(n) for n in notices]):
        merged = merge_details(build_statement(ENTRY), notifications)
        assert merged.statement.entries == (NOTICE,)
        assert merged.unused == ()


def test_a_notification_that_comes_twice_is_used_once() -> None:
    notification = build_notification(NOTICE)
    merged = merge_details(build_statement(ENTRY), [notification, notification])
    assert merged.statement.entries == (NOTICE,)


def test_the_charges_come_with_the_details() -> None:
    notice = replace(ENTRY, details=(EntryDetail(12000),), charges_cents=-100)
    merged = merge_details(build_statement(ENTRY), [build_notification(notice)])
    assert merged.statement.entries == (notice,)


def test_a_notice_without_transactions_is_itself_one() -> None:
    notice = replace(ENTRY, additional_text="cash desk 7")
    merged = merge_details(build_statement(ENTRY), [build_notification(notice)])
    (detail,) = merged.statement.entries[0].details
    assert (detail.amount_cents, detail.additional_text) == (11900, "cash desk 7")


def test_details_that_the_statement_already_has_are_kept() -> None:
    entry = replace(ENTRY, details=tuple(replace(each, mandate_id="M") for each in DETAILS))
    merged = merge_details(build_statement(entry), [build_notification(NOTICE)])
    assert merged.statement.entries == (entry,)
    unknown = replace(ENTRY, details=(EntryDetail(None), EntryDetail(None)))
    merged = merge_details(build_statement(unknown), [build_notification(NOTICE)])
    assert merged.statement.entries == (NOTICE,)


def test_another_amount_is_not_merged_and_is_explained() -> None:
    notice = replace(NOTICE, amount_cents=11901)
    merged = merge_details(build_statement(ENTRY), [build_notification(notice)])
    assert merged.statement.entries == (ENTRY,)
    assert merged.unused == (notice,)
    assert merged.statement.problems == (
        (
            "The notification of entry B-1 is about 119.01 EUR, the entry about 119.00 EUR; its "
            "details were not used."
        ),
    )
    merged = merge_details(
        build_statement(ENTRY), [build_notification(replace(NOTICE, currency="USD"))]
    )
    assert merged.statement.entries == (ENTRY,)


def test_another_account_reference_or_direction_is_not_merged() -> None:
    for notification in (
        build_notification(NOTICE, iban="DE02120300000000202051"),
        build_notification(replace(NOTICE, bank_reference="B-2")),
        build_notification(replace(NOTICE, bank_reference=None)),
        build_notification(replace(NOTICE, amount_cents=-11900)),
        build_notification(replace(NOTICE, status=EntryStatus.PDNG)),
    ):
        merged = merge_details(build_statement(ENTRY), [notification])
        assert merged.statement.entries == (ENTRY,)
        assert merged.statement.problems == ()


def test_what_completes_no_entry_is_returned() -> None:
    other = replace(NOTICE, bank_reference="B-2")
    unnamed = replace(NOTICE, bank_reference=None)
    merged = merge_details(build_statement(ENTRY), [build_notification(other, unnamed, NOTICE)])
    assert set(merged.unused) == {other, unnamed}


def test_a_pending_entry_is_not_completed() -> None:
    pending = replace(ENTRY, status=EntryStatus.PDNG)
    merged = merge_details(build_statement(pending), [build_notification(NOTICE)])
    assert merged.statement.entries == (pending,)
    assert merged.unused == (NOTICE,)


def test_a_booking_and_its_reversal_keep_their_own_details() -> None:
    reversal = replace(ENTRY, amount_cents=-11900, is_reversal=True)
    notice = replace(reversal, details=(EntryDetail(-11900, return_reason="AC04"),))
    merged = merge_details(build_statement(ENTRY, reversal), [build_notification(notice, NOTICE)])
    assert merged.statement.entries == (NOTICE, notice)
    assert merged.unused == ()
