"""The database is unavailable while channels answer: the answers are kept until it is back."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.channel import Accepted, Message, Outcome
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.database.migrate import migrate
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import a_harness
from tests.support.merchant_ids import use_next_merchant_ids
from tests.support.servers import OwnServer, an_own_server

_STATES = "SELECT state FROM communications WHERE merchant_id = $1"
# The number of failed attempts to record the answer.
_TRIES = 5


@dataclass
class OutageChannel:
    """A channel that accepts each message while the database stops."""

    server: OwnServer
    calls: int = 0
    channel: Channel = "EMAIL"
    name: str = "outbox"
    is_repeatable: bool = False

    async def send(self, _message: Message) -> Outcome:
        self.calls += 1
        await asyncio.to_thread(self.server.stop)
        return Accepted()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OwnServer]:
    with an_own_server(tmp_path / "postgres") as server:
        migrate(server.url)
        yield server


@pytest.fixture
async def own(resources: Resources, server: OwnServer) -> AsyncIterator[Resources]:
    database = await Database.open(server.url, size=4)
    async with database.connection() as connection:
        await use_next_merchant_ids(connection)
    yield replace(resources, database=database)
    await database.close()


async def test_an_answer_received_during_a_database_outage_is_recorded_afterwards(
    own: Resources, server: OwnServer, clock: MovableClock
) -> None:
    harness = await a_harness(own, clock, a_definition())
    await harness.create()
    await Engine(own).run_once()
    channel = OutageChannel(server)
    dispatcher = MessageDispatcher(own, [channel])
    with capture_logs() as logs:
        # The other channels would still be reading their contacts when the database stops.
        merchant_id = harness.merchant.merchant_id
        sending = asyncio.create_task(dispatcher.run_merchant(merchant_id, ["EMAIL"]))
        async with asyncio.timeout(60):
            while (
                len([each for each in logs if each["event"] == "outcome not recorded yet"]) < _TRIES
            ):
                assert not sending.done()
                await asyncio.sleep(0.01)
        await asyncio.to_thread(server.start)
        assert await sending == 1
    assert [row["state"] for row in await harness.rows(_STATES)] == ["ACCEPTED"]
    assert channel.calls == 1
