"""A process whose clock is eight days ahead of the database's makes no decisions by that clock.

Only alerts to operators continue; they use the time of the database.
"""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.contact.escalation.engine import Engine
from dunwell.interfaces.api.readiness import Readiness
from dunwell.interfaces.worker.loops import Loop, run_loops
from dunwell.operations.alerts.check_alerts import (
    check_for_alerts,
    load_alert_overview,
    raise_clock_alert,
)
from dunwell.platform.clock import Clock, MovableClock
from dunwell.platform.resources import Resources
from dunwell.platform.watched_clock import ClocksDiffer, DatabaseTime, WatchedClock
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness

_AHEAD = timedelta(days=8)
_PROCESS = a_definition(
    steps=[{**DOCUMENT["steps"][0], "send": "IMMEDIATE"}, *DOCUMENT["steps"][1:]]
)
_FEES = "SELECT FROM items WHERE merchant_id = $1 AND type = 'DUNNING_FEE'"


@pytest.fixture
async def harness(resources: Resources) -> Harness:
    """Return a harness with 96 claims, each with a fee due in a week."""
    clock = MovableClock(datetime.now(UTC))
    harness = await a_harness(replace(resources, clock=clock), clock, _PROCESS)
    await harness.create(*(f"INV-{number}" for number in range(96)))
    await harness.run()
    return harness


def _find_no_delivery_provider(_name: str) -> None:
    """Find no delivery provider: this installation has none."""


async def _watched(resources: Resources, ahead: timedelta) -> Resources:
    clock = WatchedClock(MovableClock(datetime.now(UTC) + ahead), lambda: 0.0)
    async with resources.database.connection() as connection:
        await clock.compare(connection)
    return replace(resources, clock=clock)


async def _run_engine(resources: Resources, clock: Clock) -> None:
    stop = asyncio.Event()
    engine = Engine(replace(resources, clock=clock))

    async def run_once() -> int:
        return await engine.run_once()

    running = asyncio.create_task(run_loops([Loop("engine", run_once)], stop, clock=clock))
    await asyncio.sleep(1)
    stop.set()
    await running


async def test_a_worker_with_a_wrong_clock_charges_no_fee_early(harness: Harness) -> None:
    wrong = await _watched(harness.resources, _AHEAD)
    await _run_engine(wrong, wrong.clock)
    assert len(await harness.rows(_FEES)) == 0
    # For comparison: with the same time but without the clock check, all fees are charged.
    await _run_engine(harness.resources, MovableClock(datetime.now(UTC) + _AHEAD))
    assert len(await harness.rows(_FEES)) == 96


async def test_a_process_is_not_ready_and_names_both_clocks(resources: Resources) -> None:
    wrong = await _watched(resources, _AHEAD)
    with pytest.raises(ClocksDiffer, match=r"this host's clock says .*, the database's says "):
        await Readiness(wrong.database, wrong.clock).check()
    right = await _watched(resources, timedelta(0))
    await Readiness(right.database, right.clock).check()


async def test_the_clock_alert_names_the_host_and_ends_when_the_clocks_agree(
    resources: Resources,
) -> None:
    wrong = await _watched(resources, _AHEAD)
    assert await raise_clock_alert(wrong, "web-2")
    assert await raise_clock_alert(wrong, "web-2")
    by_database = replace(wrong, clock=DatabaseTime(wrong.clock))
    await check_for_alerts(by_database, _find_no_delivery_provider, "")
    async with resources.database.transaction() as tx:
        [alert] = (await load_alert_overview(tx, COMMAND_LINE, datetime.now(UTC))).active
    assert (alert.kind, alert.subject) == ("CLOCKS_APART", "web-2")
    async with resources.database.transaction() as tx:
        await tx.execute("UPDATE alerts SET began_at = began_at - interval '1 hour',"
                         " seen_at = seen_at - interval '16 minutes'")  # fmt: skip
        await tx.execute("DELETE FROM alert_checks")
    right = await _watched(resources, timedelta(0))
    assert not await raise_clock_alert(right, "web-2")
    await check_for_alerts(right, _find_no_delivery_provider, "")
    async with resources.database.transaction() as tx:
        assert (await load_alert_overview(tx, COMMAND_LINE, datetime.now(UTC))).active == []


async def test_an_alert_check_recorded_in_the_future_does_not_block_the_next(
    resources: Resources,
) -> None:
    """The last check was recorded while the clock of the database was wrong."""
    right = await _watched(resources, timedelta(0))
    async with resources.database.transaction() as tx:
        await tx.execute(
            "INSERT INTO alert_checks (watch, checked_at) VALUES (1, now() + '8 days')"
        )
    await check_for_alerts(right, _find_no_delivery_provider, "")
    async with resources.database.transaction() as tx:
        looked_at = await tx.fetchval("SELECT checked_at FROM alert_checks")
    assert abs(looked_at - datetime.now(UTC)) < timedelta(minutes=5)
