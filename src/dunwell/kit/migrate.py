"""Bring a database to the newest schema with Alembic, whose migrations here are plain SQL."""

import asyncio
from collections.abc import Callable
from importlib.resources import files
from typing import TypeVar

import asyncpg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

_Answer = TypeVar("_Answer")


def migrate(url: str) -> None:
    """Run every migration the database has not seen; safe to start twice at once."""
    asyncio.run(_run(url, _upgrade))


def load_revisions(url: str) -> tuple[str | None, str]:
    """The database's revision and the newest one there is."""
    return asyncio.run(_run(url, _load_revision)), _newest_revision()


async def _run(url: str, work: Callable[[Connection], _Answer]) -> _Answer:
    # asyncpg reads the address itself, so that it means the same here as everywhere else.
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(url), poolclass=NullPool
    )
    async with engine.begin() as connection:
        return await connection.run_sync(work)


def _load_revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _upgrade(connection: Connection) -> None:
    config = _configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _newest_revision() -> str:
    head = ScriptDirectory.from_config(_configuration()).get_current_head()
    assert head is not None
    return head


def _configuration() -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("dunwell") / "migrations"))
    return config
