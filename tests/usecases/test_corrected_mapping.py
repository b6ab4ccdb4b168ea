"""A CSV file that is imported again with a corrected mapping is read again, and not doubled."""

from dataclasses import replace

import pytest

from dunwell.cases.statements.formats.csv_mapping import CsvMapping
from dunwell.cases.statements.matches.assign_transactions import record_without_claim
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.bank_files import IBAN
from tests.support.harness import a_harness
from tests.support.statements import ACCOUNT, StatementHarness

_OWED = 10240
_WRONG = CsvMapping(iban=IBAN, currency="EUR", booked_on="Tag", amount="Betrag")
_RIGHT = replace(_WRONG, reference_text="Zweck")
_FILE = b"""Tag;Zweck;Betrag
02.03.2026;INV-2026-1001;102,40
02.03.2026;INV-2026-1002;102,40
02.03.2026;danke;5,00
"""


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock))
    await bank.save(replace(ACCOUNT, csv_mapping=_WRONG))
    return bank


async def test_the_entries_get_their_texts_and_are_matched(bank: StatementHarness) -> None:
    claims = await bank.harness.create("INV-2026-1001", "INV-2026-1002")
    await bank.load(_FILE)
    assert await bank.states() == [("OPEN", 0)] * 3
    await bank.save(replace(ACCOUNT, csv_mapping=_RIGHT))
    for _ in range(2):
        file = await bank.load(_FILE)
        assert file.new_count == 0
    assert await bank.count("bank_entries") == 3
    assert [await bank.balance(each) for each in claims] == [(Status.COLLECTED, 0, 0)] * 2
    assert sorted(await bank.states()) == [("MATCHED", _OWED), ("MATCHED", _OWED), ("OPEN", 0)]


async def test_what_a_person_decided_stays(bank: StatementHarness) -> None:
    await bank.harness.create("INV-2026-1001", "INV-2026-1002")
    await bank.load(_FILE)
    opened = await bank.opened()
    async with bank.harness.work() as work:
        await record_without_claim(work, *opened[0].transaction.key, "a gift")
    await bank.save(replace(ACCOUNT, csv_mapping=_RIGHT))
    await bank.load(_FILE)
    assert await bank.count("bank_entries") == 3
    assert sorted(state for state, _ in await bank.states()) == [
        "MATCHED", "OPEN", "WITHOUT_CLAIM",
    ]  # fmt: skip


async def test_the_same_file_of_another_merchant_is_not_read_again(
    bank: StatementHarness, resources: Resources, clock: MovableClock
) -> None:
    await bank.load(_FILE)
    before = await bank.harness.rows("SELECT e::text FROM bank_entries e WHERE merchant_id = $1")
    other = StatementHarness(await a_harness(resources, clock, key="other"))
    await other.save(replace(ACCOUNT, csv_mapping=_RIGHT))
    await other.load(_FILE)
    after = await bank.harness.rows("SELECT e::text FROM bank_entries e WHERE merchant_id = $1")
    assert after == before
    assert await other.count("bank_entries") == 3
