"""Rows of another merchant do not change any result: every statement of the code is run for one
merchant alone, and again with another merchant that has the same rows and ids in every table."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from dunwell.platform.database.database import Connection, Database
from tests.store.test_two_claims import MOVES
from tests.support.not_one_merchants import NOT_ONE_MERCHANTS, QUIET
from tests.support.rows import NOW, insert_row, without_triggers
from tests.support.sql_statements import list_statements
from tests.support.two_merchants import (
    OTHER,
    OWN,
    drop_checks,
    find_changed,
    find_kinds,
    find_merchant_parameters,
    insert_merchant_rows,
    list_tables,
    load_own_rows,
    make_values,
    read_rows,
    rolled_back,
    try_statement,
)

_ON_ITS_WAY = {"lease_id": UUID(int=1), "lease_until": NOW, "handed_over_at": NOW}
_IN_PROCESS = {
    "status": "IN_PROCESS",
    "workflow_id": (UUID(int=1), UUID(int=2)),
    "workflow_major": 1,
}
# Values of optional columns, for every table that has such a column. In each state other statements
# find rows.
ROW_STATES: Mapping[str, Mapping[str, Any]] = {
    "usual": {},
    "in process": {
        **_IN_PROCESS, "due_at": NOW, "check_at": NOW, "next_check_at": NOW, "until": NOW,
        "notices_due": 1, "notice_at": NOW, "state": "PUBLISHED", "major": 1, "minor": 0,
        "facts": {}, "notice_id": (UUID(int=1), UUID(int=2)),
        "version_id": (UUID(int=1), UUID(int=2)), "next_step_id": 1,
    },
    "on its way": {
        **_ON_ITS_WAY, **_IN_PROCESS, "state": "HANDED_OVER", "due_at": NOW, "seal": (1, 2),
    },
    "over": {
        "status": "COLLECTED", "status_before_collected": "IN_PROCESS", "state": "UNKNOWN",
        "outcome": "UNKNOWN", "settled_at": NOW, "level": "CODE", "answered_at": NOW,
        "seal": (1, 2), "digest": "\\x01", "sequence": (1, 2),
        "review_reason": "CLAIM_ENDED",
    },
    "of letters": {"state": "TAKING_BACK"},
    "of debits planned": {"state": "PLANNED"},
    "of debits announced": {"state": "PRENOTIFIED", "next_attempt_at": NOW, "check_at": NOW},
    "of debits proposed": {"state": "PRENOTIFIED", "file_id": (UUID(int=1), UUID(int=2))},
    "of debits released": {"state": "RELEASED", "file_id": (UUID(int=1), UUID(int=2))},
    "of mandates": {"state": "ACTIVE"},
    "of disputed claims": {"kind": "DISPUTE"},
    "of accepted notices": {"state": "ACCEPTED", "notice_id": (UUID(int=1), UUID(int=2))},
    "of debit files": {"state": "PROPOSED"},
    "of scenarios": {**_IN_PROCESS, "state": "SCENARIO", "major": 1, "minor": 0},
    "of staff": {
        "list": "CLAIMS", "is_shared": True, "subject": "claim:1", "state": "OPEN",
        "written_by": "1", "assignee_id": UUID(int=1),
    },
}  # fmt: skip
_OWN = {name: text for name, text in list_statements().items() if find_merchant_parameters(text)}


async def test_another_merchants_rows_do_not_change_a_statements_result(database: Database) -> None:
    leaks, idle = [], set(_OWN)
    async with rolled_back(database) as tx, without_triggers(tx):
        kinds = {name: await find_kinds(tx, text) for name, text in _OWN.items()}
        await drop_checks(tx)
        for number in (1, 2):
            await insert_row(tx, "users", number)
        for everywhere in ROW_STATES.values():
            trial = tx.transaction()
            await trial.start()
            try:
                found, did = await _compare(tx, everywhere, kinds)
            finally:
                await trial.rollback()
            leaks += found
            idle -= did
    assert leaks == []
    tried_on_two = {name for each in MOVES for name in each.names}
    assert idle - tried_on_two == QUIET.keys()


def test_each_statement_is_limited_to_one_merchant_or_has_a_recorded_reason() -> None:
    assert set(list_statements()) - set(_OWN) == NOT_ONE_MERCHANTS.keys()


async def _compare(
    tx: Connection, everywhere: Mapping[str, Any], kinds: Mapping[str, Sequence[str] | None]
) -> tuple[list[object], set[str]]:
    """Return the statements whose results differ because of the other merchant, and those that
    found or changed anything. `kinds` has the types of each statement's parameters."""
    await insert_merchant_rows(tx, OWN, **everywhere)
    tables, own = await list_tables(tx), await load_own_rows(tx)
    named = {name: find_changed(tables, text) for name, text in _OWN.items()}
    rows_before = await read_rows(tx, tables)
    values, alone = {}, {}
    for name, text in _OWN.items():
        for number in (1, 9) if "INSERT" in text else (1,):
            made = make_values(text, kinds[name] or (), number, own)
            done = made and await try_statement(tx, text, made, named[name], rows_before[OWN])
            if made and done:
                values[name, number], alone[name, number] = made, done
    await insert_merchant_rows(tx, OTHER, **everywhere)
    rows_before = await read_rows(tx, tables)
    leaks: list[object] = []
    for (name, number), before in alone.items():
        theirs = {table: rows_before[OTHER][table] for table in named[name]}
        given = values[name, number]
        with_other_merchant = await try_statement(
            tx, _OWN[name], given, named[name], rows_before[OWN]
        )
        if (
            with_other_merchant is None
            or with_other_merchant.theirs != theirs
            or not with_other_merchant.is_same(before)
        ):
            leaks.append((name, before, with_other_merchant))
    return leaks, {name for (name, _), each in alone.items() if each.does_anything}
