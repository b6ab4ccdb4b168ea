"""PostgreSQL is killed and restarted while connections to it are idle and in use."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dunwell.platform.database.database import Database, DatabaseAway
from dunwell.platform.embedded.postgres import EmbeddedPostgres, get_binaries_folder, stop_server


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[EmbeddedPostgres]:
    """A running server that only this test uses."""
    # If the test runs as root, the server's user must be able to reach its folder.
    for parent in (tmp_path, *tmp_path.parents):
        if parent.owner() == "root" and not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)
    embedded = EmbeddedPostgres(tmp_path / "postgres", get_binaries_folder(None))
    yield embedded
    embedded.stop_abandoned()


async def _ask(database: Database, statement: str = "SELECT 1") -> int:
    async with database.connection() as connection:
        answer: int = await connection.fetchval(statement)
        return answer


async def test_a_killed_server_is_used_again_after_its_restart(server: EmbeddedPostgres) -> None:
    process = await asyncio.to_thread(server.start)
    database = await Database.open(server.url, size=3)
    await asyncio.gather(*(_ask(database) for _ in range(3)))
    using = [asyncio.create_task(_ask(database, "SELECT 1 FROM pg_sleep(60)")) for _ in range(2)]
    assert await _ask(database) == 1

    process.kill()
    process.wait(10)
    for each in (*using, _ask(database), _ask(database)):
        with pytest.raises(DatabaseAway, match="is not available"):
            await each

    process = await asyncio.to_thread(server.start)
    assert await asyncio.gather(*(_ask(database) for _ in range(20))) == [1] * 20
    await database.close()
    stop_server(process)
