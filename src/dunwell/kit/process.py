"""What every process that runs for long does: it ends with its parent, looks less often for cycles
among objects, as it handles many small ones, and lets others have their turn in long work."""

import asyncio
import gc
import os
import signal
import threading
import time

# A request that needs longer lets others in between: nobody waits for it alone.
_TURN_SECONDS = 0.005


def end_with_parent(descriptor: int, patience_seconds: float = 5.0) -> None:
    """End this process when the pipe read at `descriptor` does: cleanly, or after patience hard.

    Only the parent holds the pipe's other end, which the kernel closes for it: this works after a
    kill -9 and on every system.
    """
    threading.Thread(
        target=_watch, args=(descriptor, patience_seconds), name="parent", daemon=True
    ).start()


def _watch(descriptor: int, patience_seconds: float) -> None:
    while os.read(descriptor, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(patience_seconds)
    os._exit(1)


def relax_collector() -> None:
    """Look a tenth as often as by default, and never again at what start-up made.

    Our values hold no cycles; a request or a set of steps makes thousands of objects that live for
    milliseconds. Measured: 500 claims a request cost 23 % less CPU (bench/RESULTS.md).
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


class Turns:
    """One piece of work, from its making on."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    async def give_way(self) -> None:
        """Between two parts of the work: let the others in if this has had its turn."""
        if time.perf_counter() - self._began > _TURN_SECONDS:
            await asyncio.sleep(0)
            self._began = time.perf_counter()
