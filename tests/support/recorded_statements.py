"""Records the statements that an application sends to its database."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from dunwell.platform.clock import MovableClock
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from tests.support.api import Api, an_api


class Statements:
    """The statements that were sent since the last call of `take`."""

    def __init__(self) -> None:
        self._sent: list[str] = []

    def note(self, record: Any) -> None:
        self._sent.append(record.query)

    async def take(self) -> Sequence[str]:
        """Statements are reported one iteration of the event loop after they were sent."""
        await asyncio.sleep(0)
        taken, self._sent = self._sent, []
        return taken


@asynccontextmanager
async def a_counted_database(
    resources: Resources, clock: MovableClock, connections: int = 1
) -> AsyncIterator[tuple[Resources, Statements]]:
    """Return the same resources with their own recorded connections."""
    settings = resources.settings
    assert settings.database_url is not None
    own = await Database.open(settings.database_url, size=connections)
    statements = Statements()
    try:
        async with AsyncExitStack() as opened:
            for _ in range(connections):
                connection = await opened.enter_async_context(own.connection())
                connection.add_query_logger(statements.note)
        yield Resources(settings, own, clock, RandomIds(), KeyRing(settings.secret_key)), statements
    finally:
        await own.close()


@asynccontextmanager
async def a_counted_api(
    resources: Resources, clock: MovableClock, connections: int = 1, **given: Any
) -> AsyncIterator[tuple[Api, Statements]]:
    """Return the application on a recorded database. `given` is passed to an_api."""
    async with (
        a_counted_database(resources, clock, connections) as (over, statements),
        an_api(over, clock, **given) as api,
    ):
        yield api, statements
