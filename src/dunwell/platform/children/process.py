"""What every process that runs for long does: it ends with its parent, looks less often for cycles
among objects, as it handles many small ones, and lets others have their turn in long work: between
its parts, or in a thread."""

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")

# Two, as they share the processor with the event loop, which gets its turn after at most 5 ms of
# each: a request of another user waits some 10 ms each time it has something to do.
_THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="rendering")
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


async def run_apart(
    make: Callable[_Given, _Made], *given: _Given.args, **named: _Given.kwargs
) -> _Made:
    """What `make` answers or raises, apart from the event loop: rendering a text or checking a
    definition takes longer than others should wait.

    A thread cannot be ended, so each piece of work must be short: one message, or one definition
    within its limits. A caller that is cancelled leaves its piece behind. The piece is finished and
    thrown away, and keeps its thread until then, so that there are never more than two at work.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_THREADS, partial(make, *given, **named))
