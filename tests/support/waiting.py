"""Waits for what PostgreSQL tells, where a time to wait would be too long, or too short on a busy
machine."""

import asyncio
from typing import Any

from dunwell.platform.database.database import Database

_HELD_BACK = """
SELECT count(*) FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND datname = current_database()
"""
_PATIENCE_SECONDS = 60


async def until_held_back(database: Database, task: "asyncio.Task[Any]") -> None:
    """Until the task waits for what another transaction holds. Fails if it ends instead."""
    async with asyncio.timeout(_PATIENCE_SECONDS), database.connection() as connection:
        while await connection.fetchval(_HELD_BACK) == 0:
            assert not task.done(), "nothing held it back"
