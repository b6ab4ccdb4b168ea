"""What every process that runs for long does as it starts: it ends with its parent, and looks less
often for cycles among objects, as it handles many small ones."""

import gc
import os
import signal
import threading
import time


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
