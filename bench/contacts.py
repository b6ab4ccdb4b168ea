"""Planned e-mails that are rendered and sent to the outbox, compared with procrastinate and jobs
that do nothing."""

import time
from functools import partial

from bench.environment import Ground
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, submit_claims
from bench.procrastinate_queue import (
    drain_procrastinate,
    enqueue_procrastinate,
    install_procrastinate,
)
from bench.rounds import Scale, alternate
from dunwell.adapters.installed import build_channel_adapters
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine

_EMAILS = 10_000
_PROCRASTINATE_JOBS = 5_000


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    url = await ground.make_database("contacts_procrastinate")
    await install_procrastinate(url)
    bench = await make_merchant(ground, "Messages")
    ours, reference = await alternate(
        scale,
        [
            partial(_send, ground, bench, scale.rows(_EMAILS)),
            partial(_drain, ground, url, scale.rows(_PROCRASTINATE_JOBS)),
        ],
    )
    return [
        Line(
            work="dispatcher: e-mails rendered, written to the outbox, ESCALATED recorded",
            unit="e-mails/s", ours=ours,
            beside="procrastinate, no-op jobs", reference=reference,
            reference_unit="operations/jobs/s",
            at_least=2,
        )
    ]  # fmt: skip


async def _send(ground: Ground, bench: BenchMerchant, count: int) -> float:
    """Return the e-mails per second, until none is planned any more."""
    await ground.clear_claims()
    await submit_claims(bench, count)
    engine = Engine(bench.resources)
    while await engine.run_once():
        pass
    await ground.settle()
    dispatcher = MessageDispatcher(bench.resources, build_channel_adapters(ground.settings))
    done = 0
    started = time.perf_counter()
    while done < count:
        done += await dispatcher.run_once()
    seconds = time.perf_counter() - started
    await dispatcher.close()
    async with ground.database.connection() as connection:
        raised = await connection.fetchval("SELECT count(*) FROM events WHERE type = 'ESCALATED'")
    assert raised == count
    return count / seconds


async def _drain(ground: Ground, url: str, count: int) -> float:
    await enqueue_procrastinate(url, count)
    await ground.settle(url)
    return await drain_procrastinate(url, count)
