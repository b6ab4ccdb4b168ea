"""A merchant ends, pauses or changes a claim while its workflow is running."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from dunwell.accounts.merchants.account import Work
from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.cases.payments.change_items import NewItem, add_item, delete_item
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.end_claim import archive_claim, withdraw_claim
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.channel import Message, Outcome
from dunwell.core.claims.claim_holds import pause_claim
from dunwell.core.claims.states import Status
from dunwell.core.claims.store import lock_claim
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, ScriptedChannel, a_harness
from tests.support.waiting import wait_until_blocked

DAY = timedelta(days=1)
Action = Callable[[Work, int], Awaitable[None]]
_CONTACTS = "SELECT communication_id, claim_id, state FROM communications WHERE merchant_id = $1"


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition())


async def change_address(work: Work, claim_id: int) -> None:
    await change_contact_data(work, claim_id, {"email": "new@example.org"})


async def try_action(harness: Harness, action: Action, claim_id: int) -> bool:
    """Return False if the claim's state does not allow the action."""
    async with harness.work() as work:
        try:
            await action(work, claim_id)
        except InvalidState:
            return False
    return True


async def dispatch(harness: Harness) -> None:
    dispatcher = MessageDispatcher(harness.resources, harness.channels)
    await dispatcher.run_once()
    while not dispatcher.is_idle:
        await dispatcher.run_once()
    await dispatcher.close()


async def dispatch_into(harness: Harness, action: Action, claim_id: int) -> None:
    """Commit the action while a dispatcher that has leased and rendered waits to lock the claim."""
    async with harness.work() as work:
        await lock_claim(work.tx, work.merchant_id, claim_id)
        sending = asyncio.create_task(dispatch(harness))
        await wait_until_blocked(harness.resources.database, sending)
        await action(work, claim_id)
    await sending


@pytest.mark.parametrize("action", [withdraw_claim, archive_claim])
async def test_a_claim_ended_a_moment_ago_gets_no_message(harness: Harness, action: Action) -> None:
    [claim_id] = await harness.create()
    await Engine(harness.resources).run_once()
    await dispatch_into(harness, action, claim_id)
    await harness.run()
    assert harness.channels[0].sent == []
    assert [row["state"] for row in await harness.rows(_CONTACTS)] == ["CANCELLED"]
    assert await harness.events(claim_id) == []


async def test_a_claim_paused_a_moment_ago_gets_no_message(harness: Harness) -> None:
    [claim_id] = await harness.create()
    await Engine(harness.resources).run_once()
    await dispatch_into(harness, pause_claim, claim_id)
    await harness.run()
    assert harness.channels[0].sent == []
    assert [row["state"] for row in await harness.rows(_CONTACTS)] == ["PLANNED"]


async def test_a_message_goes_to_the_address_as_of_the_moment_of_sending(harness: Harness) -> None:
    [claim_id] = await harness.create()
    await Engine(harness.resources).run_once()
    await dispatch_into(harness, change_address, claim_id)
    assert harness.channels[0].sent == []
    await harness.run()
    assert [each.recipient for each in harness.channels[0].sent] == ["new@example.org"]


async def test_a_message_that_has_left_when_the_claim_is_withdrawn_is_the_last(
    harness: Harness, clock: MovableClock
) -> None:
    [claim_id] = await harness.create()

    class Withdrawn(ScriptedChannel):
        async def send(self, message: Message) -> Outcome:
            await try_action(harness, withdraw_claim, claim_id)
            return await super().send(message)

    harness.channels[:] = [Withdrawn()]
    await harness.run_until(clock.now() + 30 * DAY)
    assert len(harness.channels[0].sent) == 1
    claim = await harness.read(claim_id)
    assert (claim.status, claim.next_step_at) == (Status.WITHDRAWN, None)
    assert [each["type"] for each in await harness.events(claim_id)] == ["ESCALATED"]
    assert [row["state"] for row in await harness.rows(_CONTACTS)] == ["ACCEPTED"]


@pytest.mark.parametrize("action", [withdraw_claim, archive_claim])
async def test_concurrent_endings_and_messages_leave_each_contact_sent_or_cancelled(
    harness: Harness, action: Action
) -> None:
    claim_ids = await harness.create(*(f"INV-{n}" for n in range(30)))
    engine = Engine(harness.resources)
    await asyncio.gather(
        engine.run_once(), *(try_action(harness, action, each) for each in claim_ids[:10])
    )
    await asyncio.gather(
        dispatch(harness), *(try_action(harness, action, each) for each in claim_ids[10:])
    )
    await harness.run()
    sent = {message.communication_id for message in harness.channels[0].sent}
    for row in await harness.rows(_CONTACTS):
        assert row["state"] == ("ACCEPTED" if row["communication_id"] in sent else "CANCELLED")
    due = "SELECT FROM claims WHERE merchant_id = $1 AND due_at IS NOT NULL"
    assert await harness.rows(due) == []


async def test_a_concurrent_payment_and_withdrawal_both_succeed_or_the_withdrawal_is_refused(
    harness: Harness,
) -> None:
    claim_ids = await harness.create(*(f"INV-{n}" for n in range(20)))
    for claim_id in claim_ids:
        _, is_withdrawn = await asyncio.gather(
            harness.pay(claim_id, 10240), try_action(harness, withdraw_claim, claim_id)
        )
        claim = await harness.read(claim_id)
        assert claim.status is (Status.WITHDRAWN if is_withdrawn else Status.COLLECTED)
        assert claim.balance.outstanding_cents == 0


async def test_a_concurrent_payment_and_pause_collect_the_claim(
    harness: Harness, clock: MovableClock
) -> None:
    claim_ids = await harness.create(*(f"INV-{n}" for n in range(20)))
    await Engine(harness.resources).run_once()
    for claim_id in claim_ids:
        _, is_paused = await asyncio.gather(
            harness.pay(claim_id, 10240), try_action(harness, pause_claim, claim_id)
        )
        claim = await harness.read(claim_id)
        assert claim.status is Status.COLLECTED
        assert len(claim.holds) == (1 if is_paused else 0)
    await harness.run_until(clock.now() + DAY)
    assert harness.channels[0].sent == []


async def test_concurrent_pauses_leave_one_pause(harness: Harness) -> None:
    [claim_id] = await harness.create()
    await asyncio.gather(*(try_action(harness, pause_claim, claim_id) for _ in range(6)))
    assert len((await harness.read(claim_id)).holds) == 1
    assert len(await harness.rows("SELECT FROM holds WHERE merchant_id = $1")) == 1


async def test_an_item_deleted_many_times_at_once_is_deleted_once(harness: Harness) -> None:
    [claim_id] = await harness.create()
    async with harness.work() as work:
        added = await add_item(work, claim_id, NewItem("PRIMARY", 500, "INV-2"))

    async def delete() -> bool:
        async with harness.work() as work:
            try:
                await delete_item(work, claim_id, added.item.item_id)
            except NotFound:
                return False
        return True

    assert sorted(await asyncio.gather(*(delete() for _ in range(5)))) == [False] * 4 + [True]
    assert (await harness.read(claim_id)).balance.outstanding_cents == 10240
