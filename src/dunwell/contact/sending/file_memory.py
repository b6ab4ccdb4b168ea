"""How much memory the files of messages take while these are at their channels."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

# Of one worker, for the files as they are stored; a message is about three times as large while it
# is written. Ordinary files never fill it, so a recipient who does not answer holds up no others.
_MOST_BYTES = 96 * 1024 * 1024


class FileMemory:
    """Shared by all messages of a worker; those that find no room wait for their turn."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._taken = 0
        self._freed = asyncio.Condition()

    @asynccontextmanager
    async def take(self, size_bytes: int) -> AsyncIterator[None]:
        """Until the block ends. One message that is larger than all the memory goes alone."""
        if size_bytes == 0:
            yield
            return
        async with self._freed:
            await self._freed.wait_for(lambda: self._has_room(size_bytes))
            self._taken += size_bytes
        try:
            yield
        finally:
            # Not awaited before: a cancelled message must give its room back too.
            self._taken -= size_bytes
            async with self._freed:
                self._freed.notify_all()

    def _has_room(self, size_bytes: int) -> bool:
        return self._taken == 0 or self._taken + size_bytes <= self._most_bytes
