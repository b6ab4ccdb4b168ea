"""A match that is undone, and a payment that is reversed on its own page, leave every figure as if
the match had never been made."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dunwell.cases.statements.matches.assign_transactions import (
    TransactionShare,
    assign_transactions,
    find_transaction_of_payment,
    record_without_claim,
    reverse_matched_payment,
    undo_match,
)
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.support.harness import a_harness
from tests.support.statements import StatementHarness, build_credit, build_file

_OWED = 10240
_REFERENCES = ("INV-2026-1001", "INV-2026-1002")
_MATCHES = """
SELECT m.match_id, m.entry_id, m.number, m.amount_cents, m.claim_id, m.payment_id
FROM bank_matches m
WHERE m.merchant_id = $1 AND m.kind = 'MATCHED' AND NOT EXISTS (
    SELECT FROM bank_matches u WHERE u.merchant_id = $1 AND u.undoes = m.match_id)
ORDER BY m.matched_at, m.match_id
"""
_PAYMENTS = """
SELECT payment_id, claim_id, amount_cents - returned_cents AS left_cents,
       (SELECT coalesce(sum(amount_cents), 0)::bigint FROM allocations a
        WHERE a.merchant_id = $1 AND a.payment_id = p.payment_id) AS allocated_cents
FROM payments p
WHERE merchant_id = $1
"""
_TRANSACTIONS = """
SELECT entry_id, number, amount_cents, matched_cents, state
FROM bank_transactions
WHERE merchant_id = $1
ORDER BY entry_id, number
"""
_PAYERS = "SELECT claim_id FROM payer_accounts WHERE merchant_id = $1 ORDER BY claim_id"


async def _open(resources: Resources, clock: MovableClock, key: str) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock, key=key))
    await bank.save()
    return bank


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    return await _open(resources, clock, "merchant-bank")


async def _reverse(bank: StatementHarness, claim_id: int, payment_id: UUID, reason: str) -> bool:
    async with bank.harness.work() as work:
        return (await reverse_matched_payment(work, claim_id, payment_id, reason)).is_new


async def test_a_payment_that_is_reversed_on_its_own_page_opens_its_entry_once(
    bank: StatementHarness,
) -> None:
    first, second = await bank.harness.create(*_REFERENCES)
    await bank.load(build_file(build_credit("102.40", _REFERENCES[0], "B-1")))
    (match,) = await bank.harness.rows(_MATCHES)
    async with bank.harness.work() as work:
        found = await find_transaction_of_payment(work, first, match["payment_id"])
    assert found is not None
    assert found.key == (match["entry_id"], match["number"])
    assert await _reverse(bank, first, match["payment_id"], "wrong claim")
    assert await bank.states() == [("OPEN", 0)]
    assert await bank.harness.rows(_MATCHES) == []
    assert await bank.balance(first) == (Status.CREATED, _OWED, 0)
    async with bank.harness.work() as work:
        assert await find_transaction_of_payment(work, first, match["payment_id"]) is None
        with pytest.raises(InvalidState):
            await undo_match(work, match["match_id"])
    assert not await _reverse(bank, first, match["payment_id"], "again")
    (opened,) = await bank.opened()
    async with bank.harness.work() as work:
        await assign_transactions(work, [TransactionShare(*opened.transaction.key, second, _OWED)])
    assert await bank.balance(second) == (Status.COLLECTED, 0, 0)
    assert not await _reverse(bank, first, match["payment_id"], "and again")
    assert await bank.states() == [("MATCHED", _OWED)]


async def test_one_of_two_payments_of_an_entry_is_reversed(bank: StatementHarness) -> None:
    first, second = await bank.harness.create(*_REFERENCES)
    await bank.load(build_file(build_credit("204.80", " ".join(_REFERENCES), "B-1")))
    matches = await bank.harness.rows(_MATCHES)
    payment = next(each["payment_id"] for each in matches if each["claim_id"] == first)
    assert await _reverse(bank, first, payment, "wrong claim")
    assert await bank.states() == [("OPEN", _OWED)]
    assert await bank.balance(first) == (Status.CREATED, _OWED, 0)
    assert await bank.balance(second) == (Status.COLLECTED, 0, 0)


async def test_the_account_of_an_undone_payment_is_no_suggestion(bank: StatementHarness) -> None:
    (first,) = await bank.harness.create(_REFERENCES[0])
    for reference in ("B-1", "B-2"):
        await bank.load(build_file(build_credit("1.00", _REFERENCES[0], reference)))
    for left in (1, 0):
        match = (await bank.harness.rows(_MATCHES))[0]
        async with bank.harness.work() as work:
            await undo_match(work, match["match_id"])
        assert len(await bank.harness.rows(_PAYERS)) == left
    assert await bank.balance(first) == (Status.CREATED, _OWED, 0)


@dataclass
class _Account:
    """A merchant's account with two claims, on which steps are done at random."""

    bank: StatementHarness
    claims: list[int]
    data: st.DataObject
    numbers: Any = field(default_factory=lambda: count(1))

    async def load(self) -> None:
        amount = self.data.draw(st.sampled_from(["30.00", "102.40", "150.00", "204.80"]))
        text = self.data.draw(
            st.sampled_from([*_REFERENCES, " ".join(_REFERENCES), "inv 2026 1001", "danke"])
        )
        entry = build_credit(amount, text, f"B-{next(self.numbers)}")
        for _ in range(self.data.draw(st.integers(1, 2))):
            await self.bank.load(build_file(entry))

    async def assign(self) -> None:
        opened = await self.bank.opened()
        if not opened:
            return
        chosen = self.data.draw(st.sampled_from(opened)).transaction
        cents = self.data.draw(st.integers(1, chosen.left_cents))
        shares = [
            TransactionShare(*chosen.key, self.data.draw(st.sampled_from(self.claims)), cents)
        ]
        if cents < chosen.left_cents:
            rest = chosen.left_cents - cents
            shares.append(
                TransactionShare(*chosen.key, self.data.draw(st.sampled_from(self.claims)), rest)
            )
        async with self.bank.harness.work() as work:
            await assign_transactions(work, shares[: self.data.draw(st.integers(1, 2))])

    async def set_aside(self) -> None:
        opened = await self.bank.opened()
        if opened:
            chosen = self.data.draw(st.sampled_from(opened)).transaction
            async with self.bank.harness.work() as work:
                await record_without_claim(work, *chosen.key, "not ours")

    async def undo(self) -> None:
        matches = await self.bank.harness.rows(_MATCHES)
        if matches:
            match = self.data.draw(st.sampled_from(matches))
            is_reversal = match["payment_id"] is not None and self.data.draw(st.booleans())
            if is_reversal:
                await _reverse(self.bank, match["claim_id"], match["payment_id"], "wrong")
                return
            async with self.bank.harness.work() as work:
                await undo_match(work, match["match_id"])

    async def try_and_undo(self) -> None:
        """Decide something and undo it at once: every figure is as before."""
        before, known = await self.read_figures(), await self._list_match_ids()
        await self.data.draw(st.sampled_from([self.assign, self.set_aside]))()
        made = await self._list_match_ids() - known
        for match_id in self.data.draw(st.permutations(sorted(made))):
            async with self.bank.harness.work() as work:
                await undo_match(work, match_id)
        assert await self.read_figures() == before

    async def _list_match_ids(self) -> set[UUID]:
        return {each["match_id"] for each in await self.bank.harness.rows(_MATCHES)}

    async def read_figures(self) -> Any:
        """Read everything that a person sees of money, but not who did what."""
        return (
            [await self.bank.balance(each) for each in self.claims],
            [tuple(each) for each in await self.bank.harness.rows(_TRANSACTIONS)],
            [each["claim_id"] for each in await self.bank.harness.rows(_PAYERS)],
        )

    async def check(self) -> None:
        matches = await self.bank.harness.rows(_MATCHES)
        payments = {each["payment_id"]: each for each in await self.bank.harness.rows(_PAYMENTS)}
        # Each valid match has its own payment, and each payment that has money left a match.
        booked = [each for each in matches if each["payment_id"] is not None]
        assert Counter(
            (each["payment_id"], each["claim_id"], each["amount_cents"]) for each in booked
        ) == Counter(
            (each["payment_id"], each["claim_id"], each["left_cents"])
            for each in payments.values()
            if each["left_cents"]
        )
        matched: Counter[tuple[UUID, int]] = Counter()
        for each in matches:
            matched[each["entry_id"], each["number"]] += each["amount_cents"]
        for each in await self.bank.harness.rows(_TRANSACTIONS):
            assert each["matched_cents"] == matched[each["entry_id"], each["number"]]
            assert (each["state"] == "OPEN") == (each["matched_cents"] < each["amount_cents"])
        for claim_id in self.claims:
            paid = sum(each["amount_cents"] for each in booked if each["claim_id"] == claim_id)
            status, outstanding, overpaid = await self.bank.balance(claim_id)
            assert (outstanding, overpaid) == (max(0, _OWED - paid), max(0, paid - _OWED))
            assert status is (Status.CREATED if outstanding else Status.COLLECTED)
            shared = sum(
                each["allocated_cents"]
                for each in payments.values()
                if each["claim_id"] == claim_id
            )
            assert shared == min(paid, _OWED)


_KEYS = count(1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
async def test_undoing_everything_restores_every_figure(
    resources: Resources, clock: MovableClock, data: st.DataObject
) -> None:
    """Whatever is imported, matched, assigned, recorded without a claim, undone and reversed:
    no cent is matched twice, what is paid above what is owed is a surplus, and at the end nothing
    is left of any match."""
    bank = await _open(resources, clock, f"merchant-{next(_KEYS)}")
    account = _Account(bank, await bank.harness.create(*_REFERENCES), data)
    steps = [account.load, account.assign, account.set_aside, account.undo, account.try_and_undo]
    await account.load()
    for _ in range(data.draw(st.integers(1, 7))):
        await data.draw(st.sampled_from(steps))()
        await account.check()
    while await bank.harness.rows(_MATCHES):
        await account.undo()
    await account.check()
    balances, transactions, payers = await account.read_figures()
    assert balances == [(Status.CREATED, _OWED, 0)] * 2
    assert {(matched, state) for _, _, _, matched, state in transactions} <= {(0, "OPEN")}
    assert payers == []
