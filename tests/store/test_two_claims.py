"""Each statement that changes rows by a condition is run with one row that it must change and one
that it must not."""

import re

import pytest

from dunwell.platform.database.database import Connection, Database
from tests.support.moves_of_contacts import MOVES_OF_CLAIMS, MOVES_OF_CONTACTS
from tests.support.moves_of_jobs import MOVES_OF_JOBS
from tests.support.moves_of_reports import MOVES_OF_REPORTS
from tests.support.moves_of_sweeps import MOVES_OF_SWEEPS, NOT_TWO
from tests.support.sql_statements import list_statements
from tests.support.two_claims import (
    MovingStatement,
    hold_back,
    insert_things,
    lock_second,
    read_values,
    run,
)

MOVES = [
    *MOVES_OF_CLAIMS, *MOVES_OF_CONTACTS, *MOVES_OF_JOBS, *MOVES_OF_REPORTS, *MOVES_OF_SWEEPS,
]  # fmt: skip
# The marks of such a statement: it skips locked rows, or compares a time, a hold or a lease.
_MOVES = re.compile(
    r"SKIP LOCKED|\bNOT \w*\.?held\b|lease_id = \$|sandbox_now"
    r"|\b(\w+_at|until|\w+_until|minute|window_start|not_before) <=? ?(\$|coalesce)"
)
_IMPATIENT = "SET LOCAL lock_timeout = '2s'"


@pytest.mark.parametrize("moving", MOVES, ids=lambda each: each.name)
async def test_a_statement_changes_only_the_rows_that_it_must_change(
    database: Database, moving: MovingStatement
) -> None:
    async with database.transaction() as tx:
        await insert_things(tx, moving)
    async with database.transaction() as tx:
        free = await _try(tx, moving, "")
        kept = {why: await _try(tx, moving, why) for why in [*moving.back, *moving.since]}
    assert free == moving.expect(second_moves=True)
    assert kept == dict.fromkeys(kept, moving.expect(second_moves=False))


async def _try(tx: Connection, moving: MovingStatement, why: str) -> list[tuple[int, int]]:
    """Return the rows that change under this condition, and roll back."""
    trial = tx.transaction()
    await trial.start()
    try:
        if why in moving.back:
            await hold_back(tx, moving, moving.back[why])
        values = await read_values(tx, moving)
        if why in moving.since:
            await hold_back(tx, moving, moving.since[why])
        return await run(tx, moving, values)
    finally:
        await trial.rollback()


@pytest.mark.parametrize(
    "moving", [each for each in MOVES if each.passes_by], ids=lambda each: each.name
)
async def test_a_statement_skips_locked_rows(database: Database, moving: MovingStatement) -> None:
    async with database.transaction() as tx:
        await insert_things(tx, moving)
    async with database.transaction() as first, database.transaction() as second:
        await lock_second(first, moving)
        await second.execute(_IMPATIENT)
        moved = await run(second, moving, await read_values(second, moving))
    assert moved == moving.expect(second_moves=False)


def test_each_statement_that_changes_rows_is_tried_with_two_rows() -> None:
    tried = {name for each in MOVES for name in each.names}
    assert not tried & NOT_TWO.keys()
    assert set(list_moving()) == tried & set(list_moving()) | NOT_TWO.keys(), (
        "say in tests.support.moves_of_* what must move by it and what must not"
    )


def test_each_statement_that_skips_locked_rows_is_tried() -> None:
    passing = {name for name, text in list_statements().items() if "SKIP LOCKED" in text}
    tried = {name for each in MOVES if each.passes_by for name in each.names}
    assert passing - NOT_TWO.keys() == tried


def list_moving() -> list[str]:
    return [name for name, text in list_statements().items() if _MOVES.search(text)]
