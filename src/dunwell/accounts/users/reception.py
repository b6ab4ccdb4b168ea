"""What everybody who signs in is received with, opened once in a process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.users.passwords import Passwords
from dunwell.accounts.users.people_work import PeopleWork
from dunwell.platform.resources import Resources


@dataclass(frozen=True, slots=True)
class Reception:
    resources: Resources
    passwords: Passwords

    def now(self) -> datetime:
        return self.resources.clock.now()

    @asynccontextmanager
    async def work(self, actor: Actor) -> AsyncIterator[PeopleWork]:
        """A transaction of its own: hashing a password stands between two of them, so that no
        connection waits for it."""
        async with self.resources.database.transaction() as tx:
            yield PeopleWork.open(self.resources, tx, actor)
