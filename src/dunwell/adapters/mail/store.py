"""The SQL that stores how far each mailbox was read."""

from dataclasses import dataclass
from datetime import datetime

from dunwell.platform.database.database import Connection

# Uses the primary key.
_LOAD = "SELECT folder, uid_validity, last_uid FROM mailbox_positions WHERE provider = $1"
# Within one UIDVALIDITY the number never decreases, so that two processes do not undo each other's
# progress.
_SAVE = """
INSERT INTO mailbox_positions (provider, folder, uid_validity, last_uid, read_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (provider) DO UPDATE
SET folder = excluded.folder, uid_validity = excluded.uid_validity, read_at = excluded.read_at,
    last_uid = CASE
        WHEN (mailbox_positions.folder, mailbox_positions.uid_validity)
             = (excluded.folder, excluded.uid_validity)
        THEN greatest(mailbox_positions.last_uid, excluded.last_uid)
        ELSE excluded.last_uid
    END
"""


@dataclass(frozen=True, slots=True)
class MailboxProgress:
    folder: str
    # IMAP's UIDVALIDITY. The numbers of messages are valid only within it.
    uid_validity: int
    last_uid: int


async def find_progress(connection: Connection, provider: str) -> MailboxProgress | None:
    """Return the progress, None if nothing was fetched yet."""
    row = await connection.fetchrow(_LOAD, provider)
    return None if row is None else MailboxProgress(**row)


async def save_progress(
    tx: Connection, provider: str, progress: MailboxProgress, read_at: datetime
) -> None:
    await tx.execute(
        _SAVE, provider, progress.folder, progress.uid_validity, progress.last_uid, read_at
    )
