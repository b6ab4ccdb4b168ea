"""Leases: a worker holds a row for some seconds, and no other worker processes it in the meantime.

A lease is stored in the row itself, as the instant at which it ends and the lease's id. It outlives
the transaction that wrote it, so the holder can call other systems without an open transaction.
When a worker dies, its leases expire and the rows are free again. A worker that records an outcome
must check that the row still has its lease, because another worker may have leased the row in the
meantime.

Each table with leases is declared once as a `LeasedTable`, which composes the usual statements. A
statement that does more uses the declaration's conditions and assignments. Pure.
"""

import time
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from dunwell.platform.database.sql import compose


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on rows until an instant, in real time."""

    lease_id: UUID
    until: datetime
    # From a clock that also runs while the process is suspended.
    started_at: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class LeasedTable:
    """The columns of a table whose rows are leased. `keys` is its primary key.

    `ends_at` is the column of the instant at which the lease ends. It may also be the column that
    says when the row is due: the row then becomes due again when the lease expires.

    `holder` is the column of the lease's id. In a table without one, the end of a lease identifies
    it, because the next lease of the row ends later. Such a lease cannot be renewed.

    `held_state` is the only value of the column `state` in which a row can be held, if there is
    one.
    """

    name: str
    keys: tuple[str, ...]
    ends_at: str
    holder: str | None = "lease_id"
    held_state: str | None = None

    def has_ended(self, now: str, row: str = "") -> str:
        """Return the condition that a row is due or that its lease has expired.

        `now` and similar arguments are parameters of the statement. `row` is the row's alias with a
        dot.
        """
        return f"{row}{self.ends_at} <= {now}"

    def is_free(self, now: str, row: str = "") -> str:
        """Return the condition that a row is not held. The end of a row without a lease is NULL."""
        return f"({row}{self.ends_at} IS NULL OR {self.has_ended(now, row)})"

    def is_held(self, lease: str, row: str = "") -> str:
        """Return the condition that a row is still held under a lease, which is identified by its
        id or otherwise by its end."""
        is_same = f"{row}{self.holder or self.ends_at} = {lease}"
        return is_same + (f" AND {row}state = '{self.held_state}'" if self.held_state else "")

    def hold(self, until: str, lease: str) -> str:
        """Return the assignments that write a lease."""
        ends_at = f"{self.ends_at} = {until}"
        return f"{ends_at}, {self.holder} = {lease}" if self.holder else ends_at

    def clear(self, due_at: str = "NULL") -> str:
        """Return the assignments that end a lease. `due_at` is when the row is due next."""
        return self.hold(due_at, "NULL")

    def lease(self, condition: str, *, limit: str, returning: str, changes: str = "") -> str:
        """Return the statement that leases due rows, starting with those that have waited longest.

        Its first parameters are the current instant, the end of the lease and, if the table has a
        column for it, the lease's id. The leased row is called `leased`.
        """
        held = self.hold("$2", "$3")
        # Rows that another transaction has locked are skipped, so that workers never wait for each
        # other.
        return compose(
            """
WITH free AS MATERIALIZED (
    SELECT {keys}
    FROM {table}
    WHERE {has_ended} AND {condition}
    ORDER BY {ends_at}
    LIMIT {limit}
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE {table} leased
SET {assignments}
FROM free
WHERE {is_same_row}
RETURNING {returning}
""",
            keys=", ".join(self.keys),
            table=self.name,
            has_ended=self.has_ended("$1"),
            condition=condition,
            ends_at=self.ends_at,
            limit=limit,
            assignments=f"{held}, {changes}" if changes else held,
            is_same_row=self._is_same_row("leased", "free"),
            returning=returning,
        )

    def renew(self, *, takes_key_array: bool = False) -> str:
        """Return the statement that renews a lease and returns the keys of the renewed rows.

        The parameters are the row's keys, the lease's id and the new end. With
        `takes_key_array`, the last key is an array.
        """
        following = len(self.keys) + 1
        # Skip a row that another transaction has locked. Its lease keeps the old end for now.
        return compose(
            """
WITH held AS (
    SELECT {keys}
    FROM {table}
    WHERE {is_named} AND {is_held}
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE {table} renewed
SET {ends_at} = {until}
FROM held
WHERE {is_same_row}
RETURNING {returning}
""",
            keys=", ".join(self.keys),
            table=self.name,
            is_named=self._is_named(takes_key_array=takes_key_array),
            is_held=self.is_held(f"${following}"),
            ends_at=self.ends_at,
            until=f"${following + 1}",
            is_same_row=self._is_same_row("renewed", "held"),
            returning=", ".join(f"renewed.{key}" for key in self.keys),
        )

    def release(self, *, takes_key_array: bool = False) -> str:
        """Return the statement that ends a lease and sets when the row is due again.

        The parameters are the row's keys, the lease's id and the next due time, or NULL. With
        `takes_key_array`, the last key and the lease's id are arrays.
        """
        following = len(self.keys) + 1
        lease = f"${following}"
        return compose(
            "UPDATE {table} SET {assignments} WHERE {is_named} AND {is_held}",
            table=self.name,
            assignments=self.clear(f"${following + 1}"),
            is_named=self._is_named(takes_key_array=takes_key_array),
            is_held=self.is_held(f"ANY ({lease}::uuid[])" if takes_key_array else lease),
        )

    def _is_named(self, *, takes_key_array: bool) -> str:
        tests = [f"{key} = ${place}" for place, key in enumerate(self.keys, 1)]
        if takes_key_array:
            tests[-1] = f"{self.keys[-1]} = ANY (${len(self.keys)}::uuid[])"
        return " AND ".join(tests)

    def _is_same_row(self, left: str, right: str) -> str:
        return " AND ".join(f"{left}.{key} = {right}.{key}" for key in self.keys)
