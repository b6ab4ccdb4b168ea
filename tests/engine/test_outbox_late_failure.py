"""An outbox recipient that fails later: the message is accepted, the failure reported, and the
fallback started."""

from pathlib import Path

from dunwell.adapters.channels.outbox.channel import (
    OutboxEmail,
    OutboxLetter,
    OutboxSms,
    report_late_failures,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import REACHABLE, a_harness_with_channels
from tests.support.harness import Harness
from tests.support.messages import a_message

_CONTACTS = """
SELECT channel, state, failure FROM communications WHERE merchant_id = $1 ORDER BY place
"""


async def _a_harness(resources: Resources, clock: MovableClock) -> Harness:
    kinds = (OutboxEmail, OutboxSms, OutboxLetter)
    data_dir = resources.settings.data_dir
    channels = [kind(data_dir, is_development=True) for kind in kinds]
    return await a_harness_with_channels(
        resources, clock, "EMAIL", ["SMS", "LETTER"], channels=channels
    )


def _endings(data_dir: Path) -> list[str]:
    return sorted(path.suffix for path in (data_dir / "outbox").glob("[0-9]*/*/*"))


async def test_each_failure_reported_later_begins_the_next_channel(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await _a_harness(resources, clock)
    late = {"email": "erika+fail-later@example.org", "mobileNumber": "+4915112000003"}
    [claim_id] = await harness.create(**REACHABLE | late)
    for reported in (1, 1, 0):
        await harness.run()
        assert await report_late_failures(resources) == reported
    reason = "The outbox simulated a late failure."
    assert [tuple(row) for row in await harness.rows(_CONTACTS)] == [
        ("EMAIL", "FAILED", reason), ("SMS", "FAILED", reason), ("LETTER", "ACCEPTED", None),
    ]  # fmt: skip
    events = await harness.events(claim_id)
    channels = [event["claim"]["communication"]["channel"] for event in events]
    assert channels == ["EMAIL", "SMS", "LETTER"]
    assert _endings(resources.settings.data_dir) == [".eml", ".json", ".json", ".pdf"]


async def test_a_failure_mark_waits_for_the_acceptance_and_is_deleted_with_its_contact(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await _a_harness(resources, clock)
    outbox = OutboxEmail(resources.settings.data_dir, is_development=True)
    merchant_id = harness.merchant.merchant_id
    await outbox.send(a_message(merchant_id=merchant_id, recipient="a+fail-later@example.org"))
    assert await report_late_failures(resources) == 1
    assert await report_late_failures(resources) == 0
