"""What every long-running process does: end with its parent, collect garbage less often, and let
other tasks run during long computations."""

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

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

# Only two threads: they share the processor with the event loop, which waits up to 5 ms for each
# running thread. Two of them delay every step of another request by about 10 ms.
_THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="rendering")
# After this time a long computation lets other tasks run.
_SLICE_SECONDS = 0.005


def end_with_parent(descriptor: int, timeout_seconds: float = 5.0) -> None:
    """End this process when the pipe at `descriptor` is closed: with SIGTERM, and after
    `timeout_seconds` without cleanup.

    Only the parent holds the other end of the pipe, and the kernel closes it when the parent ends.
    This works after a kill -9 and on every system.
    """
    threading.Thread(
        target=_watch, args=(descriptor, timeout_seconds), name="parent", daemon=True
    ).start()


def _watch(descriptor: int, timeout_seconds: float) -> None:
    while os.read(descriptor, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(timeout_seconds)
    os._exit(1)


def tune_garbage_collector() -> None:
    """Collect cyclic garbage a tenth as often as by default, and never examine the objects of the
    start-up again.

    Our objects form no cycles, and a request or a batch of steps creates thousands of objects that
    live for milliseconds. Measured: 500 claims in a request took 23 % less processor time
    (bench/RESULTS.md).
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


class TimeSlices:
    """The time slices of one computation, which begins when this object is created."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    async def yield_if_due(self) -> None:
        """Between two parts of the computation, let other tasks run if its time slice is used
        up."""
        if time.perf_counter() - self._began > _SLICE_SECONDS:
            await asyncio.sleep(0)
            self._began = time.perf_counter()


async def run_in_thread(
    make: Callable[_Arguments, _Result], *arguments: _Arguments.args, **keywords: _Arguments.kwargs
) -> _Result:
    """Call `make` in a thread and return its result or raise its exception. Rendering a text or
    checking a definition takes longer than the event loop may be blocked.

    A thread cannot be stopped, so each call must be short: one message, or one definition within
    its limits. If the caller is cancelled, the call still finishes and occupies its thread until
    then, so that never more than two run.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_THREADS, partial(make, *arguments, **keywords))
