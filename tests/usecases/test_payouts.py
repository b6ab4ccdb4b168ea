"""Payouts are fetched from the providers that a merchant uses, and explained."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import PaymentMethod, PaymentSettings
from dunwell.cases.payments.provider import PaymentProviderUnavailable, Payout
from dunwell.cases.statements.matches.assign_transactions import record_without_claim, undo_match
from dunwell.cases.statements.matches.match_sets import match_all
from dunwell.cases.statements.payouts.list_payouts import PayoutFilter, explain_payout, list_payouts
from dunwell.cases.statements.payouts.record_payouts import fetch_payouts
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources
from tests.support.bank_files import build_detail, build_entry
from tests.support.harness import a_harness
from tests.support.merchants import CONFIGURATION
from tests.support.payments import PAYING, ScriptedPaymentProvider
from tests.support.payouts import PROVIDER, move, pay_out
from tests.support.statements import StatementHarness, build_credit, build_file


@dataclass
class _PayingProvider(ScriptedPaymentProvider):
    """Lists a payout, a negative one, and one of 0. `is_down`: it does not answer."""

    moves_money: bool = True
    is_down: bool = False
    meeting: asyncio.Barrier | None = None

    async def list_payouts(self, since: datetime) -> Sequence[Payout]:
        if self.meeting is not None:
            await self.meeting.wait()
        if self.is_down:
            raise PaymentProviderUnavailable("away")
        amounts = {"po_1": 5, "po_2": -5, "po_3": 0}
        return [Payout(name, cents, 0, "EUR", since) for name, cents in amounts.items()]


async def test_payouts_are_fetched_from_the_merchants_providers_once(
    resources: Resources, clock: MovableClock
) -> None:
    bank = StatementHarness(await a_harness(resources, clock, configuration=PAYING))
    await bank.save()
    provider = _PayingProvider(is_down=True)
    providers = {"sandbox": provider, "other": _PayingProvider()}
    assert await fetch_payouts(resources, providers) == 0
    provider.is_down = False
    assert [await fetch_payouts(resources, providers) for _ in range(2)] == [2, 0]
    provider.moves_money = False
    assert await fetch_payouts(resources, providers) == 0
    assert await bank.count("provider_payouts") == 2


async def test_payouts_are_fetched_from_an_account_that_only_collects_debits(
    resources: Resources, clock: MovableClock
) -> None:
    payment = PaymentSettings(direct_debit_provider="debits")
    configuration = msgspec.structs.replace(CONFIGURATION, payment=payment)
    bank = StatementHarness(await a_harness(resources, clock, configuration=configuration))
    await bank.save()
    assert await fetch_payouts(resources, {"debits": _PayingProvider()}) == 2


async def test_an_account_whose_provider_hangs_delays_no_other(
    resources: Resources, clock: MovableClock
) -> None:
    methods = PaymentSettings(methods=tuple(map(PaymentMethod, ("first", "second"))))
    configuration = msgspec.structs.replace(CONFIGURATION, payment=methods)
    bank = StatementHarness(await a_harness(resources, clock, configuration=configuration))
    await bank.save()
    # Each answers only when the other is called as well.
    meeting = asyncio.Barrier(2)
    providers = {name: _PayingProvider(meeting=meeting) for name in ("first", "second")}
    async with asyncio.timeout(20):
        assert await fetch_payouts(resources, providers) == 4


async def test_a_payout_is_explained_by_its_movements_and_fees(
    resources: Resources, clock: MovableClock
) -> None:
    """Movements of another merchant's claims at the same account are only counted and summed. A
    refund and its failure have the same id; the direction of the money distinguishes them."""
    harness, other = [await a_harness(resources, clock, key=key) for key in ("own", "other")]
    [claim_id] = await harness.create("INV-1")
    [other_id] = await other.create("INV-2")
    paid = await move(harness, claim_id, "ch_1", "PAID", 102_40)
    refunded = await move(harness, claim_id, "re_1", "REFUNDED", 10_00)
    await move(harness, claim_id, "re_1", "REFUND_FAILED", 10_00)
    theirs = await move(other, other_id, "ch_2", "PAID", 50_00)
    parts = ("ch_1", 102_40), ("re_1", -10_00), ("ch_2", 50_00), ("ch_unknown", 5_00)
    record_id = await pay_out(harness, 145_00, 2_00, *parts)
    async with harness.work() as work:
        explained = await explain_payout(work, record_id)
    assert [(each.record_id, each.kind, each.amount_cents) for each in explained.movements] == [
        (paid, "PAID", 102_40), (refunded, "REFUNDED", -10_00),
    ]  # fmt: skip
    assert (explained.other_count, explained.other_cents) == (2, 55_00)
    # 102.40 - 10.00 + 50.00 + 5.00 - 2.00 is 145.40.
    assert explained.payout.difference_cents == -40
    other_payout = await pay_out(other, 145_40, 2_00, *parts)
    async with other.work() as work:
        explained = await explain_payout(work, other_payout)
        assert [each.record_id for each in explained.movements] == [theirs]
        assert explained.payout.difference_cents == 0
        with pytest.raises(NotFound):
            await explain_payout(work, record_id)
        with pytest.raises(NotFound):
            await explain_payout(work, uuid4())


async def test_a_payout_without_listed_movements_is_unexplained(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    record_id = await pay_out(harness, 100_00, 0)
    async with harness.work() as work:
        explained = await explain_payout(work, record_id)
    assert (explained.movements, explained.other_count) == ([], 0)
    assert explained.payout.difference_cents == 100_00


async def test_a_payout_names_the_entry_with_which_it_arrived_until_that_is_undone(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    bank = StatementHarness(harness)
    await bank.save()
    record_id = await pay_out(harness, 1_00, 0)
    await pay_out(harness, 2_00, 0, payout_id="po_2")
    day = clock.now().date()
    await bank.load(build_file(build_credit("1.00", "x", "B-1", day=day.isoformat())))

    async def list_found(*, has_arrived: bool) -> list[str]:
        async with harness.work() as work:
            wanted = PayoutFilter(account=PROVIDER, has_arrived=has_arrived)
            found = await list_payouts(work, limit=50, wanted=wanted)
        return [each.payout_id for each in found.items]

    assert await list_found(has_arrived=True) == ["po_1"]
    assert await list_found(has_arrived=False) == ["po_2"]
    async with harness.work() as work:
        arrival = (await explain_payout(work, record_id)).payout.arrival
        assert arrival is not None
        assert (arrival.account, arrival.booked_on) == ("main", day)
    [match] = await bank.matches()
    async with harness.work() as work:
        await undo_match(work, match["match_id"])
        payout = (await explain_payout(work, record_id)).payout
    assert (payout.arrived_at, payout.arrival) == (None, None)
    assert await list_found(has_arrived=True) == []


def build_debit(amount: str, *, reference: str = "B-1", day: str, reason: str = "") -> str:
    """Return an entry that takes money from the account, optionally as a returned payment."""
    more = f"<RtrInf><Rsn><Cd>{reason}</Cd></Rsn></RtrInf>" if reason else ""
    details = build_detail(amount, "PSP", kind="DBIT", more=more)
    return build_entry(amount, kind="DBIT", reference=reference, day=day, details=details)


async def test_a_negative_payout_is_found_as_the_debit_that_takes_the_money_back(
    resources: Resources, clock: MovableClock
) -> None:
    """A credit of the same amount, and a returned payment of a debtor, are something else."""
    harness = await a_harness(resources, clock)
    [claim_id] = await harness.create("INV-1")
    bank = StatementHarness(harness)
    await bank.save()
    day = clock.now().date().isoformat()
    await move(harness, claim_id, "du_1", "CHARGED_BACK", 45_00)
    record_id = await pay_out(harness, -50_00, 5_00, ("du_1", -45_00))
    await bank.load(
        build_file(
            build_credit("50.00", "x", "B-1", day=day),
            build_debit("50.00", reference="B-2", day=day, reason="AC04"),
            build_debit("49.99", reference="B-3", day=day),
            build_debit("50.00", reference="B-4", day=day),
        )
    )
    assert await bank.states() == [("OPEN", 0), ("OPEN", 0), ("OPEN", 0), ("PAYOUT", 50_00)]
    [match] = await bank.matches()
    assert (match["rule"], match["amount_cents"]) == ("PAYOUT", 50_00)
    async with harness.work() as work:
        explained = await explain_payout(work, record_id)
        assert explained.payout.arrival is not None
        assert explained.payout.difference_cents == 0
        await undo_match(work, match["match_id"])
        assert (await explain_payout(work, record_id)).payout.arrived_at is None
    assert (await bank.states())[3] == ("OPEN", 0)
    assert (await bank.balance(claim_id))[1:] == (10240, 0)


@pytest.mark.parametrize(
    ("days", "state"), [(-2, "PAYOUT"), (-3, "OPEN"), (11, "PAYOUT"), (13, "OPEN")]
)
async def test_a_payout_that_is_listed_after_its_statement_is_matched_then(
    resources: Resources, clock: MovableClock, days: int, state: str
) -> None:
    harness = await a_harness(resources, clock)
    bank = StatementHarness(harness)
    await bank.save()
    day = clock.now().date() + timedelta(days=days)
    debits = {"B-1": "7.00", "B-2": "8.00"}
    entries = [
        build_debit(each, reference=key, day=day.isoformat()) for key, each in debits.items()
    ]
    await bank.load(build_file(*entries))
    assert await bank.states() == [("OPEN", 0)] * 2
    await pay_out(harness, -7_00, 0)
    # Only an entry that can be this payout is matched again.
    matched_again = "NEW" if state == "PAYOUT" else "OPEN"
    assert [each for each, _ in await bank.states()] == [matched_again, "OPEN"]
    while await match_all(resources):
        pass
    assert (await bank.states())[0][0] == state


async def test_what_a_person_decided_is_not_matched_again_with_a_payout(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    bank = StatementHarness(harness)
    await bank.save()
    day = clock.now().date().isoformat()
    await bank.load(build_file(build_debit("7.00", day=day)))
    [opened] = await bank.opened()
    async with harness.work() as work:
        match = await record_without_claim(work, *opened.transaction.key, "Fee")
        await undo_match(work, match.match_id)
    await pay_out(harness, -7_00, 0)
    assert await match_all(resources) == 0
    assert await bank.states() == [("OPEN", 0)]
