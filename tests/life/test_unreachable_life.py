"""Fees, waits and fallbacks when a debtor cannot be reached or a message later turns out to have
bounced."""

from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.contact.escalation.reports.delivery_reports import report_failure
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import REACHABLE
from tests.support.harness import Harness
from tests.support.lifecycles import FEE, a_lifecycle_harness, a_workflow, checkpoint, contact, wait
from tests.support.timeline import list_timeline, run_until_local_time

THREE = contact("EMAIL", "SMS", "LETTER")
END = "2026-06-30 12:00"


async def bounce(harness: Harness, channel: int) -> None:
    """Report the latest message of a channel as undeliverable."""
    message = harness.channels[channel].sent[-1]
    async with harness.work(COMMAND_LINE) as work:
        await report_failure(work, harness.resources.keys, message.communication_id, "bounced")


async def test_an_unreachable_debtor_is_charged_no_fee(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(
        resources, clock, a_workflow(THREE, wait(7), FEE, checkpoint("end"))
    )
    [claim_id] = await harness.create(email=None)
    await run_until_local_time(harness, END)
    assert await list_timeline(harness, claim_id) == [
        "Mon 02 Mar 10:00 step 1 FAILED NOBODY_REACHABLE",
        "Mon 09 Mar 10:00 checkpoint end",
        "Mon 09 Mar 10:00 archived",
        "Mon 09 Mar 10:00 step 3 SKIPPED NOBODY_REACHED",
    ]


async def test_a_fee_without_required_contact_is_charged_to_an_unreachable_debtor(
    resources: Resources, clock: MovableClock
) -> None:
    workflow = a_workflow(contact(), wait(7), FEE, feesNeedContact=False)
    harness = await a_lifecycle_harness(resources, clock, workflow)
    [claim_id] = await harness.create(email=None)
    await run_until_local_time(harness, END)
    assert "Mon 09 Mar 10:00 fee 250" in await list_timeline(harness, claim_id)


async def test_the_fallback_for_a_bounce_at_night_waits_for_contact_hours(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(
        resources, clock, a_workflow(THREE, wait(7), checkpoint("a week after it"))
    )
    [claim_id] = await harness.create(**REACHABLE)
    await run_until_local_time(harness, "2026-03-06 23:15")
    await bounce(harness, 0)
    await run_until_local_time(harness, END)
    assert (await list_timeline(harness, claim_id))[1:3] == [
        "Mon 09 Mar 09:00 SMS",
        "Mon 16 Mar 09:00 checkpoint a week after it",
    ]


async def test_a_bounce_on_the_last_channel_keeps_all_dates(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(
        resources, clock, a_workflow(contact(), wait(7), FEE, checkpoint("end"))
    )
    [claim_id] = await harness.create()
    await run_until_local_time(harness, "2026-03-05 15:30")
    await bounce(harness, 0)
    await run_until_local_time(harness, END)
    assert await list_timeline(harness, claim_id) == [
        "Mon 02 Mar 10:00 EMAIL",
        "Mon 09 Mar 10:00 checkpoint end",
        "Mon 09 Mar 10:00 archived",
        # After the bounce, no contact has reached the debtor.
        "Mon 09 Mar 10:00 step 3 SKIPPED NOBODY_REACHED",
    ]
