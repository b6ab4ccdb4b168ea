"""The files attached to claims, as messages take them along. SQL in, values out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from dunwell.core.files.names import name_for_reader
from dunwell.platform.database.database import Connection, Row

# By primary keys.
_OF_CLAIMS = """
SELECT a.claim_id, a.attachment_id, u.friendly_name, u.content_type, u.storage_key, u.size_bytes
FROM attachments a
JOIN uploads u ON u.merchant_id = $1 AND u.ticket_id = a.ticket_id
WHERE a.merchant_id = $1 AND a.claim_id = ANY($2::bigint[])
ORDER BY a.claim_id, a.position
"""
_BY_ID = """
SELECT a.claim_id, a.attachment_id, u.friendly_name, u.content_type, u.storage_key, u.size_bytes
FROM attachments a
JOIN uploads u ON u.merchant_id = $1 AND u.ticket_id = a.ticket_id
WHERE a.merchant_id = $1 AND a.claim_id = ANY($2::bigint[])
  AND a.attachment_id = ANY($3::uuid[])
"""


@dataclass(frozen=True, slots=True)
class Attachment:
    attachment_id: UUID
    friendly_name: str
    content_type: str
    storage_key: str
    size_bytes: int

    @property
    def file_name(self) -> str:
        return name_for_reader(self.friendly_name, self.content_type)


async def load_attachments(
    tx: Connection, merchant_id: int, claim_ids: Collection[int]
) -> dict[int, list[Attachment]]:
    """The attachments of claims that have any, in their order."""
    found: dict[int, list[Attachment]] = {}
    for row in await tx.fetch(_OF_CLAIMS, merchant_id, list(claim_ids)):
        found.setdefault(row["claim_id"], []).append(_read(row))
    return found


async def find_attachments(
    tx: Connection, merchant_id: int, wanted: Mapping[int, Collection[UUID]]
) -> dict[UUID, Attachment]:
    """Attachments by claim and id; one that was removed since is not among them."""
    ids = [attachment_id for some in wanted.values() for attachment_id in some]
    rows = await tx.fetch(_BY_ID, merchant_id, list(wanted), ids)
    return {row["attachment_id"]: _read(row) for row in rows}


def _read(row: Row) -> Attachment:
    return Attachment(
        attachment_id=row["attachment_id"],
        friendly_name=row["friendly_name"],
        content_type=row["content_type"],
        storage_key=row["storage_key"],
        size_bytes=row["size_bytes"],
    )
