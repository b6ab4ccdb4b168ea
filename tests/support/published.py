"""Give a new merchant a published workflow by inserting the rows that publishing it wrote before.

Most tests begin with such a merchant. Publishing takes some 25 statements, inserting its rows takes
one. The rows are recorded when a definition is first published in this test process; every merchant
gets new ids.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.database.database import Connection

# The tables that publishing writes to, in the order of their foreign keys.
_TABLES = (
    "workflows", "workflow_versions", "workflow_draft_changes", "assignment_rules",
    "assignment_rule_changes", "audit_log",
)  # fmt: skip
_LIST_COLUMNS = """
SELECT table_name, string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) AS columns
FROM information_schema.columns
WHERE table_schema = 'public' AND column_name NOT IN ('merchant_id', 'written_by')
    AND table_name IN (SELECT table_name FROM information_schema.columns
                       WHERE table_schema = 'public' AND column_name = 'merchant_id')
GROUP BY table_name
"""
_COLLECT = """
SELECT coalesce(jsonb_agg(to_jsonb(t) - 'merchant_id' - 'written_by'), '[]')::text
FROM {table} t WHERE merchant_id = $1
"""
_INSERT = """
{name} AS (
    INSERT INTO {name} (merchant_id, {columns})
    SELECT $1, {columns} FROM jsonb_populate_recordset(NULL::{name}, $2::text::jsonb -> '{name}')
)"""
_RAISE = """
UPDATE merchants SET revision = $3 WHERE merchant_id = $1
"""
_IDS = re.compile(r'"(?:workflow|version|change|audit)_id": "([0-9a-f-]{36})"')


@dataclass(frozen=True)
class RecordedPublication:
    """The rows that publishing wrote, as JSON by table, and the ids among them in their order."""

    version: Version
    rows: str
    ids: Sequence[str]
    insert: str
    revision: int

    async def insert_for(
        self, tx: Connection, merchant_id: int, new_ids: Sequence[UUID]
    ) -> Version:
        """Insert the rows for a merchant without workflows and return the version. `new_ids` has
        an id for each of `ids`."""
        rows, ids = self.rows, dict(zip(self.ids, new_ids, strict=True))
        for old, new in ids.items():
            rows = rows.replace(old, str(new))
        await tx.execute(self.insert, merchant_id, rows, self.revision)
        return replace(
            self.version,
            workflow_id=ids[str(self.version.workflow_id)],
            version_id=ids[str(self.version.version_id)],
        )


async def record_publication(
    tx: Connection, merchant_id: int, version: Version
) -> RecordedPublication | None:
    """Record what publishing has written. Return None if the merchant has rows of other use cases,
    which would be recorded too."""
    columns = {row["table_name"]: row["columns"] for row in await tx.fetch(_LIST_COLUMNS)}
    columns.pop("merchants")
    found = {
        table: await tx.fetchval(_COLLECT.format(table=table), merchant_id) for table in columns
    }
    used = {table for table, rows in found.items() if rows != "[]"}
    if not used <= set(_TABLES):
        return None
    rows = "{" + ", ".join(f'"{table}": {found[table]}' for table in _TABLES) + "}"
    inserts = ",".join(_INSERT.format(name=name, columns=columns[name]) for name in _TABLES)
    revision = await tx.fetchval(
        "SELECT revision FROM merchants WHERE merchant_id = $1", merchant_id
    )
    return RecordedPublication(
        version, rows, sorted(set(_IDS.findall(rows))), f"WITH {inserts}{_RAISE}", revision
    )
