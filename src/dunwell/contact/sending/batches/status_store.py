"""The SQL of status files: who reads a line's, which were read, and what came of it."""

from datetime import datetime

from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease, LeasedTable
from dunwell.platform.database.sql import compose

_READERS = LeasedTable("letter_status_readers", ("line",), ends_at="lease_until")
_SAVE = """
INSERT INTO letter_status_files (line, name, sha256, read_at, outcome, reports, reason)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (line, name, sha256) DO NOTHING
"""
# Whose lease has run out has died.
_LEASE = compose(
    """
INSERT INTO letter_status_readers (line, lease_id, lease_until)
VALUES ($1, $2, $3)
ON CONFLICT (line) DO UPDATE SET {hold}
WHERE {has_ended}
RETURNING line
""",
    hold=_READERS.hold("$3", "$2"),
    has_ended=_READERS.has_ended("$4", "letter_status_readers."),
)
_RENEW = _READERS.renew()
_RELEASE = compose(
    "DELETE FROM letter_status_readers WHERE line = $1 AND {is_held}",
    is_held=_READERS.is_held("$2"),
)
_SWEEP = """
DELETE FROM letter_status_files WHERE (line, name, sha256) IN
    (SELECT line, name, sha256 FROM letter_status_files WHERE read_at < $1
     ORDER BY read_at LIMIT $2)
"""


async def lease_line(tx: Connection, line: str, lease: Lease, real_now: datetime) -> bool:
    """False: another worker reads its status files."""
    return await tx.fetchval(_LEASE, line, lease.lease_id, lease.until, real_now) is not None


async def renew_line(tx: Connection, line: str, lease: Lease, until: datetime) -> None:
    await tx.execute(_RENEW, line, lease.lease_id, until)


async def release_line(tx: Connection, line: str, lease: Lease) -> None:
    await tx.execute(_RELEASE, line, lease.lease_id)


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
