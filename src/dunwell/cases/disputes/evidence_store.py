"""The SQL of disputes' files: rows in, values out, no rules.

A file is an upload that a dispute uses; it stays as long as the dispute does.
"""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.actor import Actor
from dunwell.cases.disputes.evidence import EvidenceFile
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

_COLUMNS = "f.file_id, u.file_name AS name, u.content_type, u.size_bytes, f.added_at, u.storage_key"
_JOINED = "dispute_files f JOIN uploads u ON u.merchant_id = $1 AND u.ticket_id = f.ticket_id"
# Of several disputes, each one's oldest first; a debtor's page nests it. By primary keys.
LOAD_FILES = compose(
    """
SELECT f.dispute_id, {columns}
FROM {joined}
WHERE f.merchant_id = $1 AND f.dispute_id = ANY($2::uuid[])
ORDER BY f.added_at, f.file_id
""",
    columns=_COLUMNS,
    joined=_JOINED,
)
# By primary keys; the dispute must be the claim's.
_LOAD_ONE = compose(
    """
SELECT {columns}
FROM {joined}
JOIN disputes d ON d.merchant_id = $1 AND d.dispute_id = f.dispute_id
WHERE f.merchant_id = $1 AND d.claim_id = $2 AND f.dispute_id = $3 AND f.file_id = $4
""",
    columns=_COLUMNS,
    joined=_JOINED,
)
# By primary key.
_COUNT = "SELECT count(*) FROM dispute_files WHERE merchant_id = $1 AND dispute_id = $2"
# By primary keys.
_LOAD_DIGESTS = compose(
    "SELECT u.sha256 FROM {joined} WHERE f.merchant_id = $1 AND f.dispute_id = $2",
    joined=_JOINED,
)
_SAVE = """
INSERT INTO dispute_files
    (merchant_id, dispute_id, file_id, ticket_id, added_at, actor_kind, actor_id)
SELECT $1, $2, given.file_id, given.ticket_id, $5, $6, $7
FROM unnest($3::uuid[], $4::uuid[]) AS given (file_id, ticket_id)
"""


async def load_evidence(
    tx: Connection, merchant_id: int, dispute_ids: Collection[UUID]
) -> dict[UUID, list[EvidenceFile]]:
    """The files of disputes that have any, the oldest first."""
    found: dict[UUID, list[EvidenceFile]] = {}
    for row in await tx.fetch(LOAD_FILES, merchant_id, list(dispute_ids)):
        found.setdefault(row["dispute_id"], []).append(_read(row))
    return found


async def load_evidence_file(
    tx: Connection, merchant_id: int, claim_id: int, dispute_id: UUID, file_id: UUID
) -> EvidenceFile | None:
    row = await tx.fetchrow(_LOAD_ONE, merchant_id, claim_id, dispute_id, file_id)
    return None if row is None else _read(row)


async def count_evidence(tx: Connection, merchant_id: int, dispute_id: UUID) -> int:
    count: int = await tx.fetchval(_COUNT, merchant_id, dispute_id)
    return count


async def load_evidence_digests(tx: Connection, merchant_id: int, dispute_id: UUID) -> set[bytes]:
    """What the dispute's files are known by (SHA-256)."""
    return {row["sha256"] for row in await tx.fetch(_LOAD_DIGESTS, merchant_id, dispute_id)}


async def save_evidence(
    tx: Connection, dispute: tuple[int, UUID], tickets: dict[UUID, UUID], now: datetime,
    actor: Actor,
) -> None:  # fmt: skip
    """To a dispute whose claim is locked. dispute: the merchant's id and its own; tickets: the new
    files' ids, and the uploads'."""
    await tx.execute(
        _SAVE, *dispute, list(tickets), list(tickets.values()), now, actor.kind, actor.actor_id
    )


def _read(row: Row) -> EvidenceFile:
    return EvidenceFile(
        file_id=row["file_id"],
        name=row["name"],
        content_type=row["content_type"],
        size_bytes=row["size_bytes"],
        added_at=row["added_at"],
        storage_key=row["storage_key"],
    )
