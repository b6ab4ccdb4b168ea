"""A step and the claim's files: NONE and OPTIONAL wait for nothing, REQUIRED waits for seven
days."""

from uuid import UUID

import pytest

from dunwell.contact.escalation.change_attachments import attach_file
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import upload
from tests.support.files import a_pdf
from tests.support.harness import Harness
from tests.support.lifecycles import FEE, a_lifecycle_harness, a_process, contact, wait
from tests.support.timeline import list_timeline, run_until_local_time

END = "2026-06-30 12:00"


async def attach(harness: Harness, claim_id: int, ticket: UUID) -> None:
    async with harness.work() as work:
        await attach_file(work, claim_id, ticket)


@pytest.mark.parametrize("policy", ["NONE", "OPTIONAL"])
async def test_a_step_that_needs_no_file_does_not_wait_for_one(
    resources: Resources, clock: MovableClock, policy: str
) -> None:
    process = a_process(contact(attachments=policy), wait(7), FEE)
    harness = await a_lifecycle_harness(resources, clock, process)
    [claim_id] = await harness.create()
    await run_until_local_time(harness, END)
    assert await list_timeline(harness, claim_id) == [
        "Mon 02 Mar 10:00 EMAIL",
        "Mon 09 Mar 10:00 fee 250",
        "Mon 09 Mar 10:00 archived",
    ]


async def test_a_required_file_added_on_the_fourth_day_is_sent_at_once(
    resources: Resources, clock: MovableClock
) -> None:
    process = a_process(contact(attachments="REQUIRED"), wait(7), FEE)
    harness = await a_lifecycle_harness(resources, clock, process)
    [claim_id] = await harness.create()
    await run_until_local_time(harness, "2026-03-06 11:00")
    assert await list_timeline(harness, claim_id) == []
    await attach(harness, claim_id, await upload(harness, "Rechnung", a_pdf()))
    await run_until_local_time(harness, END)
    assert await list_timeline(harness, claim_id) == [
        "Fri 06 Mar 11:00 EMAIL",
        "Fri 13 Mar 11:00 fee 250",
        "Fri 13 Mar 11:00 archived",
    ]
    [message] = harness.channels[0].sent
    assert [file.name for file in message.attachments] == ["Rechnung.pdf"]


async def test_a_step_fails_after_seven_days_without_its_required_file(
    resources: Resources, clock: MovableClock
) -> None:
    process = a_process(
        contact("EMAIL", "SMS", attachments="REQUIRED"), wait(2), FEE, contact(), wait(1)
    )
    harness = await a_lifecycle_harness(resources, clock, process)
    [claim_id] = await harness.create(mobileNumber="+4915112345678")
    await run_until_local_time(harness, END)
    assert await list_timeline(harness, claim_id) == [
        "Mon 09 Mar 10:00 step 1 FAILED ATTACHMENT_MISSING",
        "Wed 11 Mar 10:00 EMAIL",
        "Wed 11 Mar 10:00 step 3 SKIPPED NOBODY_REACHED",
        "Thu 12 Mar 10:00 archived",
    ]
