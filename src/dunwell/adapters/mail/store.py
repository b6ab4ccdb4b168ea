"""The SQL of the progress in each mailbox."""

from dataclasses import dataclass
from datetime import datetime

from dunwell.platform.database.database import Connection

# By primary key.
_LOAD = "SELECT folder, validity, last_uid FROM mailbox_places WHERE line = $1"
# Within one UIDVALIDITY the number never decreases, so that two processes do not undo each other's
# progress.
_SAVE = """
INSERT INTO mailbox_places (line, folder, validity, last_uid, read_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (line) DO UPDATE
SET folder = excluded.folder, validity = excluded.validity, read_at = excluded.read_at,
    last_uid = CASE
        WHEN (mailbox_places.folder, mailbox_places.validity)
             = (excluded.folder, excluded.validity)
        THEN greatest(mailbox_places.last_uid, excluded.last_uid)
        ELSE excluded.last_uid
    END
"""


@dataclass(frozen=True, slots=True)
class MailboxPlace:
    folder: str
    # IMAP's UIDVALIDITY. The numbers of messages are valid only within it.
    validity: int
    last_uid: int


async def load_place(connection: Connection, line: str) -> MailboxPlace | None:
    """Return the progress, None if nothing was fetched yet."""
    row = await connection.fetchrow(_LOAD, line)
    return None if row is None else MailboxPlace(**row)


async def save_place(tx: Connection, line: str, place: MailboxPlace, read_at: datetime) -> None:
    await tx.execute(_SAVE, line, place.folder, place.validity, place.last_uid, read_at)
