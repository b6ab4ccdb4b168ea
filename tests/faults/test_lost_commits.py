"""The answer to a COMMIT is lost.

A worker that knows that it called no channel releases the contact, whether or not the commit
succeeded; nothing is sent twice or skipped.
"""

import random
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from dunwell.accounts.installation.delivery_providers import ProviderPace
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.notices.sender import NoticeSender
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.errors import Unavailable
from dunwell.platform.heartbeat import LEASE
from dunwell.platform.resources import Resources
from tests.support.delivery_providers import a_harness_with_a_provider
from tests.support.harness import Harness, ScriptedChannel, ScriptedDeliveryProvider
from tests.support.lost_commits import CommitLosses, Loss, losing_commits
from tests.support.notices import a_notice_harness

_OF_HAND_OVER = b"SET state = 'HANDED_OVER', handed_over_at"
_OF_NOTICES = b"SET state = 'HANDED_OVER', due_at"
_CONTACTS = """
SELECT state, attempts, handed_over_at IS NOT NULL AS is_marked, lease_id, guarded_by
FROM communications WHERE merchant_id = $1
"""
_NOTICES = "SELECT state, attempts, lease_id FROM debtor_notices WHERE merchant_id = $1"
_LEDGER = "SELECT outcome FROM contact_ledger WHERE merchant_id = $1"
_DAYS = "SELECT contacted_on FROM contact_guards WHERE merchant_id = $1"


@asynccontextmanager
async def through_losses(
    resources: Resources, postgres: EmbeddedPostgres, sign: bytes,
    choose: Callable[[], Loss | None],
) -> AsyncIterator[tuple[Resources, CommitLosses]]:  # fmt: skip
    """Give a worker its own connection to the database, on which commits are lost."""
    with tempfile.TemporaryDirectory(prefix="dw") as folder:
        async with losing_commits(postgres, Path(folder), sign, choose) as losses:
            database = await Database.open(losses.url, size=4)
            try:
                yield replace(resources, database=database), losses
            finally:
                await database.close()


def once(loss: Loss) -> Callable[[], Loss | None]:
    left = [loss]
    return lambda: left.pop() if left else None


@pytest.mark.parametrize("loss", Loss)
async def test_contacts_whose_hand_over_commit_is_unanswered_are_planned_again(
    resources: Resources, postgres: EmbeddedPostgres, clock: MovableClock, loss: Loss
) -> None:
    provider = ScriptedDeliveryProvider()
    harness = await a_harness_with_a_provider(resources, clock, provider)
    await harness.create("A", "B", "C")
    await Engine(resources).run_once()
    async with through_losses(resources, postgres, _OF_HAND_OVER, once(loss)) as (own, losses):
        dispatcher = MessageDispatcher(
            own, harness.channels, find_provider=harness.delivery_providers.get
        )
        with pytest.raises(Unavailable):
            await dispatcher.run_merchant(harness.merchant.merchant_id)
        await dispatcher.close()
    assert losses.lost == [loss]
    assert provider.sent == []
    rows = await harness.rows(_CONTACTS)
    assert [tuple(row) for row in rows] == [("PLANNED", 0, False, None, None)] * 3
    assert [row for row in await harness.rows(_DAYS) if row["contacted_on"]] == []
    # No lease has to expire first.
    await harness.run()
    assert len(provider.sent) == len({each.communication_id for each in provider.sent}) == 3
    assert [row["outcome"] for row in await harness.rows(_LEDGER)] == ["ACCEPTED"] * 3


