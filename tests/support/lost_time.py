"""Letters as they were when a backup was taken, and what a restore makes of them: rows go back, the
print service's folder does not."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dunwell.kit.resources import Resources
from dunwell.recovery.hold import hold, resume

# In the order that foreign keys want.
_TABLES = ("letter_batches", "letter_batch_items", "letters_found")
_KEEP = "SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM {0} t"
_PUT_BACK = "INSERT INTO {0} SELECT * FROM jsonb_populate_recordset(NULL::{0}, $1)"
_CONTACTS_KEPT = "SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM communications t"
_CONTACTS_BACK = """
UPDATE communications c SET state = k.state, settled_at = k.settled_at, answer = k.answer,
    handed_over_at = k.handed_over_at, line = k.line
FROM jsonb_populate_recordset(NULL::communications, $1) k
WHERE (c.merchant_id, c.communication_id) = (k.merchant_id, k.communication_id)
"""

# The ledger of what was sent then is lost too.
_NO_TRIGGERS = "SET LOCAL session_replication_role = replica"
_UNWRITE = """
DELETE FROM contact_ledger l
USING communications c
WHERE (c.merchant_id, c.claim_id, c.run, c.step_id) = (l.merchant_id, l.claim_id, l.run, l.step_id)
  AND c.state = 'PLANNED'
"""


@dataclass(frozen=True)
class Backup:
    taken_at: datetime
    rows: Mapping[str, Any]
    contacts: Any


async def back_up(resources: Resources) -> Backup:
    async with resources.database.connection() as connection:
        rows = {table: await connection.fetchval(_KEEP.format(table)) for table in _TABLES}
        contacts = await connection.fetchval(_CONTACTS_KEPT)
    return Backup(resources.clock.now(), rows, contacts)


async def restore(resources: Resources, backup: Backup) -> None:
    """And all that was lost is said to have ended just now."""
    async with resources.database.transaction() as tx:
        for table in reversed(_TABLES):
            await tx.execute(f"DELETE FROM {table}")
        for table in _TABLES:
            await tx.execute(_PUT_BACK.format(table), backup.rows[table])
        await tx.execute(_CONTACTS_BACK, backup.contacts)
        await tx.execute(_NO_TRIGGERS)
        await tx.execute(_UNWRITE)
    await hold(resources, backup.taken_at)
    await resume(resources, resources.clock.now())
