"""What is stored of an import: its counters, its problems, and the reasons of matches."""

import pytest

from dunwell.cases.statements.formats.statement import NO_BALANCE
from dunwell.cases.statements.import_statements import get_file, release_statement
from dunwell.cases.statements.matches.assign_transactions import list_transaction_matches
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.bank_files import build_balance, build_camt, build_entry
from tests.support.harness import a_harness
from tests.support.statements import StatementHarness, build_credit, build_file

_HASH = "SELECT statement_hash FROM bank_statements WHERE merchant_id = $1"


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock))
    await bank.save()
    return bank


async def test_pending_entries_are_counted_by_themselves_in_each_import(
    bank: StatementHarness,
) -> None:
    pending = build_entry("9.00", status="<Cd>PDNG</Cd>", reference="")
    content = build_file(build_credit("1.00", "x", "B-1"), pending, pending)
    for new in (1, 0):
        file = await bank.load(content)
        assert (file.entry_count, file.read_count, file.pending_count) == (3, 3, 2)
        assert (file.new_count, file.known_count) == (new, 1 - new)
    assert await bank.count("bank_entries") == 3


async def test_payments_are_counted_at_the_file_that_brought_them_whoever_matches_them(
    bank: StatementHarness,
) -> None:
    await bank.harness.create("INV-2026-1001")
    balances = build_balance("OPBD", "0.00") + build_balance("CLBD", "9.00")
    arrived = [build_credit("1.00", "INV-2026-1001", "B-1"), build_credit("2.00", "x", "B-2")]
    first = await bank.load(build_camt(*arrived, balances=balances))
    assert (first.new_count, first.matched_count) == (2, 0)
    (row,) = await bank.harness.rows(_HASH)
    async with bank.harness.work() as work:
        await release_statement(work, "main", row["statement_hash"])
    second = await bank.load(build_file(build_credit("3.00", "INV-2026-1001", "B-3")))
    assert (second.new_count, second.matched_count) == (1, 1)
    async with bank.harness.work() as work:
        assert (await get_file(work, first.file_id)).matched_count == 1


async def test_problems_and_reasons_are_stored_by_code_and_earlier_sentences_are_kept(
    bank: StatementHarness,
) -> None:
    await bank.harness.create("INV-2026-1001")
    file = await bank.load(build_file(build_credit("1.00", "INV-2026-1001", "B-1")))
    assert [str(each) for each in file.problems] == [f"S-1: {NO_BALANCE}"]
    (row,) = await bank.harness.rows("SELECT problems FROM bank_files WHERE merchant_id = $1")
    assert row["problems"] == [
        {
            "code": "OF_STATEMENT",
            "facts": {"statement": "S-1", "problem": {"code": "NO_BALANCE", "facts": {}}},
        }
    ]
    (match,) = await bank.harness.rows(
        "SELECT entry_id, match_id FROM bank_matches WHERE merchant_id = $1"
    )
    async with bank.harness.work() as work:
        (listed,) = await list_transaction_matches(work, match["entry_id"])
    assert listed.explanation == (
        'The purpose contains "INV-2026-1001"; it is part of the amount owed (102.40 EUR).'
    )
    await bank.harness.rows(
        "INSERT INTO bank_matches (merchant_id, match_id, kind, entry_id, number, amount_cents,"
        " rule, explanation, actor_kind, matched_at)"
        " SELECT merchant_id, gen_random_uuid(), 'MATCHED', entry_id, number, 1, 'BY_HAND',"
        " 'An earlier sentence.', 'SYSTEM', now() FROM bank_matches WHERE merchant_id = $1"
    )
    async with bank.harness.work() as work:
        matches = await list_transaction_matches(work, match["entry_id"])
    assert "An earlier sentence." in [each.explanation for each in matches]
