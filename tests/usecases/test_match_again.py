"""Open transactions are matched again: on request, and after each import. What a person decided is
never touched."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from dunwell.cases.statements.matches import match_transactions
from dunwell.cases.statements.matches.again import match_again
from dunwell.cases.statements.matches.again.match_again import (
    MatchingFailed,
    match_entry_again,
    match_recent_again,
    match_statement_again,
)
from dunwell.cases.statements.matches.assign_transactions import (
    TransactionShare,
    assign_transactions,
    record_without_claim,
    undo_match,
)
from dunwell.cases.statements.matches.match_sets import match_all
from dunwell.cases.statements.matches.store import load_transactions
from dunwell.cases.statements.store import StatementAccount
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import DatabaseAway
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.resources import Resources
from tests.support.bank_files import build_detail, build_entry
from tests.support.harness import a_harness
from tests.support.statements import StatementHarness, build_credit, build_file

_OWED = 10240
_REFERENCE = "INV-2026-1001"
_HASHES = "SELECT statement_hash FROM bank_statements WHERE merchant_id = $1 ORDER BY imported_at"
_KEYS = "SELECT entry_id, number FROM bank_transactions WHERE merchant_id = $1"
_AUDITED = """
SELECT count(*) AS rows FROM audit_log
WHERE merchant_id = $1 AND action = 'bankStatement.matchAgain'
"""
_PROBLEM = """
UPDATE bank_transactions SET problem = '{"code": "MATCHING_FAILED", "facts": {}}'
WHERE merchant_id = $1
"""


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock))
    await bank.save()
    return bank


def _build_payment(bank: StatementHarness, text: str = _REFERENCE, days: int = 1) -> bytes:
    """Return a statement with one payment, booked so many days ago."""
    day = bank.harness.clock.now().date() - timedelta(days=days)
    return build_file(build_credit("102.40", text, f"B-{text}-{days}", day=day.isoformat()))


async def _match_statement(bank: StatementHarness) -> int:
    """Match the first statement again. Return how many of its entries there were."""
    row = (await bank.harness.rows(_HASHES))[0]
    async with bank.harness.work() as work:
        count = await match_statement_again(work, "main", row["statement_hash"])
    async with asyncio.timeout(30):
        while await match_all(bank.harness.resources):
            pass
    return count


async def _match_entry(bank: StatementHarness) -> bool:
    rows = await bank.harness.rows(
        "SELECT entry_id, number FROM bank_transactions WHERE merchant_id = $1"
    )
    async with bank.harness.work() as work:
        return await match_entry_again(work, rows[0]["entry_id"], rows[0]["number"])


@pytest.mark.parametrize("again", [_match_statement, _match_entry])
async def test_a_payment_that_came_before_its_claim_is_matched_again(
    bank: StatementHarness, again: Any
) -> None:
    await bank.load(_build_payment(bank))
    assert not await _match_entry(bank)
    (claim_id,) = await bank.harness.create(_REFERENCE)
    assert await again(bank)
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)
    assert await bank.states() == [("MATCHED", _OWED)]
    (file,) = await bank.harness.rows("SELECT matched_count FROM bank_files WHERE merchant_id = $1")
    assert file["matched_count"] == 1
    assert await _match_statement(bank) == 0
    with pytest.raises(InvalidState):
        await _match_entry(bank)
    assert await bank.count("payments") == 1


async def test_an_import_matches_recent_open_payments_again(bank: StatementHarness) -> None:
    for text, days in (("INV-2026-1001", 30), ("INV-2026-1002", 31)):
        await bank.load(_build_payment(bank, text, days))
    first, second = await bank.harness.create("INV-2026-1001", "INV-2026-1002")
    await bank.load(_build_payment(bank, "danke", 0))
    assert await bank.balance(first) == (Status.COLLECTED, 0, 0)
    assert await bank.balance(second) == (Status.CREATED, _OWED, 0)
    assert await _match_statement(bank) == 0
    assert sorted(await bank.states()) == [("MATCHED", _OWED), ("OPEN", 0), ("OPEN", 0)]


async def test_a_limited_number_of_payments_is_matched_after_an_import(
    bank: StatementHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        await bank.load(_build_payment(bank, f"danke {number}", number))
    monkeypatch.setattr(match_again, "SET_SIZE", 2)
    async with bank.harness.work() as work:
        assert await match_recent_again(work, "main") == 2
    rows = await bank.harness.rows(
        "SELECT booked_on, state FROM bank_transactions WHERE merchant_id = $1 ORDER BY booked_on"
    )
    # The latest ones come first.
    assert [row["state"] for row in rows] == ["OPEN", "NEW", "NEW"]


async def _assign_a_part(bank: StatementHarness, claim_id: int) -> None:
    (opened,) = await bank.opened()
    async with bank.harness.work() as work:
        await assign_transactions(work, [TransactionShare(*opened.transaction.key, claim_id, 100)])


async def _assign_and_undo(bank: StatementHarness, claim_id: int) -> None:
    await _assign_a_part(bank, claim_id)
    (match,) = await bank.matches()
    async with bank.harness.work() as work:
        await undo_match(work, match["match_id"])


async def _set_aside(bank: StatementHarness, _: int) -> None:
    (opened,) = await bank.opened()
    async with bank.harness.work() as work:
        await record_without_claim(work, *opened.transaction.key, "interest")


@pytest.mark.parametrize("decide", [_assign_a_part, _assign_and_undo, _set_aside])
async def test_what_a_person_decided_is_not_matched_again(
    bank: StatementHarness, decide: Any
) -> None:
    (other,) = await bank.harness.create("INV-2026-2002")
    await bank.load(_build_payment(bank))
    await decide(bank, other)
    before = await bank.states()
    (claim_id,) = await bank.harness.create(_REFERENCE)
    assert await _match_statement(bank) == 0
    with pytest.raises(InvalidState):
        await _match_entry(bank)
    await bank.load(_build_payment(bank, "danke", 0))
    assert sorted(await bank.states()) == sorted([*before, ("OPEN", 0)])
    assert await bank.balance(claim_id) == (Status.CREATED, _OWED, 0)


async def test_an_entry_that_may_be_the_same_as_another_is_left_to_a_person(
    bank: StatementHarness,
) -> None:
    for day in ("2026-11-26", "2026-11-27"):
        await bank.load(build_file(build_credit("102.40", _REFERENCE, "TAX-7", day=day)))
    await bank.harness.create(_REFERENCE)
    rows = await bank.harness.rows(
        "SELECT entry_id, number FROM bank_transactions"
        " WHERE merchant_id = $1 AND resembles_on IS NOT NULL"
    )
    async with bank.harness.work() as work:
        with pytest.raises(InvalidState):
            await match_entry_again(work, rows[0]["entry_id"], rows[0]["number"])
    row = (await bank.harness.rows(_HASHES))[1]
    async with bank.harness.work() as work:
        assert await match_statement_again(work, "main", row["statement_hash"]) == 0


async def test_what_made_the_matching_fail_is_matched_again_only_on_request(
    bank: StatementHarness,
) -> None:
    await bank.load(_build_payment(bank))
    await bank.harness.rows(_PROBLEM)
    (claim_id,) = await bank.harness.create(_REFERENCE)
    async with bank.harness.work() as work:
        assert await match_recent_again(work, "main") == 0
    assert await _match_statement(bank) == 1
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)
    (row,) = await bank.harness.rows("SELECT problem FROM bank_transactions WHERE merchant_id = $1")
    assert row["problem"] is None


async def test_an_entry_that_fails_again_stays_as_it_was(
    bank: StatementHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bank.load(_build_payment(bank))
    await bank.harness.rows(_PROBLEM)
    (claim_id,) = await bank.harness.create(_REFERENCE)
    book = match_transactions.book_matches

    async def fail(*given: Any, **more: Any) -> None:
        await book(*given, **more)
        raise ValueError("planted")

    with monkeypatch.context() as patch:
        patch.setattr(match_transactions, "book_matches", fail)
        with pytest.raises(MatchingFailed):
            await _match_entry(bank)
    (opened,) = await bank.opened()
    assert opened.transaction.problem is not None
    assert await bank.balance(claim_id) == (Status.CREATED, _OWED, 0)
    assert await _match_entry(bank)
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)


async def _match_by_another_worker(bank: StatementHarness) -> None:
    assert await match_all(bank.harness.resources) == 1


async def _decide_without_claim(bank: StatementHarness) -> None:
    (row,) = await bank.harness.rows(_KEYS)
    async with bank.harness.work() as work:
        await record_without_claim(work, row["entry_id"], row["number"], "interest")


async def _decide_about_a_part(bank: StatementHarness) -> None:
    (other,) = await bank.harness.create("INV-2026-2002")
    await _assign_a_part(bank, other)


@pytest.mark.parametrize(
    ("before", "decide"),
    [
        ("NEW", _match_by_another_worker), ("OPEN", _decide_without_claim),
        ("OPEN", _decide_about_a_part),
    ],
)  # fmt: skip
async def test_what_was_decided_since_a_payment_was_read_is_not_decided_again(
    bank: StatementHarness, before: str, decide: Any
) -> None:
    await bank.load(_build_payment(bank))
    await bank.harness.create(_REFERENCE)
    await bank.harness.rows(
        "UPDATE bank_transactions SET state = $2 WHERE merchant_id = $1", before
    )
    async with bank.harness.work() as work:
        keys = [(row["entry_id"], row["number"]) for row in await bank.harness.rows(_KEYS)]
        read = list((await load_transactions(work.tx, work.merchant_id, keys)).values())
        await decide(bank)
        payments = await bank.count("payments")
        assert await match_transactions.match_transactions(work, "main", read, before=before) == 0
    assert await bank.count("payments") == payments


async def test_the_payments_of_another_account_are_not_matched_again(
    bank: StatementHarness,
) -> None:
    await bank.save(StatementAccount("second", "DE02120300000000202051", "Muster GmbH"))
    await bank.load(_build_payment(bank))
    row = (await bank.harness.rows(_HASHES))[0]
    async with bank.harness.work() as work:
        assert await match_statement_again(work, "second", row["statement_hash"]) == 0
        assert await match_recent_again(work, "second") == 0
    assert await bank.states() == [("OPEN", 0)]
    (audited,) = await bank.harness.rows(_AUDITED)
    assert audited["rows"] == 0


async def test_one_payment_of_an_entry_is_matched_again_without_the_others(
    bank: StatementHarness,
) -> None:
    day = bank.harness.clock.now().date().isoformat()
    details = build_detail("60.00", "danke") + build_detail("40.00", "danke")
    await bank.load(build_file(build_entry("100.00", details=details, day=day)))
    first, _ = await bank.opened()
    async with bank.harness.work() as work:
        await record_without_claim(work, *first.transaction.key, "interest")
        assert await match_recent_again(work, "main") == 1
    assert [state for state, _ in await bank.states()] == ["WITHOUT_CLAIM", "NEW"]


async def test_an_outage_is_no_failure_of_the_matching(
    bank: StatementHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bank.load(_build_payment(bank))

    async def fail(*_given: Any, **_more: Any) -> int:
        raise DatabaseAway("The database is not available.", was_sent=True)

    monkeypatch.setattr(match_again, "match_transactions", fail)
    with pytest.raises(DatabaseAway):
        await _match_entry(bank)


async def test_the_entries_of_another_merchant_are_not_matched(
    resources: Resources, clock: MovableClock
) -> None:
    own, other = [
        StatementHarness(await a_harness(resources, clock, key=key)) for key in ("own", "other")
    ]
    for bank in (own, other):
        await bank.save()
        await bank.load(_build_payment(bank))
        await bank.harness.create(_REFERENCE)
    rows = await other.harness.rows(
        "SELECT entry_id, number FROM bank_transactions WHERE merchant_id = $1"
    )
    async with own.harness.work() as work:
        with pytest.raises(NotFound):
            await match_entry_again(work, rows[0]["entry_id"], rows[0]["number"])
    assert await _match_statement(own) == 1
    async with own.harness.work() as work:
        await match_recent_again(work, "main")
    assert await other.states() == [("OPEN", 0)]
