"""A child process that uses a quarter of a second of processor time for each answer, of the one
second that a request may take: `python -m tests.support.slow_child`."""

import time

from dunwell.platform.children.child import confine_process, serve


def _spend(_request: bytes) -> bytes:
    until = time.process_time() + 0.25
    while time.process_time() < until:
        pass
    return b"done"


if __name__ == "__main__":
    confine_process(256 * 1024 * 1024, 1)
    serve(_spend, 1)
