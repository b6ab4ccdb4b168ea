"""After downtime each due step runs once, and no debtor is contacted twice a day (promise 13). What
a hold delayed does not count as late."""

from collections import Counter
from datetime import timedelta

from dunwell.contact.escalation.engine import Engine
from dunwell.core.claims.claim_holds import lift_holds, open_hold
from dunwell.core.claims.states import HoldKind
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.harness import Harness
from tests.support.lifecycles import FEE, a_lifecycle_harness, a_workflow, checkpoint, contact, wait
from tests.support.timeline import berlin, list_timeline, run_until_local_time

END = "2026-07-31 12:00"
LATE = {"skipIfOlderThanDays": 30}
STEPS = (contact(), wait(7), FEE, contact(), checkpoint("end"), wait(7))


def be_down_until(harness: Harness, local: str) -> None:
    """Move the clock without running the engine or the dispatcher."""
    harness.clock.move_to(berlin(local))


async def hold(harness: Harness, claim_id: int, days: int | None = None) -> None:
    async with harness.work() as work:
        until = work.now + timedelta(days=days) if days else None
        await open_hold(work, claim_id, HoldKind.DISPUTE, until=until)


async def lift(harness: Harness, claim_id: int) -> None:
    async with harness.work() as work:
        await lift_holds(work, claim_id, HoldKind.DISPUTE)


