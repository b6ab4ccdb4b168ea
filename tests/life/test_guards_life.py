"""What prevents a step: its own condition skips it, and the debtor's contact limits delay it."""

from dunwell.accounts.merchants.configuration import Guards, QuietHours
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.lifecycles import FEE, a_lifecycle_harness, a_process, checkpoint, contact, wait
from tests.support.timeline import list_timeline, run_until_local_time

END = "2026-06-30 12:00"


async def test_a_step_with_an_unmet_condition_is_skipped(
    resources: Resources, clock: MovableClock
) -> None:
    large, young = {"outstanding": {"min": "10300"}}, {"primaryAgeDays": {"max": 30}}
    process = a_process(
        contact(when=large), contact(), wait(7), FEE, contact(when=large | young),
        wait(7), contact(when=young), checkpoint("end", when={"itemType": "DUNNING_FEE"}),
    )  # fmt: skip
    harness = await a_lifecycle_harness(resources, clock, process)
    [claim_id] = await harness.create()
    await run_until_local_time(harness, END)
    assert await list_timeline(harness, claim_id) == [
        "Mon 02 Mar 10:00 EMAIL",
        "Mon 02 Mar 10:00 step 1 SKIPPED GUARD_UNMET outstanding",
        # The fee that was just added makes the claim large enough; due since 10 February, it is 27
        # days old.
        "Mon 09 Mar 10:00 fee 250",
        "Mon 09 Mar 10:00 EMAIL",
        "Mon 16 Mar 10:00 checkpoint end",
        "Mon 16 Mar 10:00 archived",
        "Mon 16 Mar 10:00 step 7 SKIPPED GUARD_UNMET primaryAgeDays",
    ]


async def test_contacts_due_on_the_same_day_are_sent_on_successive_days(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(
        resources, clock, a_process(contact(), contact(), contact(), wait(7))
    )
    [claim_id] = await harness.create()
    await run_until_local_time(harness, END)
    assert await list_timeline(harness, claim_id) == [
        "Mon 02 Mar 10:00 EMAIL",
        "Tue 03 Mar 09:00 EMAIL",
        "Wed 04 Mar 09:00 EMAIL",
        "Wed 11 Mar 09:00 archived",
    ]


async def test_a_debtor_with_five_claims_is_contacted_at_most_three_times_a_week(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(resources, clock, a_process(contact(), wait(60)))
    ids = await harness.create(*"ABCDE", email="erika@example.org")
    await run_until_local_time(harness, "2026-04-01 12:00")
    assert [line for each in ids for line in await list_timeline(harness, each)] == [
        "Mon 02 Mar 10:00 EMAIL",
        "Tue 03 Mar 09:00 EMAIL",
        "Wed 04 Mar 09:00 EMAIL",
        "Mon 09 Mar 09:00 EMAIL",
        "Tue 10 Mar 09:00 EMAIL",
    ]


async def test_the_wait_after_a_delayed_contact_starts_when_it_is_sent(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(
        resources, clock, a_process(contact(), wait(2), checkpoint("two days on"))
    )
    first, second = await harness.create("A", "B", email="erika@example.org")
    await run_until_local_time(harness, END)
    assert (await list_timeline(harness, first))[1] == "Wed 04 Mar 10:00 checkpoint two days on"
    assert (await list_timeline(harness, second))[:2] == [
        "Tue 03 Mar 09:00 EMAIL",
        "Thu 05 Mar 09:00 checkpoint two days on",
    ]


async def test_quiet_hours_delay_even_immediate_contacts(
    resources: Resources, clock: MovableClock
) -> None:
    guards = Guards(quiet_hours=QuietHours("21:00", "08:00"))
    process = a_process(contact(send="IMMEDIATE"), wait(1))
    harness = await a_lifecycle_harness(
        resources, clock, process, start="2026-03-06 22:10", guards=guards
    )
    [claim_id] = await harness.create()
    await run_until_local_time(harness, END)
    assert await list_timeline(harness, claim_id) == [
        "Sat 07 Mar 08:00 EMAIL",
        "Sun 08 Mar 08:00 archived",
    ]
