"""Waits for events that PostgreSQL reports, where a fixed waiting time would be too long, or too
short on a busy machine."""

import asyncio
from typing import Any

from dunwell.platform.database.database import Database

_HELD_BACK = """
SELECT count(*) FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND datname = current_database()
"""
_TIMEOUT_SECONDS = 60


async def wait_until_blocked(database: Database, *tasks: "asyncio.Task[Any]") -> None:
    """Wait until each of the tasks is blocked by a lock of another transaction. Fail if one ends
    instead."""
    async with asyncio.timeout(_TIMEOUT_SECONDS), database.connection() as connection:
        while await connection.fetchval(_HELD_BACK) < len(tasks):
            assert not any(each.done() for each in tasks), "nothing held it back"