async def test_each_due_step_runs_once_after_forty_days_of_downtime(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(resources, clock, a_workflow(*STEPS))
    [claim_id] = await harness.create()
    await run_until_local_time(harness, "2026-03-02 12:00")
    be_down_until(harness, "2026-04-11 12:00")
    await run_until_local_time(harness, END)
    assert await list_timeline(harness, claim_id) == [
        "Mon 02 Mar 10:00 EMAIL",
        "Sat 11 Apr 12:00 fee 250",
        "Mon 13 Apr 09:00 EMAIL",
        "Mon 13 Apr 09:00 checkpoint end",
        "Mon 20 Apr 09:00 archived",
    ]


async def test_no_debtor_is_contacted_twice_a_day_after_forty_days_of_downtime(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(resources, clock, a_workflow(*STEPS))
    people = ["a@example.org", "b@example.org", "c@example.org"]
    claims = [
        claim_id
        for n in range(9)
        for claim_id in await harness.create(f"INV-{n}", email=people[n % 3])
    ]
    be_down_until(harness, "2026-04-11 12:00")
    await run_until_local_time(harness, END)
    sent = Counter((each.recipient, each.created_at.date()) for each in harness.channels[0].sent)
    assert set(sent.values()) == {1}
    assert len(harness.channels[0].sent) == 18
    for claim_id in claims:
        kinds = [line.split(" ", 4)[4] for line in await list_timeline(harness, claim_id)]
        assert kinds == ["EMAIL", "fee 250", "EMAIL", "checkpoint end", "archived"]


async def test_a_contact_later_than_the_policy_allows_is_skipped(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(resources, clock, a_workflow(*STEPS, latePolicy=LATE))
    [claim_id] = await harness.create()
    be_down_until(harness, "2026-04-02 10:00")
    [other] = await harness.create("INV-2", email="b@example.org")
    await run_until_local_time(harness, "2026-04-02 12:00")
    assert await list_timeline(harness, claim_id) == ["Thu 02 Apr 10:00 step 1 SKIPPED TOO_LATE"]
    assert await list_timeline(harness, other) == ["Thu 02 Apr 10:00 EMAIL"]


async def test_a_contact_exactly_as_late_as_the_policy_allows_is_made(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(resources, clock, a_workflow(*STEPS, latePolicy=LATE))
    [claim_id] = await harness.create()
    be_down_until(harness, "2026-04-01 11:00")  # Summer time has begun.
    await run_until_local_time(harness, "2026-04-01 12:00")
    assert await list_timeline(harness, claim_id) == ["Wed 01 Apr 11:00 EMAIL"]


async def test_a_contact_that_fell_due_during_a_hold_is_not_late(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(resources, clock, a_workflow(*STEPS, latePolicy=LATE))
    [claim_id] = await harness.create()
    await run_until_local_time(harness, "2026-03-03 12:00")
    await hold(harness, claim_id)
    await run_until_local_time(harness, "2026-04-22 12:00")
    await lift(harness, claim_id)
    await run_until_local_time(harness, END)
    assert (await list_timeline(harness, claim_id))[:3] == [
        "Mon 02 Mar 10:00 EMAIL",
        "Wed 22 Apr 12:00 fee 250",
        "Wed 22 Apr 12:00 EMAIL",
    ]


async def test_a_due_contact_that_was_then_held_is_not_late(
    resources: Resources, clock: MovableClock
) -> None:
    """There are no contacts at the weekend, and the hold begins on Sunday. It ends in summer
    time."""
    workflow = a_workflow(*STEPS, latePolicy=LATE)
    harness = await a_lifecycle_harness(resources, clock, workflow, start="2026-03-07 10:00")
    [claim_id] = await harness.create()
    await run_until_local_time(harness, "2026-03-08 12:00")
    await hold(harness, claim_id, days=40)
    await run_until_local_time(harness, END)
    assert (await list_timeline(harness, claim_id))[0] == "Fri 17 Apr 13:00 EMAIL"


async def test_lateness_is_counted_from_the_end_of_a_hold(
    resources: Resources, clock: MovableClock
) -> None:
    """The claim is held for forty days. The service runs for the first two and is then down for 31
    days after the hold."""
    harness = await a_lifecycle_harness(resources, clock, a_workflow(*STEPS, latePolicy=LATE))
    kept, missed = await harness.create("A", "B")
    await hold(harness, kept, days=40)
    await hold(harness, missed, days=9)
    await run_until_local_time(harness, "2026-03-04 12:00")
    be_down_until(harness, "2026-04-13 12:00")
    await run_until_local_time(harness, "2026-04-13 13:00")
    assert await list_timeline(harness, kept) == ["Mon 13 Apr 12:00 EMAIL"]
    assert await list_timeline(harness, missed) == ["Mon 13 Apr 12:00 step 1 SKIPPED TOO_LATE"]


async def plan_only(harness: Harness) -> None:
    """Run only the engine, so that the dispatcher sends nothing before the downtime."""
    await Engine(harness.resources).run_once()


async def test_a_contact_planned_before_the_downtime_can_be_skipped_as_late(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(resources, clock, a_workflow(*STEPS, latePolicy=LATE))
    [claim_id] = await harness.create()
    await plan_only(harness)
    be_down_until(harness, "2026-04-13 12:00")
    await harness.run()
    assert harness.channels[0].sent == []
    await run_until_local_time(harness, END)
    assert await list_timeline(harness, claim_id) == [
        "Mon 13 Apr 12:00 step 1 SKIPPED TOO_LATE",
        "Mon 20 Apr 12:00 EMAIL",
        "Mon 20 Apr 12:00 checkpoint end",
        # All of these fall in the same minute, when no contact had succeeded yet.
        "Mon 20 Apr 12:00 step 3 SKIPPED NOBODY_REACHED",
        "Mon 27 Apr 12:00 archived",
    ]


async def test_a_planned_contact_that_a_hold_made_late_is_sent(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(resources, clock, a_workflow(*STEPS, latePolicy=LATE))
    [claim_id] = await harness.create()
    await plan_only(harness)
    await hold(harness, claim_id)
    await run_until_local_time(harness, "2026-04-13 12:00")
    await lift(harness, claim_id)
    await harness.run()
    assert (await list_timeline(harness, claim_id))[0] == "Mon 13 Apr 12:00 EMAIL"


async def test_a_planned_contact_within_the_limit_is_sent_late(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(resources, clock, a_workflow(*STEPS, latePolicy=LATE))
    [claim_id] = await harness.create()
    await plan_only(harness)
    be_down_until(harness, "2026-03-31 10:00")
    await harness.run()
    assert (await list_timeline(harness, claim_id))[0] == "Tue 31 Mar 10:00 EMAIL"
