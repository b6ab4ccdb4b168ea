"""Disputes that two people end at once, or that are opened while something else is in progress."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from dunwell.cases.disputes.answer_dispute import DisputeResolution, resolve_dispute
from dunwell.cases.disputes.dispute import ClaimDispute, DisputeState, NewDispute
from dunwell.cases.disputes.open_dispute import open_dispute
from dunwell.contact.sending.channel import Temporary
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.engine.test_races import InterruptedChannel
from tests.support.definitions import a_definition
from tests.support.disputes import ACCEPTED, REJECTED, dispute, read_disputes, resolve, withdraw
from tests.support.harness import Harness, a_harness
from tests.support.waiting import wait_until_blocked

Ending = Callable[[Harness, ClaimDispute], Awaitable[ClaimDispute]]
_STATES = "SELECT state FROM communications WHERE merchant_id = $1 ORDER BY planned_at, run"


async def accept(harness: Harness, opened: ClaimDispute) -> ClaimDispute:
    return await resolve(harness, opened, ACCEPTED)


async def reject(harness: Harness, opened: ClaimDispute) -> ClaimDispute:
    return await resolve(harness, opened, REJECTED)


@pytest.mark.parametrize(
    ("one", "other"), [(accept, reject), (reject, withdraw), (withdraw, accept), (accept, accept)]
)
async def test_concurrent_endings_of_a_dispute_end_it_once(
    resources: Resources, clock: MovableClock, one: Ending, other: Ending
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    for number in range(5):
        [claim_id] = await harness.create(f"INV-{number}")
        opened = await dispute(harness, claim_id)
        ended = await asyncio.gather(
            *(end(harness, opened) for end in (one, other, one, other)), return_exceptions=True
        )
        [stored] = await read_disputes(harness, claim_id)
        done = [each for each in ended if not isinstance(each, InvalidState)]
        assert set(map(repr, done)) == {repr(stored)}
        assert len(done) == (4 if one is other else 2)
        is_accepted = stored.state is DisputeState.ACCEPTED
        expected = Status.WITHDRAWN if is_accepted else Status.CREATED
        claim = await harness.read(claim_id)
        # A claim whose dispute was rejected stays on hold until the debtor is notified.
        is_held = stored.state is DisputeState.REJECTED
        assert (claim.status, len(claim.holds)) == (expected, is_held)


async def test_a_second_ending_waits_and_is_refused(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [claim_id] = await harness.create()
    opened = await dispute(harness, claim_id)
    async with harness.work() as work:
        await resolve_dispute(work, claim_id, opened.dispute_id, DisputeResolution(REJECTED))
        second = asyncio.create_task(withdraw(harness, opened))
        await wait_until_blocked(resources.database, second)
    with pytest.raises(InvalidState):
        await second
    assert [each.state for each in await read_disputes(harness, claim_id)] == [REJECTED]


async def test_a_payment_waits_for_the_dispute_that_is_being_opened(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [claim_id] = await harness.create()
    async with harness.work() as work:
        await open_dispute(work, harness.resources.keys, claim_id, NewDispute("DEFECTIVE"))
        paying = asyncio.create_task(harness.pay(claim_id, 10240))
        await wait_until_blocked(resources.database, paying)
    assert (await paying).status is Status.COLLECTED
    assert len(await read_disputes(harness, claim_id)) == 1
    with pytest.raises(InvalidState):
        await dispute(harness, claim_id)


async def test_a_contact_is_not_retried_after_its_claim_was_disputed(
    resources: Resources, clock: MovableClock
) -> None:
    channel = InterruptedChannel([Temporary(60)])
    harness = await a_harness(resources, clock, a_definition(), channels=[channel])
    [claim_id] = await harness.create()
    opened: list[ClaimDispute] = []

    async def open_dispute_while_sending() -> None:
        opened.append(await dispute(harness, claim_id))

    channel.meanwhile = open_dispute_while_sending
    await harness.run_until(clock.now().replace(hour=12))
    assert len(channel.sent) == 1
    await accept(harness, opened[0])
    await harness.run_until(clock.now().replace(hour=15))
    assert len(channel.sent) == 1
    assert [row["state"] for row in await harness.rows(_STATES)] == ["CANCELLED"]
    assert [each["type"] for each in await harness.events(claim_id)] == ["DISPUTED"]


async def test_a_message_at_the_channel_when_a_dispute_is_accepted_is_the_last(
    resources: Resources, clock: MovableClock
) -> None:
    channel = InterruptedChannel()
    harness = await a_harness(resources, clock, a_definition(), channels=[channel])
    [claim_id] = await harness.create()

    async def dispute_and_accept_while_sending() -> None:
        await accept(harness, await dispute(harness, claim_id))

    channel.meanwhile = dispute_and_accept_while_sending
    await harness.run_until(clock.now().replace(day=30))
    assert [each["type"] for each in await harness.events(claim_id)] == ["DISPUTED", "ESCALATED"]
    assert (await harness.read(claim_id)).status is Status.WITHDRAWN
