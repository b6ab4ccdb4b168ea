"""Payouts are fetched from the providers that a merchant uses."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from dunwell.accounts.merchants.configuration import PaymentMethod, PaymentSettings
from dunwell.cases.payments.provider import PaymentProviderUnavailable, Payout
from dunwell.cases.statements.matches.payouts import fetch_payouts
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.harness import a_harness
from tests.support.merchants import CONFIGURATION
from tests.support.payments import PAYING, ScriptedPaymentProvider
from tests.support.statements import StatementHarness


@dataclass
class _PayingProvider(ScriptedPaymentProvider):
    """Lists one payout. `is_down`: it does not answer."""

    moves_money: bool = True
    is_down: bool = False
    meeting: asyncio.Barrier | None = None

    async def list_payouts(self, since: datetime) -> Sequence[Payout]:
        if self.meeting is not None:
            await self.meeting.wait()
        if self.is_down:
            raise PaymentProviderUnavailable("away")
        return [Payout("po_1", 5, 0, "EUR", since), Payout("po_2", -5, 0, "EUR", since)]


async def test_payouts_are_fetched_from_the_merchants_providers_once(
    resources: Resources, clock: MovableClock
) -> None:
    bank = StatementHarness(await a_harness(resources, clock, configuration=PAYING))
    await bank.save()
    provider = _PayingProvider(is_down=True)
    providers = {"sandbox": provider, "other": _PayingProvider()}
    assert await fetch_payouts(resources, providers) == 0
    provider.is_down = False
    assert [await fetch_payouts(resources, providers) for _ in range(2)] == [1, 0]
    provider.moves_money = False
    assert await fetch_payouts(resources, providers) == 0
    assert await bank.count("payouts") == 1


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
        assert await fetch_payouts(resources, providers) == 2
