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


async def wait_until_blocked(database: Database, task: "asyncio.Task[Any]") -> None:
    """Wait until the task is blocked by a lock of another transaction. Fail if the task ends
    instead."""
    async with asyncio.timeout(_TIMEOUT_SECONDS), database.connection() as connection:
        while await connection.fetchval(_HELD_BACK) == 0:
            assert not task.done(), "nothing held it back"
