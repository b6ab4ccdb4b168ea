"""A return of an entry that was booked as several payments reverses all of them or none."""

from typing import Any

import pytest

from dunwell.cases.payments.reversals import return_money, reverse_payment
from dunwell.cases.statements.import_statements import list_held_statements, release_statement
from dunwell.cases.statements.matches.assign_transactions import (
    TransactionShare,
    assign_transactions,
    record_without_claim,
    undo_match,
)
from dunwell.cases.statements.matches.match_sets import match_all
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


def _build_entry(
    amount: str,
    reason: str = "AC04",
    reference: str = "R-1",
    *,
    end_to_end_id: str | None = "E2E-1",
) -> str:
    """Return the entry of a return."""
    more = f"<RtrInf><Rsn><Cd>{reason}</Cd></Rsn></RtrInf>"
    details = build_detail(amount, "Retoure", kind="DBIT", more=more)
    known = "<Refs><EndToEndId>E2E-1</EndToEndId></Refs>"
    named = "" if end_to_end_id is None else known.replace("E2E-1", end_to_end_id)
    details = details.replace(known, named)
    return build_entry(amount, kind="DBIT", reference=reference, details=details)


def _build_return(amount: str, reason: str = "AC04", reference: str = "R-1") -> bytes:
    return build_file(_build_entry(amount, reason, reference))


async def _pay_each(bank: StatementHarness, *end_to_end_ids: str) -> list[int]:
    """Let an entry with such an end-to-end id pay each claim."""
    claims = await bank.harness.create(*_REFERENCES[: len(end_to_end_ids)])
    entries = [
        build_credit("102.40", reference, f"B-{reference}").replace("E2E-1", end_to_end_id)
        for reference, end_to_end_id in zip(_REFERENCES, end_to_end_ids, strict=False)
    ]
    await bank.load(build_file(*entries))
    assert [await bank.balance(each) for each in claims] == [_PAID] * len(claims)
    return claims


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
    assert opened.transaction.problem is None
    (original,) = opened.originals
    assert original.amount_cents == 20480
    assert [(part.reference_number, part.amount_cents) for part in original.parts] == [
        (each, _OWED) for each in _REFERENCES
    ]


async def test_two_returns_of_one_entry_in_one_file_reverse_it_once(bank: StatementHarness) -> None:
    claims = await _pay_both(bank)
    returns = [_build_entry("204.80", reference=each) for each in ("R-1", "R-2")]
    await bank.load(build_file(*returns))
    assert [await bank.balance(each) for each in claims] == [_OPEN, _OPEN]
    assert sorted(state for state, _ in await bank.states()) == ["MATCHED", "OPEN", "RETURNED"]
    (opened,) = await bank.opened()
    assert opened.transaction.problem is None


async def test_each_return_reverses_the_payment_with_its_end_to_end_id(
    bank: StatementHarness,
) -> None:
    claims = await _pay_each(bank, "E2E-1", "E2E-2")
    without = _build_entry("102.40", reference="R-0", end_to_end_id=None)
    named = _build_entry("102.40", reference="R-2", end_to_end_id="E2E-2")
    await bank.load(build_file(without, named))
    assert [await bank.balance(each) for each in claims] == [_PAID, _OPEN]
    (opened,) = await bank.opened()
    assert (opened.transaction.problem, opened.originals) == (None, ())


async def test_a_person_sees_the_payments_with_the_end_to_end_id_of_the_return(
    bank: StatementHarness,
) -> None:
    claims = await _pay_each(bank, "E2E-1", "E2E-2")
    entries = [
        _build_entry("102.40", "XX99", f"R-{each}", end_to_end_id=each)
        for each in ("E2E-1", "E2E-2")
    ]
    await bank.load(build_file(*entries))
    shown = [[one.parts[0].claim_id for one in each.originals] for each in await bank.opened()]
    assert sorted(shown) == [[each] for each in claims]


async def test_a_return_that_two_payments_fit_is_left_to_a_person(bank: StatementHarness) -> None:
    claims = await _pay_each(bank, "E2E-1", "E2E-1")
    await bank.load(_build_return("102.40"))
    assert [await bank.balance(each) for each in claims] == [_PAID, _PAID]
    (opened,) = await bank.opened()
    assert [each.parts[0].claim_id for each in opened.originals] == claims


async def test_a_return_in_another_currency_is_left_to_a_person(bank: StatementHarness) -> None:
    (claim_id,) = await _pay_each(bank, "E2E-1")
    await bank.load(_build_return("102.40").replace(b'<Amt Ccy="EUR">', b'<Amt Ccy="USD">'))
    # The statement is held, because the account is in euros.
    async with bank.harness.work() as work:
        (held,) = await list_held_statements(work, "main")
        await release_statement(work, "main", held["statement_hash"])
    await match_all(bank.harness.resources)
    assert await bank.balance(claim_id) == _PAID
    (opened,) = await bank.opened()
    assert opened.transaction.problem is None


async def test_only_what_is_left_of_each_payment_is_reversed(bank: StatementHarness) -> None:
    claims = await _pay_both(bank)
    (payment,) = await bank.harness.rows(
        "SELECT payment_id FROM payments WHERE merchant_id = $1 AND claim_id = $2", claims[0]
    )
    async with bank.harness.work() as work:
        await reverse_payment(work, claims[0], payment["payment_id"])
    await bank.load(_build_return("204.80"))
    assert [await bank.balance(each) for each in claims] == [_OPEN, _OPEN]
    movements = await bank.harness.rows(
        "SELECT claim_id, booked_cents, review_reason FROM payment_movements"
        " WHERE merchant_id = $1 AND kind = 'CHARGED_BACK' ORDER BY claim_id"
    )
    assert [tuple(row) for row in movements] == [
        (claims[0], 0, "NOTHING_TO_RETURN"), (claims[1], _OWED, None),
    ]  # fmt: skip
    reversals = [await bank.harness.additions(each) for each in claims]
    assert [[each["type"] for each in one] for one in reversals] == [["PAYMENT_REVERSED"]] * 2


async def test_a_payment_whose_match_was_undone_is_not_returned(bank: StatementHarness) -> None:
    (claim_id,) = await _pay_each(bank, "E2E-1")
    (match,) = await bank.matches()
    async with bank.harness.work() as work:
        await undo_match(work, match["match_id"])
    (opened,) = await bank.opened()
    async with bank.harness.work() as work:
        share = TransactionShare(*opened.transaction.key, claim_id, _OWED)
        await assign_transactions(work, [share])
    await bank.load(_build_return("102.40"))
    assert await bank.balance(claim_id) == _OPEN
    movements = await bank.harness.rows(
        "SELECT kind FROM payment_movements WHERE merchant_id = $1 ORDER BY recorded_at"
    )
    assert [row["kind"] for row in movements] == ["REVERSED", "CHARGED_BACK"]


async def test_a_payment_that_arrives_shows_no_entry_that_it_could_return(
    bank: StatementHarness,
) -> None:
    await _pay_each(bank, "E2E-1")
    await bank.load(build_file(build_credit("5.00", "danke", "B-9")))
    (opened,) = await bank.opened()
    assert opened.originals == ()


async def test_a_return_of_an_entry_that_is_not_booked_completely_is_left_to_a_person(
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
