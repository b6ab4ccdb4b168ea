"""celery, whose worker takes jobs that do nothing from redis: one worker process with its default
concurrency. redis is not a Python package, so this is skipped on a machine without it."""

import asyncio
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from celery import Celery

from bench.children import find_free_port

# The variable with the broker's address for the worker process.
_URL = "BENCH_REDIS_URL"
_BATCH = 1000
app = Celery("bench", broker=os.environ.get(_URL))
app.conf.update(task_ignore_result=True, worker_prefetch_multiplier=100)


@app.task(name="nothing")
def do_nothing() -> None:
    """The benchmark counts jobs by the length of the queue."""


def has_redis() -> bool:
    return shutil.which("redis-server") is not None


@asynccontextmanager
async def open_redis(folder: Path) -> AsyncIterator[str]:
    """Start a server that keeps its data only in memory, and yield its address."""
    port = find_free_port()
    server = await asyncio.create_subprocess_exec(
        "redis-server", "--port", str(port), "--save", "", "--dir", str(folder),
        stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        await asyncio.sleep(0.5)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        await server.wait()


async def drain_celery(url: str, count: int) -> float:
    """Return the jobs per second, from the first job to the last."""
    await asyncio.to_thread(_enqueue, url, count)
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "celery", "-A", "bench.celery_queue", "worker", "--pool=solo",
        "--loglevel=error", "--without-gossip", "--without-mingle", "--without-heartbeat",
        env={**os.environ, _URL: url},
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        return await asyncio.to_thread(_watch, url, count)
    finally:
        worker.terminate()
        await worker.wait()


def _enqueue(url: str, count: int) -> None:
    with app.connection_for_write(url) as connection, connection.Producer() as producer:
        for _ in range(count):
            do_nothing.apply_async(producer=producer)


def _watch(url: str, count: int) -> float:
    """Measure by the length of the queue, from which the worker takes a hundred jobs at a time."""
    started, first = 0.0, count
    with app.connection_for_read(url) as connection:
        client = connection.default_channel.client
        while (left := client.llen("celery") + client.hlen("unacked")) > 0:
            if started == 0.0 and left < count:
                started, first = time.perf_counter(), left
            time.sleep(0.005)
    return first / (time.perf_counter() - started)
