"""A return of an entry that was booked as several payments reverses all of them or none."""

from typing import Any

import pytest

from dunwell.cases.payments.reversals import return_money
from dunwell.cases.statements.matches.assign_transactions import (
    TransactionShare,
    assign_transactions,
    record_without_claim,
)
from dunwell.cases.statements.matches.returns.book_returns import book_return
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.bank_files import build_detail, build_entry
from tests.support.harness import a_harness
from tests.support.statements import StatementHarness, build_credit, build_file

_OWED = 10240
_REFERENCES = ("INV-2026-1001", "INV-2026-1002")
_OPEN, _PAID = (Status.CREATED, _OWED, 0), (Status.COLLECTED, 0, 0)


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock))
    await bank.save()
    return bank


def _build_return(amount: str, reason: str = "AC04", reference: str = "R-1") -> bytes:
    more = f"<RtrInf><Rsn><Cd>{reason}</Cd></Rsn></RtrInf>"
    details = build_detail(amount, "Retoure", kind="DBIT", more=more)
    return build_file(build_entry(amount, kind="DBIT", reference=reference, details=details))


async def _pay_both(bank: StatementHarness) -> list[int]:
    """Let one entry pay both claims."""
    claims = await bank.harness.create(*_REFERENCES)
    await bank.load(build_file(build_credit("204.80", " ".join(_REFERENCES), "B-1")))
    assert [await bank.balance(each) for each in claims] == [_PAID, _PAID]
    return claims


async def test_a_return_of_the_whole_entry_reverses_all_its_payments(
    bank: StatementHarness,
) -> None:
    claims = await _pay_both(bank)
    for _ in range(2):
        await bank.load(_build_return("204.80"))
    assert [await bank.balance(each) for each in claims] == [_OPEN, _OPEN]
    assert await bank.states() == [("MATCHED", 20480), ("RETURNED", 20480)]
    returned = [row for row in await bank.matches() if row["rule"] == "RETURN"]
    assert sorted((row["claim_id"], row["amount_cents"]) for row in returned) == [
        (each, _OWED) for each in claims
    ]
    movements = await bank.harness.rows(
        "SELECT claim_id, kind, amount_cents, booked_cents FROM payment_movements"
        " WHERE merchant_id = $1 ORDER BY claim_id"
    )
    assert [tuple(row) for row in movements] == [
        (each, "CHARGED_BACK", _OWED, _OWED) for each in claims
    ]


async def test_a_second_return_of_the_same_entry_is_left_to_a_person(
    bank: StatementHarness,
) -> None:
    claims = await _pay_both(bank)
    for reference in ("R-1", "R-2"):
        await bank.load(_build_return("204.80", reference=reference))
    assert [await bank.balance(each) for each in claims] == [_OPEN, _OPEN]
    assert [state for state, _ in await bank.states()] == ["MATCHED", "RETURNED", "OPEN"]
    (opened,) = await bank.opened()
    (original,) = opened.originals
    assert [(part.amount_cents, part.left_cents) for part in original.parts] == [(_OWED, 0)] * 2


@pytest.mark.parametrize(
    ("amount", "reason"), [("102.40", "AC04"), ("204.79", "AC04"), ("204.80", "XX99")]
)
async def test_any_other_return_is_left_to_a_person_who_sees_the_payments(
    bank: StatementHarness, amount: str, reason: str
) -> None:
    claims = await _pay_both(bank)
    await bank.load(_build_return(amount, reason))
    assert [await bank.balance(each) for each in claims] == [_PAID, _PAID]
    assert await bank.count("payment_movements") == 0
    (opened,) = await bank.opened()
    (original,) = opened.originals
    assert original.amount_cents == 20480
    assert [(part.reference_number, part.amount_cents) for part in original.parts] == [
        (each, _OWED) for each in _REFERENCES
    ]


async def test_an_entry_that_is_not_booked_whole_is_left_to_a_person(
    bank: StatementHarness,
) -> None:
    (claim_id,) = await bank.harness.create(_REFERENCES[0])
    await bank.load(build_file(build_credit("204.80", "danke", "B-1")))
    (opened,) = await bank.opened()
    key = opened.transaction.key
    async with bank.harness.work() as work:
        await assign_transactions(work, [TransactionShare(*key, claim_id, _OWED)])
    await bank.load(_build_return("204.80"))
    assert await bank.balance(claim_id) == _PAID
    # The rest without a claim does not change that: a person decided about it.
    async with bank.harness.work() as work:
        await record_without_claim(work, *key, "belongs to someone else")
    await bank.load(_build_return("204.80", reference="R-2"))
    assert await bank.balance(claim_id) == _PAID


async def test_if_one_payment_cannot_be_reversed_none_is(
    bank: StatementHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = await _pay_both(bank)
    seen = []

    async def fail_at_second(*given: Any) -> Any:
        seen.append(given)
        if len(seen) % 2 == 0:
            raise ValueError("planted")
        return await return_money(*given)

    monkeypatch.setattr(f"{book_return.__module__}.return_money", fail_at_second)
    await bank.load(_build_return("204.80"))
    assert [await bank.balance(each) for each in claims] == [_PAID, _PAID]
    assert await bank.count("payment_movements") == 0
    (opened,) = await bank.opened()
    assert opened.transaction.problem is not None


async def test_a_return_that_came_before_its_payment_is_matched_after_the_next_import(
    bank: StatementHarness,
) -> None:
    day = bank.harness.clock.now().date().isoformat()
    await bank.load(_build_return("204.80").replace(b"2026-11-27", day.encode()))
    assert [state for state, _ in await bank.states()] == ["OPEN"]
    claims = await _pay_both(bank)
    await bank.load(build_file(build_credit("1.00", "danke", "B-2")))
    assert [await bank.balance(each) for each in claims] == [_OPEN, _OPEN]
