"""A claim changes while messages of a worker that died are in doubt.

A message that may have left is not repeated; one that had not left is rendered again from the
changed claim.
"""

import asyncio
from datetime import timedelta

import pytest

from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.contacts.store import lease_contacts
from dunwell.contact.escalation.engine import Engine
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.drafts.publish_draft import publish_draft
from dunwell.interfaces.api.catalogue import ENDPOINTS
from dunwell.platform.clock import MovableClock
from dunwell.platform.heartbeat import start_lease
from dunwell.platform.resources import Resources
from tests.support.changes import CHANGES, NEW_ADDRESS, UNCHANGED, Change
from tests.support.definitions import a_definition
from tests.support.gated_channels import GatedChannel, SentMessages
from tests.support.harness import Harness, ScriptedChannel, a_harness
from tests.support.ledgers import list_entries
from tests.support.modalities import OFFERING

ITEMS = [
    {"reference": "INV-1", "type": "PRIMARY", "value": "10000", "dueDate": "2026-02-10"},
    {"reference": "INV-2", "type": "PRIMARY", "value": "240", "dueDate": "2026-02-10"},
]
OTHER = a_definition(
    templates={"reminder": {"EMAIL": {
        "subject": dict.fromkeys(("de", "en"), "Anderer Ablauf {{ claim.referenceNumber }}"),
        "body": dict.fromkeys(("de", "en"), "{{ outstanding }}: {{ landing.url }}"),
    }}}
)  # fmt: skip
_STATE = "SELECT state FROM communications WHERE merchant_id = $1 AND claim_id = $2 ORDER BY run"
# A time after which every lease has expired.
WHEN_TAKEN_UP = timedelta(seconds=20)


async def two_claims_with_a_message(
    resources: Resources, clock: MovableClock, change: Change
) -> tuple[Harness, int, int]:
    """Plan a message for each of two claims; only the first claim is changed by the test."""
    harness = await a_harness(resources, clock, a_definition(), configuration=OFFERING)
    async with harness.work() as work:
        await publish_draft(work, (await save_draft(work, "Other", OTHER)).workflow_id)
    changed, other = await harness.create("CHANGED", "SAME", items=ITEMS)
    if change.before is not None:
        await change.before(harness, changed)
    await Engine(resources).run_once()
    return harness, changed, other


async def die_with_messages_out(harness: Harness) -> SentMessages:
    """Return when all messages are at the channel, which has not answered yet."""
    sent_messages = SentMessages()
    channel = GatedChannel(sent_messages, "EMAIL", asyncio.Event())
    worker = MessageDispatcher(harness.resources, [channel])
    sending = asyncio.create_task(worker.run_merchant(harness.merchant.merchant_id))
    async with asyncio.timeout(20):
        while len(sent_messages.sent) < 2:  # noqa: ASYNC110 - no event signals this
            await asyncio.sleep(0)
    sending.cancel()
    await asyncio.wait([sending])
    harness.clock.advance(timedelta(seconds=1))
    return sent_messages


async def die_before_handing_over(harness: Harness) -> None:
    lease, now = start_lease(harness.resources), harness.clock.now()
    async with harness.work() as work:
        leased = await lease_contacts(
            work.tx, harness.merchant.merchant_id, lease, (now, now), limit=10, channel="EMAIL"
        )
    assert len(leased) == 2


async def take_up_again(harness: Harness) -> ScriptedChannel:
    harness.clock.advance(WHEN_TAKEN_UP)
    await harness.run()
    return harness.channels[0]


@pytest.mark.parametrize("name", CHANGES)
async def test_a_message_in_doubt_is_not_repeated_after_its_claim_changed(
    resources: Resources, clock: MovableClock, name: str
) -> None:
    change = CHANGES[name]
    harness, changed, other = await two_claims_with_a_message(resources, clock, change)
    sent_messages = await die_with_messages_out(harness)
    await change.operation(harness, changed)
    channel = await take_up_again(harness)
    first = {message.claim_id: message for message in sent_messages.sent}
    again = [each for each in channel.sent if "Anderer Ablauf" not in (each.subject or "")]
    assert again == [first[other]]
    states = [row["state"] for row in await harness.rows(_STATE, changed)]
    assert states[0] == "UNKNOWN"
    assert [row["state"] for row in await harness.rows(_STATE, other)] == ["ACCEPTED"]
    assert [row[0] for row in await list_entries(harness)][:2].count("UNKNOWN") == 1


@pytest.mark.parametrize("name", CHANGES)
async def test_a_message_that_was_not_handed_over_shows_the_changed_claim(
    resources: Resources, clock: MovableClock, name: str
) -> None:
    change = CHANGES[name]
    harness, changed, other = await two_claims_with_a_message(resources, clock, change)
    await die_before_handing_over(harness)
    await change.operation(harness, changed)
    channel = await take_up_again(harness)
    sent = {each.claim_id: each for each in channel.sent}
    assert len(sent) == len(channel.sent)
    assert sent.keys() == ({changed, other} if change.message_fate == "GOES" else {other})
    assert "102,40" in sent[other].body_text
    if change.message_fate == "GOES":
        message = sent[changed]
        assert change.expected_text in f"{message.subject} {message.body_text}"
        assert (message.recipient == NEW_ADDRESS) == (name == "changeClaim")


def test_each_operation_that_changes_a_claim_is_tested_while_a_message_is_in_doubt() -> None:
    on_claims = {
        each.operation.operation_id
        for each in ENDPOINTS
        if each.operation.method != "GET"
        and ("{claim_id}" in each.operation.path or "assign" in each.operation.operation_id)
    }
    tried = {name.split()[0] for name in CHANGES}
    assert on_claims == (tried | UNCHANGED.keys()) & on_claims, (
        "state in tests.support.changes whether a message is sent after it"
    )
