"""Lets the others of an event loop have their turn during a long piece of work."""

import asyncio
import time

# A request that needs longer lets others in between: nobody waits for it alone.
_TURN_SECONDS = 0.005


class Turns:
    """One piece of work, from its making on."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    async def give_way(self) -> None:
        """Between two parts of the work: let the others in if this has had its turn."""
        if time.perf_counter() - self._began > _TURN_SECONDS:
            await asyncio.sleep(0)
            self._began = time.perf_counter()
