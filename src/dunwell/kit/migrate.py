"""Bring a database to the newest schema with Alembic, whose migrations here are plain SQL."""

import asyncio
from importlib.resources import files

import asyncpg
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool


def migrate(url: str) -> None:
    """Run every migration the database has not seen; safe to start twice at once."""
    asyncio.run(_migrate(url))


async def _migrate(url: str) -> None:
    # asyncpg reads the address itself, so that it means the same here as everywhere else.
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(url), poolclass=NullPool
    )
    async with engine.begin() as connection:
        await connection.run_sync(_upgrade)


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(files("dunwell") / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
