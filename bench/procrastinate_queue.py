"""procrastinate with jobs that do nothing: one worker, many jobs at a time."""

import time

from procrastinate import App, PsycopgConnector

_CONCURRENCY = 20


def make_app(url: str) -> App:
    app = App(connector=PsycopgConnector(conninfo=url, min_size=4, max_size=20))

    @app.task(name="nothing")
    async def _do_nothing() -> None:
        return None

    return app


async def install_procrastinate(url: str) -> None:
    app = make_app(url)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


async def enqueue_procrastinate(url: str, count: int) -> None:
    """Empty the queue and add `count` jobs."""
    app = make_app(url)
    async with app.open_async():
        await app.connector.execute_query_async("TRUNCATE procrastinate_jobs CASCADE")
        task = app.tasks["nothing"]
        for _ in range(0, count, 1000):
            await task.batch_defer_async(*({} for _ in range(1000)))


async def drain_procrastinate(url: str, count: int) -> float:
    """Return the jobs per second, from the start of the worker to its end."""
    app = make_app(url)
    async with app.open_async():
        started = time.perf_counter()
        await app.run_worker_async(
            wait=False, concurrency=_CONCURRENCY, install_signal_handlers=False
        )
        seconds = time.perf_counter() - started
        [row] = await app.connector.execute_query_all_async(
            "SELECT count(*) AS done FROM procrastinate_jobs WHERE status = 'succeeded'"
        )
    assert row["done"] == count
    return count / seconds
