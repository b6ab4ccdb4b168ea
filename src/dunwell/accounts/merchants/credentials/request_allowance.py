"""The rate limit in one process, which reserves blocks of requests in the database and spends them.

The blocks belong to the process. After a crash, at most the unspent requests of one block of each
credential are lost.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.credentials.credential import (
    CredentialAccess,
    compute_block_size,
    compute_granted,
    compute_seconds_to_next_minute,
    truncate_to_minute,
)
from dunwell.accounts.merchants.store import reserve_requests
from dunwell.platform.database.database import Database
from dunwell.platform.errors import RateLimited


@dataclass(slots=True)
class _RequestBlock:
    minute: datetime
    left: int = 0
    # How many requests of this minute all processes had reserved when this process last reserved
    # some. None if it has reserved none.
    reserved: int | None = None
    is_exhausted: bool = False
    # Makes requests that find an empty block at the same time wait for one reservation, and share
    # it.
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class RateLimiter:
    """The blocks of requests that this process may still spend, by credential."""

    def __init__(self) -> None:
        self._blocks: dict[UUID, _RequestBlock] = {}

    async def spend(self, database: Database, access: CredentialAccess, now: datetime) -> None:
        """Count one request at the real time `now`. Raises RateLimited. Only the first request of a
        block needs a statement."""
        block = self._get_block(access.credential_id, truncate_to_minute(now))
        if block.left == 0 and not block.is_exhausted:
            async with block.lock:
                if block.left == 0 and not block.is_exhausted:
                    await self._reserve_block(database, access, block)
        if block.left == 0:
            raise RateLimited(
                f"This credential may send {access.requests_per_minute} requests a minute. Wait "
                "for the seconds in Retry-After, then continue.",
                retry_after=compute_seconds_to_next_minute(now),
            )
        block.left -= 1

    def _get_block(self, credential_id: UUID, minute: datetime) -> _RequestBlock:
        block = self._blocks.get(credential_id)
        if block is None or block.minute != minute:
            self._forget_before(minute)
            block = self._blocks[credential_id] = _RequestBlock(minute)
        return block

    def _forget_before(self, minute: datetime) -> None:
        if len(self._blocks) > 1000:
            self._blocks = {k: block for k, block in self._blocks.items() if block.minute == minute}

    async def _reserve_block(
        self, database: Database, access: CredentialAccess, block: _RequestBlock
    ) -> None:
        limit = access.requests_per_minute
        wanted = compute_block_size(limit, block.reserved)
        async with database.connection() as connection:
            reserved = await reserve_requests(connection, access, block.minute, wanted)
        granted = 0 if reserved is None else compute_granted(limit, wanted, reserved)
        block.reserved = limit if reserved is None else reserved
        block.left = granted
        block.is_exhausted = granted == 0
