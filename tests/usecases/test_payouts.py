"""Payouts are fetched from the providers that a merchant uses."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dunwell.cases.payments.provider import PaymentProviderUnavailable, Payout
from dunwell.cases.statements.matches.payouts import fetch_payouts
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.harness import a_harness
from tests.support.payments import PAYING, ScriptedPaymentProvider
from tests.support.statements import StatementHarness


@dataclass
class _PayingProvider(ScriptedPaymentProvider):
    """Lists one payout. `is_down`: it does not answer."""

    moves_money: bool = True
    is_down: bool = False

    async def list_payouts(self, since: datetime) -> Sequence[Payout]:
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
