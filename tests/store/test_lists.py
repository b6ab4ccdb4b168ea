"""Every declared list has its indexes, contains only rows of its merchant, and hides rows of
running transactions from pages, counts and the oldest row."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from uuid import UUID

import pytest

import dunwell
from dunwell.platform.database.database import Connection, Database
from dunwell.platform.database.listed_table import ListedTable, ListScope, NoFilter
from dunwell.platform.database.lists import count_listed, find_oldest_at, list_page
from tests.support.rows import NOW
from tests.support.two_merchants import (
    OTHER,
    OWN,
    drop_checks,
    insert_merchant_rows,
    rolled_back,
    undone,
)

_Found: TypeAlias = tuple[Sequence[object], int, object]
# The name of a list, and what it shows with the newest and with the oldest rows first.
_BothWays: TypeAlias = tuple[str, _Found, _Found]
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
_LIMITED = [each for each in LISTS.values() if each.scope]
_HIDING = [each for each in LISTS.values() if each.order.hides_unfinished]
_HIDE_ALL = "UPDATE {table} SET written_by = current_written_by()"


def scope_of(tx: Connection, listed: ListedTable[Any, Any, Any]) -> ListScope:
    return ListScope(tx, tuple(_SCOPE_IDS[column] for column in listed.scope), now=NOW)


async def load_list(
    tx: Connection, listed: ListedTable[Any, Any, Any], *, oldest_first: bool = False
) -> _Found:
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


async def test_a_list_shows_nothing_of_another_merchant(database: Database) -> None:
    async with rolled_back(database) as tx:
        await drop_checks(tx)
        await insert_rows(tx, OWN)
        alone = [await _load_both_ways(tx, each) for each in _LIMITED]
        await insert_rows(tx, OTHER)
        with_other_merchant = [await _load_both_ways(tx, each) for each in _LIMITED]
    assert [name for name, (keys, number, _), _ in alone if not len(keys) == number >= 1] == []
    assert with_other_merchant == alone


async def test_a_list_hides_rows_of_a_running_transaction(database: Database) -> None:
    async with rolled_back(database) as tx:
        await drop_checks(tx)
        await insert_rows(tx, OWN)
        committed = [await _load_both_ways(tx, each) for each in _HIDING]
        running = []
        for each in _HIDING:
            async with undone(tx):
                await tx.execute(_HIDE_ALL.format(table=each.table))
                running.append(await _load_both_ways(tx, each))
    assert [name for name, (_, number, _), _ in committed if number < 1] == []
    assert running == [(each.name, ([], 0, None), ([], 0, None)) for each in _HIDING]


async def _load_both_ways(tx: Connection, listed: ListedTable[Any, Any, Any]) -> _BothWays:
    return (
        listed.name,
        await load_list(tx, listed),
        await load_list(tx, listed, oldest_first=True),
    )


async def test_a_list_with_the_oldest_first_ends_before_running_transactions(
    database: Database,
) -> None:
    """This also holds after a cursor: the rows may be followed by others that are committed
    earlier."""
    wrong = []
    async with rolled_back(database) as tx:
        await drop_checks(tx)
        await insert_rows(tx, OWN)
        for listed in _HIDING:
            if len(listed.scope) > 1:
                continue
            scope, wanted = scope_of(tx, listed), listed.filter()
            first = await list_page(scope, listed, wanted, limit=1, oldest_first=True)
            async with undone(tx):
                others = f"{_HIDE_ALL.format(table=listed.table)} WHERE {listed.key} <> $1"
                await tx.execute(others, first.items[0])
                rest = await list_page(
                    scope, listed, wanted, limit=1, cursor=first.next_cursor, oldest_first=True
                )
            if first.next_cursor is None or rest.items:
                wrong.append(listed.name)
    assert wrong == []


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
