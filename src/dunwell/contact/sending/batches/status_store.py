"""The SQL of status files: who reads a line's, which were read, and what came of it."""

from datetime import datetime

from dunwell.contact.sending.lease import Lease
from dunwell.platform.database.database import Connection

_SAVE = """
INSERT INTO letter_status_files (line, name, sha256, read_at, outcome, reports, reason)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (line, name, sha256) DO NOTHING
"""
# Whose lease has run out has died.
_TAKE = """
INSERT INTO letter_status_readers (line, lease_id, lease_until)
VALUES ($1, $2, $3)
ON CONFLICT (line) DO UPDATE SET lease_id = $2, lease_until = $3
WHERE letter_status_readers.lease_until < $4
RETURNING line
"""
_RENEW = """
UPDATE letter_status_readers SET lease_until = $3 WHERE line = $1 AND lease_id = $2
"""
_GIVE_BACK = "DELETE FROM letter_status_readers WHERE line = $1 AND lease_id = $2"
_SWEEP = """
DELETE FROM letter_status_files WHERE (line, name, sha256) IN
    (SELECT line, name, sha256 FROM letter_status_files WHERE read_at < $1
     ORDER BY read_at LIMIT $2)
"""


async def take_line(tx: Connection, line: str, lease: Lease, real_now: datetime) -> bool:
    """False: another worker reads its status files."""
    return await tx.fetchval(_TAKE, line, lease.lease_id, lease.until, real_now) is not None


async def renew_line(tx: Connection, line: str, lease: Lease, until: datetime) -> None:
    await tx.execute(_RENEW, line, lease.lease_id, until)


async def give_line_back(tx: Connection, line: str, lease: Lease) -> None:
    await tx.execute(_GIVE_BACK, line, lease.lease_id)


async def save_read(
    tx: Connection, line: str, name: str, digest: bytes, *, reports: int, real_now: datetime
) -> None:
    await tx.execute(_SAVE, line, name, digest, real_now, "READ", reports, None)


async def save_refused(
    tx: Connection, line: str, name: str, digest: bytes, *, reason: str, real_now: datetime
) -> None:
    await tx.execute(_SAVE, line, name, digest, real_now, "REFUSED", 0, reason)


async def sweep_status_files(tx: Connection, before: datetime, limit: int) -> int:
    return int((await tx.execute(_SWEEP, before, limit)).split()[-1])
