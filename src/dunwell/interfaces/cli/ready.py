"""The line by which `dunwell web` and `dunwell worker` say that they are ready, and until then the
one that says what they wait for.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import click

from dunwell.interfaces.api.readiness import Readiness
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

_POLL_SECONDS = 0.2


@asynccontextmanager
async def announced(
    resources: Resources, line: str, is_up: Callable[[], bool] = lambda: True
) -> AsyncIterator[None]:
    """Print `line` once, as soon as the database can be worked on and this process is up."""
    telling = asyncio.create_task(_tell_once(resources, line, is_up))
    try:
        yield
    finally:
        telling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await telling


async def _tell_once(resources: Resources, line: str, is_up: Callable[[], bool]) -> None:
    told, readiness = "", Readiness(resources.database, resources.clock)
    while True:
        reason = await _find_reason(readiness)
        if reason is None and is_up():
            click.echo(line)
            return
        if reason is not None and reason != told:
            click.echo(f"dunwell: not ready: {reason}", err=True)
            told = reason
        await asyncio.sleep(_POLL_SECONDS)


async def _find_reason(readiness: Readiness) -> str | None:
    try:
        await readiness.check()
    except Unavailable as refusal:
        return refusal.message
    return None
