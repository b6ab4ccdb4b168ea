"""Runs a statement that moves rows on two things: one that must move and one that must not.

Each of two merchants has the things 1 and 2 with the same ids, so a statement that ignores the
merchant moves too many. `back` holds for every reason the single change to thing 2 of the first
merchant that keeps it where it is (not due, held, leased, ended).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

from dunwell.platform.database.database import Connection
from tests.support.rows import NOW, Values, insert_row
from tests.support.sql_statements import list_names_of

FIRST, SECOND = 1, 2
IDS = [1, 2]
UUIDS = [UUID(int=each) for each in IDS]
LEASE, OTHER_LEASE = UUID(int=77), UUID(int=78)
LATER = NOW + timedelta(microseconds=1)
LONG_AGO, UNTIL = NOW - timedelta(days=1), NOW + timedelta(seconds=15)
# The SQL literal of the instant just after NOW.
JUST_LATER = f"'{LATER.isoformat()}'"

# The columns by which other tables refer to the thing.
_LINKS = {"deliveries": "endpoint_id", "webhook_endpoints": "endpoint_id", "events": "event_id"}

Rows = Mapping[str, Values]

# The things that move: those of one merchant or only its second one, those of all merchants, all
# merchants that have any, or only the first merchant.
Whose = Literal["ONE", "SECOND", "ALL", "MERCHANTS", "FIRST"]


@dataclass(frozen=True, slots=True)
class ValueQuery:
    """A value that is read from the database just before the statement runs."""

    text: str


@dataclass(frozen=True, slots=True)
class MovingStatement:
    """`rows` holds the rows of each thing by table; a list has one value for each of the two
    things. `table` is the table whose rows move, identified by `key`; a statement that changes
    nothing reports in its column `answers` what it found. `since` holds reasons that arise after
    the values were read."""

    statement: str
    values: Sequence[Any]
    rows: Rows
    table: str
    key: str
    back: Mapping[str, str]
    since: Mapping[str, str] = field(default_factory=dict)
    answers: str | None = None
    whose: Whose = "ONE"
    # A condition that holds for moved rows only, if other rows change too.
    becomes: str = "true"
    # The table whose locked rows the statement skips.
    passes_by: str | None = None
    case: str = ""

    @property
    def name(self) -> str:
        return f"{self.names[0]}{self.case and f' ({self.case})'}"

    @property
    def names(self) -> Sequence[str]:
        """Where the statement is written."""
        return list_names_of(self.statement)

    def expect(self, *, second_moves: bool) -> list[tuple[int, int]]:
        """Return the merchant and the number of each thing that must move."""
        held_back = {"MERCHANTS": (FIRST, 0), "FIRST": (FIRST, 0)}.get(self.whose, (FIRST, 2))
        all_move = {
            "ONE": [(FIRST, 1), (FIRST, 2)],
            "SECOND": [(FIRST, 2)],
            "ALL": [(FIRST, 1), (FIRST, 2), (SECOND, 1), (SECOND, 2)],
            "MERCHANTS": [(FIRST, 0), (SECOND, 0)],
            "FIRST": [(FIRST, 0)],
        }[self.whose]
        return [each for each in all_move if second_moves or each != held_back]


async def insert_things(tx: Connection, moving: MovingStatement) -> None:
    for merchant_id in (FIRST, SECOND):
        await insert_row(
            tx, "merchants", merchant_id, merchant_id=merchant_id, sandbox=False,
            switched_to_workflows=True,
        )  # fmt: skip
        for number in IDS:
            for table, values in moving.rows.items():
                given = {k: v[number - 1] if isinstance(v, list) else v for k, v in values.items()}
                await _insert(tx, table, merchant_id, number, given)


async def _insert(tx: Connection, table: str, merchant_id: int, number: int, given: Values) -> None:
    """Texts and digests that are globally unique belong to the merchant; all other ids are the
    same."""
    own = {"merchant_id": merchant_id} | dict(given)
    if table in ("claims", "items"):
        own |= {"claim_id": number} if table == "claims" else {"item_id": number}
    unique = {
        "access_tokens": "token_hash",
        "debtor_sessions": "session_hash",
        "mandates": "reference",
    }.get(table)
    if unique:
        own[unique] = f"\\x{merchant_id:02x}{number:02x}"
    await insert_row(tx, table, number, **own)


async def hold_back(tx: Connection, moving: MovingStatement, change: str) -> None:
    """Change the second thing of the first merchant, or everything that this merchant has."""
    if not change.startswith("UPDATE ") or " WHERE " in change:
        await tx.execute(change)
        return
    table = change.split()[1]
    done = await tx.execute(change + _locate(moving, table))
    assert done != "UPDATE 0", change


async def lock_second(tx: Connection, moving: MovingStatement) -> None:
    """Lock the second thing as another transaction would."""
    table = moving.passes_by
    assert table is not None
    rows = await tx.fetch(f"SELECT FROM {table}{_locate(moving, table)} FOR UPDATE")
    assert len(rows) == 1


def _locate(moving: MovingStatement, table: str) -> str:
    """Return the condition for the table's rows of the second thing, or all rows of the first
    merchant."""
    condition = f" WHERE merchant_id = {FIRST}"
    if moving.whose in ("MERCHANTS", "FIRST") or table == "merchants":
        return condition
    key = moving.key if table == moving.table else _LINKS.get(table, "claim_id")
    number = IDS[-1]
    values = {"claim_id": str(number), "key": f"'x{number}'"}
    return f"{condition} AND {key} = " + values.get(key, f"'{UUID(int=number)}'")


async def read_values(tx: Connection, moving: MovingStatement) -> list[Any]:
    return [
        await tx.fetchval(each.text) if isinstance(each, ValueQuery) else each
        for each in moving.values
    ]


async def run(
    tx: Connection, moving: MovingStatement, values: Sequence[Any], text: str | None = None
) -> list[tuple[int, int]]:
    """Run the statement. Return which things moved: those in its result, or those whose row
    changed."""
    before = await _read_rows(tx, moving)
    answer = await tx.fetch(text or moving.statement, *values)
    if moving.answers is None:
        after = await _read_rows(tx, moving, moving.becomes)
        is_removed = moving.becomes == "true"
        return sorted(
            each for each in before if after.get(each, is_removed or before[each]) != before[each]
        )
    moves_all = moving.whose in ("MERCHANTS", "FIRST")
    return sorted(
        (row.get("merchant_id", FIRST), 0 if moves_all else _number(row[moving.answers]))
        for row in answer
    )


async def _read_rows(
    tx: Connection, moving: MovingStatement, such: str = "true"
) -> dict[tuple[int, int], str]:
    statement = f"SELECT merchant_id, {moving.key}, t::text AS row FROM {moving.table} t"
    rows = await tx.fetch(f"{statement} WHERE {such}")
    return {(row["merchant_id"], _number(row[moving.key])): row["row"] for row in rows}


def _number(key: Any) -> int:
    if isinstance(key, UUID):
        return key.int
    if isinstance(key, bytes):
        return key[-1]
    return int(key.removeprefix("x")) if isinstance(key, str) else int(key)
