"""The debtor of the demo finds every button that it presses on the current pages."""

from pathlib import Path
from typing import cast

import pytest
from examples.debtor import pay_on_page

from dunwell.accounts.merchants.store import load_merchant
from dunwell.operations.merchant_file.apply_file import apply_file
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.harness import Harness
from tests.support.landing import Browser, LandingHarness
from tests.support.payments import PaymentHarness, ScriptedPaymentProvider
from tests.support.served import ServedApplication, serve

_DEMO = Path(__file__).parents[2] / "examples" / "demo-merchant.yaml"
_NEWEST = "SELECT max(merchant_id) AS merchant_id FROM merchants"


async def test_a_demo_debtor_pays_the_demo_merchant(
    resources: Resources, clock: MovableClock, capsys: pytest.CaptureFixture[str]
) -> None:
    async with serve(resources) as served:
        landing = await _open_demo_merchant(served, clock)

        await pay_on_page(served.origin + await landing.give_link(), "INV-1001")

    printed = [line.split("INV-1001")[1].strip() for line in capsys.readouterr().out.splitlines()]
    assert printed[-2:] == ["We have received your payment", "Receipt"]
    assert await landing.payments.states() == ["COMPLETED"]


async def _open_demo_merchant(served: ServedApplication, clock: MovableClock) -> LandingHarness:
    """Return the harness of the demo merchant, with one claim."""
    await apply_file(
        served.resources, _DEMO, available_providers=["sandbox"],
        available_adapters={channel: ["outbox"] for channel in ("EMAIL", "SMS", "LETTER")},
    )  # fmt: skip
    async with served.resources.database.transaction() as tx:
        row = await tx.fetchrow(_NEWEST)
        assert row is not None
        merchant = await load_merchant(tx, row["merchant_id"])
    assert merchant is not None
    harness = Harness(served.resources, clock, merchant, [])
    [claim_id] = await harness.create()
    payments = PaymentHarness(harness, ScriptedPaymentProvider(), claim_id)
    return LandingHarness(payments, served.app, cast("Browser", None))
