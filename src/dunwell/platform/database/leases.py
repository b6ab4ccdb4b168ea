"""Leases: a worker holds a row for some seconds, and no other worker takes the row meanwhile.

A lease is written into the row itself: when it ends, and the id of the lease. It outlives the
transaction that wrote it, so the holder can call other systems without an open transaction. When a
worker dies, its leases run out and the rows are free again. Whoever records an outcome must check
that the row still carries the lease, because another worker may have taken the row meanwhile.

Each table with leases is declared once as a `LeasedTable`. The usual statements are composed from
that declaration. A statement that does more uses its conditions and assignments. Pure.
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
    # By a clock that also runs while the process is suspended.
    begun_at: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class LeasedTable:
    """The columns of a table whose rows are leased. `keys` is its primary key.

    `ends_at` is the column of the instant at which the lease ends. It may be the column that says
    when the row is due: a lease then makes the row due again when it runs out.

    `holder` is the column of the lease's id. A table without one identifies a lease by its end:
    the next lease of the row ends later. Such a lease cannot be renewed.

    `held_state` is the only value of the column `state` in which a row is held, if there is one.
    """

    name: str
    keys: tuple[str, ...]
    ends_at: str
    holder: str | None = "lease_id"
    held_state: str | None = None

    def has_ended(self, now: str, row: str = "") -> str:
        """The condition that a row is due, or that its lease has run out.

        `now` and the like are parameters of the statement. `row` is the row's alias with a dot.
        """
        return f"{row}{self.ends_at} <= {now}"

    def is_free(self, now: str, row: str = "") -> str:
        """The condition that nobody holds a row, where a row without a lease has no end."""
        return f"({row}{self.ends_at} IS NULL OR {self.has_ended(now, row)})"

    def is_held(self, lease: str, row: str = "") -> str:
        """The condition that a row is still held under a lease, given by its id or else its end."""
        is_same = f"{row}{self.holder or self.ends_at} = {lease}"
        return is_same + (f" AND {row}state = '{self.held_state}'" if self.held_state else "")

    def hold(self, until: str, lease: str) -> str:
        """The assignments that write a lease."""
        ends_at = f"{self.ends_at} = {until}"
        return f"{ends_at}, {self.holder} = {lease}" if self.holder else ends_at

    def clear(self, due_at: str = "NULL") -> str:
        """The assignments that end a lease; `due_at` is when the row is due next."""
        return self.hold(due_at, "NULL")

    def lease(self, condition: str, *, limit: str, returning: str, changes: str = "") -> str:
        """Lease rows whose time has come, those first that have waited longest.

        The parameters begin with the present, the end of the lease and, if the table has a column
        for it, the lease's id. The leased row is called `leased`.
        """
        held = self.hold("$2", "$3")
        # Rows that another transaction has locked are skipped: workers never wait for each other.
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

    def renew(self, *, many: bool = False) -> str:
        """Renew a lease; the keys of the renewed rows are returned.

        The parameters are the row's keys, the lease's id and the new end. With `many`, the last
        key is an array.
        """
        following = len(self.keys) + 1
        # A row that another transaction has locked is skipped: it keeps its end for now.
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
            is_named=self._is_named(many=many),
            is_held=self.is_held(f"${following}"),
            ends_at=self.ends_at,
            until=f"${following + 1}",
            is_same_row=self._is_same_row("renewed", "held"),
            returning=", ".join(f"renewed.{key}" for key in self.keys),
        )

    def release(self, *, many: bool = False) -> str:
        """End a lease whose row is due again at an instant; the parameters are as of `renew`.

        With `many`, the lease's id is an array, too.
        """
        following = len(self.keys) + 1
        lease = f"${following}"
        return compose(
            "UPDATE {table} SET {assignments} WHERE {is_named} AND {is_held}",
            table=self.name,
            assignments=self.clear(f"${following + 1}"),
            is_named=self._is_named(many=many),
            is_held=self.is_held(f"ANY ({lease}::uuid[])" if many else lease),
        )

    def _is_named(self, *, many: bool) -> str:
        tests = [f"{key} = ${place}" for place, key in enumerate(self.keys, 1)]
        if many:
            tests[-1] = f"{self.keys[-1]} = ANY (${len(self.keys)}::uuid[])"
        return " AND ".join(tests)

    def _is_same_row(self, left: str, right: str) -> str:
        return " AND ".join(f"{left}.{key} = {right}.{key}" for key in self.keys)
