"""pgqueuer with jobs that do nothing: one worker, batches of 500, its default durability."""

import time

import asyncpg
from pgqueuer import Job, Queries, QueueManager
from pgqueuer.types import QueueExecutionMode

_BATCH = 500
_ENTRYPOINT = "nothing"


async def install_pgqueuer(url: str) -> None:
    connection = await asyncpg.connect(url)
    await Queries.from_asyncpg_connection(connection).install()
    await connection.close()


async def enqueue_pgqueuer(url: str, count: int) -> None:
    """Empty the queue and add `count` jobs."""
    connection = await asyncpg.connect(url)
    queries = Queries.from_asyncpg_connection(connection)
    await queries.clear_queue()
    await queries.clear_queue_log()
    for _ in range(0, count, 1000):
        await queries.enqueue([_ENTRYPOINT] * 1000, [None] * 1000, [0] * 1000)
    await connection.close()


async def drain_pgqueuer(url: str, count: int) -> float:
    """Return the jobs per second, from the start of the worker to its end."""
    connection = await asyncpg.connect(url)
    manager = QueueManager(Queries.from_asyncpg_connection(connection))
    done = 0

    @manager.entrypoint(_ENTRYPOINT)
    async def _do_nothing(_job: Job) -> None:
        nonlocal done
        done += 1

    started = time.perf_counter()
    await manager.run(batch_size=_BATCH, mode=QueueExecutionMode.drain)
    seconds = time.perf_counter() - started
    assert done == count
    await connection.close()
    return count / seconds
