"""A merchant's overview: recent messages and payments, and the steps of tomorrow."""

from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

from dunwell.core.workflows.definition import ContactStep, FeeStep, Step, WaitStep
from dunwell.operations.dashboards.overview import (
    DueStep,
    Overview,
    TomorrowForecast,
    forecast_day,
    load_overview,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.durations import JUST
from tests.support.harness import Harness, a_harness

_SENT = """
INSERT INTO communications (merchant_id, communication_id, claim_id, run, step_id, place, channel,
                            state, not_before, planned_at)
VALUES ($1, gen_random_uuid(), $2, 7, 1, 0, 'EMAIL', 'UNKNOWN', $3, $3)
RETURNING 1
"""


async def load_view(harness: Harness) -> Overview:
    async with harness.work() as work:
        return await load_overview(work)


async def test_the_overview_counts_messages_of_seven_days(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    [claim_id] = await harness.create()
    await harness.rows(_SENT, claim_id, clock.now())
    clock.advance(timedelta(days=7))
    assert (await load_view(harness)).contacts == {"EMAIL": {"UNKNOWN": 1}}
    clock.advance(JUST)
    assert (await load_view(harness)).contacts == {}


async def test_the_overview_sums_payments_of_fourteen_days(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    [claim_id] = await harness.create()
    await harness.pay(claim_id, 240)
    # The end of the 15th, in Berlin.
    clock.move_to(datetime(2026, 3, 15, 23, tzinfo=UTC) - JUST)
    [paid] = (await load_view(harness)).paid
    assert (paid.day, paid.currency, paid.cents, paid.number) == (date(2026, 3, 2), "EUR", 240, 1)
    clock.advance(JUST)
    assert (await load_view(harness)).paid == []


async def test_the_overview_forecasts_the_steps_of_tomorrow(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    await harness.create("A-1", "A-2")
    await harness.run()
    assert (await load_view(harness)).tomorrow == TomorrowForecast(0, {}, 0, 0, 0)
    clock.move_to(datetime(2026, 3, 8, 12, tzinfo=UTC))

    found = (await load_view(harness)).tomorrow

    assert (found.claims, found.contacts, found.fees, found.archived) == (2, {}, 2, 0)
    assert found.fee_cents == 2 * 250


def test_forecast_steps_are_counted_with_channels_and_end() -> None:
    process, other = uuid4(), uuid4()
    steps: list[Step] = [
        FeeStep(id=1, name="Fee", type="DUNNING_FEE", value="250"),
        ContactStep(id=2, name="Letter", channel="LETTER", template="x"),
        WaitStep(id=3, name="Wait", days=7),
        ContactStep(id=4, name="Mail", channel="EMAIL", template="x"),
    ]
    due = [
        DueStep(process, 1, 1, 3),
        DueStep(process, 1, 4, 2),
        DueStep(process, 1, None, 5),
        DueStep(other, 1, 1, 1),
    ]

    found = forecast_day(due, {(process, 1): steps})

    assert found == TomorrowForecast(11, {"LETTER": 3, "EMAIL": 2}, 3, 750, 5)
