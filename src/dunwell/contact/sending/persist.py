"""Writes what must not be lost, again and again while the database is away."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from dunwell.platform.errors import Unavailable

_FIRST_PAUSE_SECONDS, _PAUSE_SECONDS = 0.1, 1.0
# A process that ends has been asked to for twenty seconds; its supervisor kills it soon after.
_MOMENT_SECONDS = 5.0

Written = TypeVar("Written")

log = structlog.get_logger(__name__)


async def persist(write: Callable[[], Awaitable[Written]]) -> Written:
    """Repeat a transaction for as long as the database is away or another change is in the way. It
    must be one that may be repeated: it may have been committed though its answer was lost."""
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            return await write()
        except Unavailable as error:
            log.warning("cannot settle yet", error=type(error).__name__, once_a_minute=True)
            await asyncio.sleep(pause)
            pause = _PAUSE_SECONDS


async def persist_for_a_moment(write: Callable[[], Awaitable[object]]) -> None:
    """The same for a few seconds, and without raising: for a task that is being cancelled, or that
    others wait for."""
    try:
        async with asyncio.timeout(_MOMENT_SECONDS):
            await persist(write)
    except Exception as error:
        log.exception("cannot settle in time", error=type(error).__name__)