@pytest.mark.parametrize("loss", Loss)
async def test_a_notice_whose_hand_over_commit_is_unanswered_is_planned_again(
    resources: Resources, postgres: EmbeddedPostgres, clock: MovableClock, loss: Loss
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    await notice_harness.request(channel="SMS")
    channel = ScriptedChannel(channel="SMS", is_repeatable=False)
    async with through_losses(resources, postgres, _OF_NOTICES, once(loss)) as (own, _):
        sender = NoticeSender(own, [channel])
        with pytest.raises(Unavailable):
            await sender.run_once()
        await sender.close()
    assert channel.sent == []
    assert [tuple(row) for row in await notice_harness.harness.rows(_NOTICES)] == [
        ("PLANNED", 0, None)
    ]
    sender = NoticeSender(resources, [channel])
    await sender.run_once()
    await sender.close()
    assert [row["state"] for row in await notice_harness.harness.rows(_NOTICES)] == ["ACCEPTED"]
    assert len(channel.sent) == 1


async def test_a_message_that_may_have_left_keeps_its_mark_if_its_retry_calls_no_channel(
    resources: Resources, clock: MovableClock
) -> None:
    """An earlier call may have reached the channel."""
    provider = ScriptedDeliveryProvider(answers=[ConnectionResetError()], is_repeatable=True)
    harness = await a_harness_with_a_provider(resources, clock, provider)
    await harness.create()
    await harness.run()
    clock.advance(timedelta(seconds=7))

    dispatcher = MessageDispatcher(
        resources, harness.channels, find_provider=harness.delivery_providers.get
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dunwell.platform.heartbeat._TRUSTED_SECONDS", -1)
        await dispatcher.run_merchant(harness.merchant.merchant_id)
    await dispatcher.close()
    assert len(provider.sent) == 1
    [row] = await harness.rows(_CONTACTS)
    assert (row["state"], row["is_marked"]) == ("HANDED_OVER", True)
    clock.advance(LEASE + timedelta(seconds=1))
    await harness.run()
    assert len({each.communication_id for each in provider.sent}) == 1
    [row] = await harness.rows(_CONTACTS)
    assert row["state"] == "ACCEPTED"


async def test_a_worker_that_was_stopped_calls_nothing_under_an_old_lease(
    resources: Resources, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = ScriptedDeliveryProvider()
    harness = await a_harness_with_a_provider(resources, clock, provider)
    await harness.create("A", "B")
    await Engine(resources).run_once()
    monkeypatch.setattr("dunwell.platform.heartbeat._TRUSTED_SECONDS", -1)
    dispatcher = MessageDispatcher(
        resources, harness.channels, find_provider=harness.delivery_providers.get
    )
    await dispatcher.run_merchant(harness.merchant.merchant_id)
    assert provider.sent == []
    rows = await harness.rows(_CONTACTS)
    assert [(row["state"], row["attempts"]) for row in rows] == [("PLANNED", 0)] * 2
    monkeypatch.undo()
    await harness.run()
    assert len(provider.sent) == 2
    await dispatcher.close()


async def test_commits_lost_at_random_neither_repeat_nor_skip_a_message(
    resources: Resources, postgres: EmbeddedPostgres, clock: MovableClock
) -> None:
    chance = random.Random(30)
    provider = ScriptedDeliveryProvider(pace=ProviderPace(at_once=5))
    harness = await a_harness_with_a_provider(resources, clock, provider)
    names = [f"R-{number}" for number in range(60)]
    await harness.create(*names)
    await Engine(resources).run_once()

    def choose() -> Loss | None:
        loss: Loss | None = chance.choice([*Loss, None, None, None])
        return loss

    # Commits are lost in each transaction after the first hand-over: leases, settlements, marks.
    async with through_losses(resources, postgres, _OF_HAND_OVER, choose) as (own, losses):
        await send_all(own, harness)
    assert len(losses.lost) >= 5
    calls = Counter(each.communication_id for each in provider.sent)
    states = Counter(row["state"] for row in await harness.rows(_CONTACTS))
    print(f"{len(losses.lost)} commits lost, {len(calls)} called, {dict(states)}")
    assert set(calls.values()) == {1}
    assert len(calls) == len(names)
    assert states == {"ACCEPTED": len(names)}


async def send_all(own: Resources, harness: Harness) -> None:
    """Send until no contact is planned or handed over.

    After a lost commit the clock moves past the lease of that transaction's rows. First the other
    sets end, because this clock would let their leases expire while they are still recording.
    """
    while {row["state"] for row in await harness.rows(_CONTACTS)} & {"PLANNED", "HANDED_OVER"}:
        dispatcher = MessageDispatcher(
            own, harness.channels, find_provider=harness.delivery_providers.get
        )
        try:
            while await dispatcher.run_once() or not dispatcher.is_idle:
                pass
        except Unavailable:
            await dispatcher.close()
            harness.clock.advance(LEASE)
        else:
            await dispatcher.close()
