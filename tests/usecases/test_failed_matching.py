"""A transaction that makes the matching fail is left to a person, and the others are matched."""

from collections.abc import Sequence
from typing import Any

import asyncpg
import pytest
import structlog

from dunwell.cases.statements.import_statements import import_next_file
from dunwell.cases.statements.imported_file import FileState
from dunwell.cases.statements.matches import match_transactions
from dunwell.cases.statements.matches.match_sets import match_all
from dunwell.cases.statements.matches.store import BankTransaction
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import DatabaseAway
from dunwell.platform.resources import Resources
from tests.support.harness import a_harness
from tests.support.statements import StatementHarness, build_credit, build_file

_REFERENCES = [f"INV-2026-100{number}" for number in range(1, 5)]
_BAD = _REFERENCES[1]


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock))
    await bank.save()
    return bank


class _PlantedFailure:
    """Books payments, and then fails if the transaction with the text _BAD is among them."""

    def __init__(self, patch: pytest.MonkeyPatch, error: Exception) -> None:
        self._book = match_transactions.book_matches
        self.error = error
        self.sizes: list[int] = []
        patch.setattr(match_transactions, "book_matches", self.book)

    async def book(
        self, work: Any, claims: Any, matched: Sequence[tuple[Any, Any]], **more: Any
    ) -> Any:
        self.sizes.append(len(matched))
        booked = await self._book(work, claims, matched, **more)
        transactions: list[BankTransaction] = [transaction for transaction, _ in matched]
        if any(_BAD in each.remittance_text for each in transactions):
            raise self.error
        return booked


def _build_statement() -> bytes:
    return build_file(*(build_credit("102.40", f"{each} danke", each) for each in _REFERENCES))


async def test_one_transaction_that_fails_is_open_and_the_others_are_matched(
    bank: StatementHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = await bank.harness.create(*_REFERENCES)
    planted = _PlantedFailure(monkeypatch, ValueError("Erika Muster, " + _BAD))
    with structlog.testing.capture_logs() as logs:
        file = await bank.load(_build_statement())
    assert (file.state, file.new_count, file.matched_count) == (FileState.DONE, 4, 3)
    assert planted.sizes == [4, 1, 1, 1, 1]
    statuses = [(await bank.balance(each))[0] for each in claims]
    assert statuses == [Status.COLLECTED, Status.CREATED, Status.COLLECTED, Status.COLLECTED]
    assert await bank.count("payments") == 3
    assert sorted(state for state, _ in await bank.states()) == ["MATCHED"] * 3 + ["OPEN"]
    (opened,) = await bank.opened()
    assert _BAD in opened.transaction.remittance_text
    assert "could not be matched because of an error" in str(opened.transaction.problem)
    (stored,) = await bank.harness.rows(
        "SELECT problem FROM bank_transactions WHERE merchant_id = $1 AND problem IS NOT NULL"
    )
    assert stored["problem"] == {"code": "MATCHING_FAILED", "facts": {}}
    (error,) = [each for each in logs if each["event"] == "bank transaction cannot be matched"]
    assert error["log_level"] == "error"
    facts = {key: each for key, each in error.items() if key != "exc_info"}
    assert _BAD not in str(facts)
    # The transaction is not new, so its matching is not repeated for ever.
    assert await match_all(bank.harness.resources) == 0


async def test_a_transaction_whose_matching_failed_has_no_suggestions(
    bank: StatementHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bank.harness.create(*_REFERENCES)
    _PlantedFailure(monkeypatch, ValueError("planted"))
    await bank.load(_build_statement())
    (opened,) = await bank.opened()
    assert opened.suggestions == ()


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.ConnectionDoesNotExistError("planted"),
        asyncpg.SerializationError("planted"),
        asyncpg.DeadlockDetectedError("planted"),
        asyncpg.QueryCanceledError("planted"),
        TimeoutError(),
        DatabaseAway("planted"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_outage_of_the_database_leaves_every_transaction_new(
    bank: StatementHarness, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    await bank.harness.create(*_REFERENCES)
    resources = bank.harness.resources
    with monkeypatch.context() as patch:
        planted = _PlantedFailure(patch, error)
        await bank.submit(_build_statement())
        with pytest.raises(DatabaseAway):
            await import_next_file(resources)
        with pytest.raises(DatabaseAway):
            await match_all(resources)
        assert planted.sizes == [4, 4]
        assert await bank.states() == [("NEW", 0)] * 4
        # The error counts as an outage also where the transactions are matched one by one.
        planted.error = ValueError("planted")

        async def fail_alone(*matched: Any, **more: Any) -> Any:
            if len(matched[2]) == 1:
                planted.error = error
            return await planted.book(*matched, **more)

        patch.setattr(match_transactions, "book_matches", fail_alone)
        with pytest.raises(DatabaseAway):
            await match_all(resources)
    assert ("OPEN", 0) not in await bank.states()
    await match_all(resources)
    assert await bank.states() == [("MATCHED", 10240)] * 4
