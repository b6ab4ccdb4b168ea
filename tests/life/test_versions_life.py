"""A workflow that changes while claims are in process: a minor version applies at once, a major
version only to new claims, and a reassigned claim starts at the first step."""

from typing import Any

from dunwell.cases.assignment.assign_claims import assign_to_workflow
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import REACHABLE
from tests.support.harness import Harness
from tests.support.lifecycles import FEE, a_lifecycle_harness, a_workflow, checkpoint, contact, wait
from tests.support.timeline import list_timeline, run_until_local_time

END = "2026-06-30 12:00"
FIRST = a_workflow(contact(), wait(7), FEE, contact(), checkpoint("old"), wait(7))
MINOR = a_workflow(
    contact(), wait(7), FEE | {"value": "900"}, contact("SMS"), checkpoint("new"), wait(7)
)
MAJOR = a_workflow(contact(), wait(3), FEE, contact(), checkpoint("major"), wait(7))


async def versions(harness: Harness, claim_id: int) -> list[tuple[Any, ...]]:
    """Return (step, version) in the order of the steps."""
    rows = await harness.rows(
        "SELECT step_id, major, minor FROM step_history JOIN workflow_versions"
        " USING (merchant_id, version_id) WHERE merchant_id = $1 AND claim_id = $2 AND step_id > 0"
        " ORDER BY run, step_id",
        claim_id,
    )
    return [(row["step_id"], f"v{row['major']}.{row['minor']}") for row in rows]


async def test_a_minor_version_applies_to_a_running_claim_from_its_next_step(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(resources, clock, FIRST)
    [claim_id] = await harness.create(**REACHABLE)
    await run_until_local_time(harness, "2026-03-05 12:00")
    await harness.publish(MINOR)
    await run_until_local_time(harness, END)
    assert await list_timeline(harness, claim_id) == [
        "Mon 02 Mar 10:00 EMAIL",
        "Mon 09 Mar 10:00 fee 900",
        "Mon 09 Mar 10:00 SMS",
        "Mon 09 Mar 10:00 checkpoint new",
        "Mon 16 Mar 10:00 archived",
    ]
    old, new = [(1, "v1.0"), (2, "v1.0")], [(step, "v1.1") for step in (3, 4, 5, 6)]
    assert await versions(harness, claim_id) == old + new
    assert (await harness.read(claim_id)).status is Status.ARCHIVED


async def test_a_major_version_does_not_apply_to_running_claims(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(resources, clock, FIRST)
    [running] = await harness.create("RUNNING", **REACHABLE)
    await run_until_local_time(harness, "2026-03-02 12:00")
    await harness.publish(MAJOR)
    [new] = await harness.create("NEW", email="new@example.org")
    await run_until_local_time(harness, END)
    assert await list_timeline(harness, running) == [
        "Mon 02 Mar 10:00 EMAIL",
        "Mon 09 Mar 10:00 fee 250",
        "Mon 09 Mar 10:00 EMAIL",
        "Mon 09 Mar 10:00 checkpoint old",
        "Mon 16 Mar 10:00 archived",
    ]
    assert (await list_timeline(harness, new))[:4] == [
        "Mon 02 Mar 12:00 EMAIL",
        "Thu 05 Mar 12:00 fee 250",
        "Thu 05 Mar 12:00 EMAIL",
        "Thu 05 Mar 12:00 checkpoint major",
    ]
    assert {version for _, version in await versions(harness, running)} == {"v1.0"}


async def test_a_delayed_contact_is_sent_with_the_new_text(
    resources: Resources, clock: MovableClock
) -> None:
    """The contact limits delay the second claim's contact to Tuesday; a minor version is published
    on Monday evening."""
    harness = await a_lifecycle_harness(resources, clock, FIRST)
    await harness.create("A", **REACHABLE)
    [held_back] = await harness.create("B", **REACHABLE)
    await run_until_local_time(harness, "2026-03-02 19:00")
    document = a_workflow(contact(), wait(7), FEE, contact(), checkpoint("old"), wait(7))
    template = document.templates["reminder"].email
    assert template is not None
    template.body["de"] += "\n\nNeu."
    await harness.publish(document)
    await run_until_local_time(harness, "2026-03-03 12:00")
    assert await list_timeline(harness, held_back) == ["Tue 03 Mar 09:00 EMAIL"]
    assert ["Neu." in message.body_text for message in harness.channels[0].sent] == [False, True]
    assert await versions(harness, held_back) == [(1, "v1.1"), (2, "v1.1")]


async def test_a_reassigned_claim_starts_at_the_first_step_of_the_new_workflow(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(resources, clock, FIRST)
    [claim_id] = await harness.create(**REACHABLE)
    await run_until_local_time(harness, "2026-03-11 12:00")
    other = await harness.publish(
        a_workflow(contact("LETTER"), wait(2), checkpoint("other")), "Other"
    )
    async with harness.work() as work:
        await assign_to_workflow(work, other.workflow_id, [claim_id])
    await run_until_local_time(harness, END)
    assert await list_timeline(harness, claim_id) == [
        "Mon 02 Mar 10:00 EMAIL",
        "Mon 09 Mar 10:00 fee 250",
        "Mon 09 Mar 10:00 EMAIL",
        "Mon 09 Mar 10:00 checkpoint old",
        "Wed 11 Mar 12:00 LETTER",
        # Two days after Friday, by which the letter can have arrived.
        "Sun 15 Mar 12:00 checkpoint other",
        "Sun 15 Mar 12:00 archived",
    ]
    assert (await harness.read(claim_id)).status is Status.ARCHIVED


async def test_a_new_run_charges_its_fee_only_after_a_contact_of_its_own(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(resources, clock, FIRST)
    [claim_id] = await harness.create(**REACHABLE)
    await run_until_local_time(harness, "2026-03-04 12:00")
    other = await harness.publish(a_workflow(FEE, contact(), FEE), "Other")
    async with harness.work() as work:
        await assign_to_workflow(work, other.workflow_id, [claim_id])
    await run_until_local_time(harness, END)
    assert await list_timeline(harness, claim_id) == [
        "Mon 02 Mar 10:00 EMAIL",
        "Wed 04 Mar 12:00 EMAIL",
        "Wed 04 Mar 12:00 fee 250",
        "Wed 04 Mar 12:00 archived",
        "Wed 04 Mar 12:00 step 1 SKIPPED NOBODY_REACHED",
    ]
