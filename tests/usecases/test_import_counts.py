"""The counters of an import: entries that the file brought, and payments that were matched."""

import pytest

from dunwell.cases.statements.import_statements import get_file, release_statement
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
