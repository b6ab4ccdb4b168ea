"""Run use cases for one merchant from the command line, with the operator as the actor."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.credentials.store import find_merchant_id_by_key
from dunwell.accounts.merchants.store import load_merchant
from dunwell.interfaces.cli.database import provide_database
from dunwell.interfaces.cli.options import read_settings
from dunwell.platform.config import Settings
from dunwell.platform.database.database import Connection, snapshot
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources, open_resources

Result = TypeVar("Result")
# Returns the id of the merchant for which a command runs.
FindMerchant = Callable[[Connection], Awaitable[int]]
Change = Callable[[Work, Resources], Awaitable[Result]]
Query = Callable[[Resources], Awaitable[Result]]


def find_merchant_by_key(key: str) -> FindMerchant:
    """Return a function that returns the id of the merchant with this key, or raises NotFound."""

    async def find(tx: Connection) -> int:
        merchant_id = await find_merchant_id_by_key(tx, key)
        if merchant_id is None:
            raise NotFound(f"There is no merchant {key}. Check the key, or apply its file first.")
        return merchant_id

    return find


def run_query(data_dir: str | None, command: str, query: Query[Result]) -> Result:
    """Run a function that only reads, or that opens its own transactions."""
    settings = read_settings(command, data_dir=data_dir)
    with provide_database(settings, command):
        return asyncio.run(_run_query(settings, command, query))


async def _run_query(settings: Settings, command: str, query: Query[Result]) -> Result:
    async with open_resources(settings, command) as resources:
        return await query(resources)


def run_use_case(
    data_dir: str | None, command: str, find: FindMerchant, change: Change[Result]
) -> Result:
    """Run one use case of one merchant in one transaction. `find` returns the merchant's id."""
    settings = read_settings(command, data_dir=data_dir)
    with provide_database(settings, command):
        return asyncio.run(_run_change(settings, command, find, change))


async def _run_change(
    settings: Settings, command: str, find: FindMerchant, change: Change[Result]
) -> Result:
    async with (
        open_resources(settings, command) as resources,
        resources.database.transaction() as tx,
    ):
        work = await _open_work(resources, tx, await find(tx))
        return await change(work, resources)


@asynccontextmanager
async def open_work(resources: Resources, find: FindMerchant) -> AsyncIterator[Work]:
    """Open a transaction for one of the several use cases that a command runs."""
    async with resources.database.transaction() as tx:
        yield await _open_work(resources, tx, await find(tx))


@asynccontextmanager
async def open_read_only_work(resources: Resources, find: FindMerchant) -> AsyncIterator[Work]:
    """Open a read-only snapshot for long reads."""
    async with resources.database.connection() as connection, snapshot(connection):
        yield await _open_work(resources, connection, await find(connection))


async def _open_work(resources: Resources, tx: Connection, merchant_id: int) -> Work:
    merchant = await load_merchant(tx, merchant_id)
    assert merchant is not None, "found in this transaction"
    actor = COMMAND_LINE
    return Work.open(resources, tx, merchant, actor)
