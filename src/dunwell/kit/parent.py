"""How a child process notices that its parent is gone: the end of a pipe only the parent holds.

It works after a kill -9 and on every system, for the kernel closes the parent's end.
"""

import os
import signal
import threading
import time


def end_with_parent(descriptor: int, patience_seconds: float = 5.0) -> None:
    """End this process when the pipe read at `descriptor` does: cleanly, or after patience hard."""
    threading.Thread(
        target=_watch, args=(descriptor, patience_seconds), name="parent", daemon=True
    ).start()


def _watch(descriptor: int, patience_seconds: float) -> None:
    while os.read(descriptor, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(patience_seconds)
    os._exit(1)
