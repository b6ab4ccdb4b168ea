"""Every declared list has its indexes, contains only rows of its merchant, and hides rows of
running transactions from pages, counts and the oldest row."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest

import dunwell
from dunwell.platform.database.database import Connection, Database
from dunwell.platform.database.listed_table import ListedTable, ListScope, NoFilter
from dunwell.platform.database.lists import count_listed, find_oldest_at, list_page
from tests.support.rows import NOW
from tests.support.two_merchants import OTHER, OWN, drop_checks, insert_merchant_rows, rolled_back

_SCOPE_IDS: Mapping[str, Any] = {
    "merchant_id": OWN, "claim_id": 1, "endpoint_id": UUID(int=1), "mandate_id": UUID(int=1),
}  # fmt: skip
_INDEX_COLUMNS = """
SELECT array_agg(a.attname::text ORDER BY a.attnum) AS columns
FROM pg_index i
JOIN pg_attribute a ON a.attrelid = i.indexrelid
WHERE i.indexrelid = $1::text::regclass AND i.indrelid = $2::text::regclass
"""
# Lists whose rows are found by another key and then sorted.
_SORTED = {"claim attachments", "claim communications"}


def find_lists() -> Iterator[ListedTable[Any, Any, Any]]:
    for found in pkgutil.walk_packages(dunwell.__path__, "dunwell."):
        if ".migrations" in found.name or found.name == "dunwell.__main__":
            continue
        for value in vars(importlib.import_module(found.name)).values():
            for each in value.values() if isinstance(value, dict) else [value]:
                if isinstance(each, ListedTable):
                    yield replace(each, load=load_keys)


async def load_keys(_: Connection, *ids_and_keys: Any) -> Mapping[Any, Any]:
    return {key: key for key in ids_and_keys[-1]}


LISTS = {each.name: each for each in find_lists()}


def scope_of(tx: Connection, listed: ListedTable[Any, Any, Any]) -> ListScope:
    return ListScope(tx, tuple(_SCOPE_IDS[column] for column in listed.scope), now=NOW)


async def load_list(
    tx: Connection, listed: ListedTable[Any, Any, Any], *, oldest_first: bool = False
) -> tuple[Sequence[object], int, object]:
    """Return the keys of all pages, the count, and the instant of the oldest row."""
    scope, wanted = scope_of(tx, listed), listed.filter()
    keys, cursor = list[object](), None
    for _ in range(10):
        page = await list_page(
            scope, listed, wanted, limit=1, cursor=cursor, oldest_first=oldest_first
        )
        keys, cursor = [*keys, *page.items], page.next_cursor
        if cursor is None:
            break
    count = await count_listed(scope, listed, wanted)
    return keys, count.number, await find_oldest_at(scope, listed, wanted)


async def insert_rows(tx: Connection, merchant_id: int) -> None:
    await insert_merchant_rows(tx, merchant_id, written_by="1", due_at=NOW)


def test_each_list_has_its_own_name() -> None:
    names = [(each.name, each.table, each.scope, each.order) for each in find_lists()]
    assert len({name for name, *_ in names}) == len({*names}) >= 24


@pytest.mark.parametrize("name", LISTS)
async def test_a_list_has_the_indexes_that_it_declares(database: Database, name: str) -> None:
    listed = LISTS[name]
    order = () if listed.has_few_rows or name in _SORTED else (listed.order.column,)
    async with database.connection() as tx:
        columns = await tx.fetchval(_INDEX_COLUMNS, listed.index, listed.table)
        assert tuple(columns[: len(listed.scope) + len(order)]) == (*listed.scope, *order)
        for index in listed.narrow_indexes:
            narrow = await tx.fetchval(_INDEX_COLUMNS, index.name, listed.table)
            assert narrow is not None, index.name
            assert tuple(narrow[: len(listed.scope)]) == listed.scope


@pytest.mark.parametrize("name", [name for name, each in LISTS.items() if each.scope])
async def test_a_list_shows_nothing_of_another_merchant(database: Database, name: str) -> None:
    listed = LISTS[name]
    async with rolled_back(database) as tx:
        await drop_checks(tx)
        await insert_rows(tx, OWN)
        alone = [await load_list(tx, listed, oldest_first=way) for way in (False, True)]
        keys, number, _ = alone[0]
        assert len(keys) == number >= 1
        await insert_rows(tx, OTHER)
        with_other_merchant = [
            await load_list(tx, listed, oldest_first=way) for way in (False, True)
        ]
    assert with_other_merchant == alone


@pytest.mark.parametrize(
    "name", [name for name, each in LISTS.items() if each.order.hides_unfinished]
)
async def test_a_list_hides_rows_of_a_running_transaction(database: Database, name: str) -> None:
    listed = LISTS[name]
    async with rolled_back(database) as tx:
        await drop_checks(tx)
        await insert_rows(tx, OWN)
        assert (await load_list(tx, listed))[1] >= 1
        await tx.execute(f"UPDATE {listed.table} SET written_by = current_written_by()")
        assert await load_list(tx, listed) == ([], 0, None)
        assert await load_list(tx, listed, oldest_first=True) == ([], 0, None)


@pytest.mark.parametrize(
    "name", [name for name, each in LISTS.items() if each.order.hides_unfinished]
)
async def test_a_list_of_the_oldest_ends_before_running_transactions(
    database: Database, name: str
) -> None:
    """This also holds after a cursor: the rows may be followed by others that are committed
    earlier."""
    listed = LISTS[name]
    if len(listed.scope) > 1:
        return
    async with rolled_back(database) as tx:
        await drop_checks(tx)
        await insert_rows(tx, OWN)
        scope, wanted = scope_of(tx, listed), listed.filter()
        first = await list_page(scope, listed, wanted, limit=1, oldest_first=True)
        await tx.execute(
            f"UPDATE {listed.table} SET written_by = current_written_by() WHERE {listed.key} <> $1",
            first.items[0],
        )
        rest = await list_page(
            scope, listed, wanted, limit=1, cursor=first.next_cursor, oldest_first=True
        )
    assert first.next_cursor is not None
    assert list(rest.items) == []


@dataclass(frozen=True, slots=True)
class _StateFilter:
    state: str | None = None


def test_a_filter_without_a_condition_is_refused() -> None:
    with pytest.raises(ValueError, match="state"):
        ListedTable[_StateFilter, int, int](
            name="x", table="claims", key="claim_id", key_type="bigint", index="claims_list",
            filter=_StateFilter, load=load_keys,
        )  # fmt: skip
    with pytest.raises(ValueError, match="state"):
        ListedTable[NoFilter, int, int](
            name="x", table="claims", key="claim_id", key_type="bigint", index="claims_list",
            filter=NoFilter, filters={"state": "l.state = {}"}, load=load_keys,
        )  # fmt: skip
