"""Answers as they came, as `kit.resealing` goes over them."""

from collections.abc import Mapping
from uuid import UUID

import msgspec
import structlog

from dunwell.cases.replies.sealing import reseal_reply
from dunwell.platform.crypto import KeyRing, SealBroken, read_version
from dunwell.platform.database.database import Connection, Database
from dunwell.platform.resealing import PART_SIZE, Part, RowKey

# By primary key. Each may be of megabytes.
_LOAD_PART = """
SELECT merchant_id, reply_id, raw_sealed
FROM debtor_replies
WHERE (merchant_id, reply_id) > ($1, $2)
ORDER BY merchant_id, reply_id
LIMIT $3
"""
_SAVE = """
UPDATE debtor_replies r SET raw_sealed = n.new
FROM unnest($1::integer[], $2::uuid[], $3::bytea[], $4::bytea[]) AS n (merchant_id, id, old, new)
WHERE r.merchant_id = n.merchant_id AND r.reply_id = n.id AND r.raw_sealed = n.old
"""
# The version stands in the first bytes.
_LOAD_HEADS = "SELECT substring(raw_sealed FROM 1 FOR 32) FROM debtor_replies"
_MOST_AT_ONCE = 20

log = structlog.get_logger(__name__)


class _Row(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    reply_id: UUID
    sealed: bytes


class SealedReplies:
    name = "answers of debtors"

    async def count(self, tx: Connection) -> Mapping[int, int]:
        counts: dict[int, int] = {}
        for (head,) in await tx.fetch(_LOAD_HEADS):
            version = read_version(head)
            counts[version] = counts.get(version, 0) + 1
        return counts

    async def reseal(self, database: Database, keys: KeyRing, after: RowKey) -> Part:
        most = min(PART_SIZE, _MOST_AT_ONCE)
        async with database.transaction() as tx:
            rows = [_Row(*row) for row in await tx.fetch(_LOAD_PART, *after, most)]
            if not rows:
                return Part(None)
            changed = [(row, new) for row in rows if (new := _reseal(keys, row)) != row.sealed]
            if changed:
                values = [(row.merchant_id, row.reply_id, row.sealed, new) for row, new in changed]
                await tx.execute(_SAVE, *map(list, zip(*values, strict=True)))
        return Part((rows[-1].merchant_id, rows[-1].reply_id), len(changed))


def _reseal(keys: KeyRing, row: _Row) -> bytes:
    """As it is, one that does not open: somebody has to look."""
    try:
        return reseal_reply(keys, row.merchant_id, row.reply_id, row.sealed)
    except SealBroken:
        log.exception("cannot be opened")
        return row.sealed
