"""The SQL of status files: which were read, and what came of it."""

from datetime import datetime

from dunwell.kit.db import Connection

_SAVE = """
INSERT INTO letter_status_files (line, name, sha256, read_at, outcome, reports, reason)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (line, name, sha256) DO NOTHING
"""
_SWEEP = """
DELETE FROM letter_status_files WHERE (line, name, sha256) IN
    (SELECT line, name, sha256 FROM letter_status_files WHERE read_at < $1
     ORDER BY read_at LIMIT $2)
"""


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
