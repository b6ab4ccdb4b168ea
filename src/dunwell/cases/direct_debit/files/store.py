"""The SQL of the files with orders for the bank."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from dunwell.cases.direct_debit.debit_values import Collection, SequenceType
from dunwell.cases.direct_debit.store import build_collection
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose


class DebitFileState(StrEnum):
    # A second user has to release the file.
    PROPOSED = "PROPOSED"
    # The file waits to be delivered or downloaded.
    RELEASED = "RELEASED"
    DELIVERED = "DELIVERED"


@dataclass(frozen=True, slots=True)
class DebitFile:
    """An order for the bank, without its content."""

    file_id: UUID
    message_id: str
    state: DebitFileState
    debits: int
    amount_cents: int
    created_at: datetime
    # The kind and the id of the actor: "USER:" and the user's id. The same for `released_by`.
    created_by: str
    released_at: datetime | None = None
    released_by: str | None = None
    # The name of the bank connection. None if users download the file.
    deliver_to: str | None = None
    # When the file was complete under its temporary name; from then on the bank may get it. Both
    # times are real time.
    handed_over_at: datetime | None = None
    delivered_at: datetime | None = None
    # Why the last attempt to deliver the file failed.
    problem: str | None = None

    @property
    def file_name(self) -> str:
        return f"{self.message_id}.xml"


@dataclass(frozen=True, slots=True)
class OrderedCollection:
    """How a collection is ordered in a file."""

    collection: Collection
    sequence_type: SequenceType
    batch_id: str


_COLUMNS = ", ".join(each.name for each in fields(DebitFile))
_INSERT = compose(
    """
INSERT INTO debit_files (merchant_id, {columns}, content_sealed, content_digest, next_attempt_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
""",
    columns=_COLUMNS,
)
# Uses the primary key.
_FIND = compose(
    """
SELECT {columns}
FROM debit_files
WHERE merchant_id = $1 AND file_id = $2
""",
    columns=_COLUMNS,
)
_LOCK = compose("{find} FOR NO KEY UPDATE", find=_FIND)
# Uses the primary key.
_LOAD_CONTENT = """
SELECT content_sealed FROM debit_files WHERE merchant_id = $1 AND file_id = $2
"""
_SAVE_RELEASED = """
UPDATE debit_files
SET state = 'RELEASED', released_at = $3, released_by = $4, debits = $5, amount_cents = $6,
    content_sealed = $7, content_digest = $8, deliver_to = $9, next_attempt_at = $10
WHERE merchant_id = $1 AND file_id = $2 AND state = 'PROPOSED'
"""
_DELETE_PROPOSED = """
DELETE FROM debit_files WHERE merchant_id = $1 AND file_id = $2 AND state = 'PROPOSED'
"""
# Deletes a released file that lost all its debits before it was handed over.
_DELETE_EMPTY = """
DELETE FROM debit_files
WHERE merchant_id = $1 AND file_id = $2 AND state = 'RELEASED' AND handed_over_at IS NULL
"""
_SAVE_REWRITTEN = """
UPDATE debit_files
SET debits = $3, amount_cents = $4, content_sealed = $5, content_digest = $6
WHERE merchant_id = $1 AND file_id = $2 AND state = 'RELEASED' AND handed_over_at IS NULL
"""
# Uses the index debit_collections_file.
_LIST_COLLECTIONS = """
SELECT collection_id, mandate_id, claim_id, modality_id, instalment, due_on, collected_on,
       amount_cents, currency, state, end_to_end_id, sequence_type, file_id, batch_id, payment_id,
       return_reason, cancel_reason, notified_at
FROM debit_collections
WHERE merchant_id = $1 AND file_id = $2
ORDER BY collected_on, collection_id
"""
# Uses the unique key debit_files_message and then the index debit_collections_file.
_FIND_FILE_ID = "SELECT file_id FROM debit_files WHERE merchant_id = $1 AND message_id = $2"
_PUT_INTO_FILE = """
UPDATE debit_collections
SET file_id = $3, changed_at = $4
WHERE merchant_id = $1 AND collection_id = ANY($2::uuid[])
  AND state = 'PRENOTIFIED' AND file_id IS NULL
"""
# Uses the index debit_collections_file.
_TAKE_OUT = """
UPDATE debit_collections
SET file_id = NULL
WHERE merchant_id = $1 AND file_id = $2 AND state = 'PRENOTIFIED'
"""
# The state is compared, so that no collection gets into two files.
_SAVE_ORDERED = """
UPDATE debit_collections c
SET state = 'RELEASED', file_id = $2, sequence_type = o.sequence_type, batch_id = o.batch_id,
    changed_at = $3
FROM unnest($4::uuid[], $5::text[], $6::text[]) AS o (collection_id, sequence_type, batch_id)
WHERE c.merchant_id = $1 AND c.collection_id = o.collection_id AND c.state = 'PRENOTIFIED'
RETURNING c.collection_id
"""
# Uses the index debit_collections_file.
_SAVE_DELIVERED_COLLECTIONS = """
UPDATE debit_collections
SET state = 'DELIVERED', changed_at = $3
WHERE merchant_id = $1 AND file_id = $2 AND state = 'RELEASED'
"""
_SAVE_DELIVERED = """
UPDATE debit_files
SET state = 'DELIVERED', delivered_at = $3, deliver_to = $4, next_attempt_at = NULL,
    problem = NULL
WHERE merchant_id = $1 AND file_id = $2 AND state = 'RELEASED'
RETURNING file_id
"""
_SAVE_HANDED_OVER = """
UPDATE debit_files
SET handed_over_at = $3
WHERE merchant_id = $1 AND file_id = $2 AND state = 'RELEASED'
RETURNING file_id
"""
_SAVE_PROBLEM = "UPDATE debit_files SET problem = $3 WHERE merchant_id = $1 AND file_id = $2"
# Over all merchants. Uses the index debit_files_attempt_anywhere.
_LIST_MERCHANTS = """
SELECT DISTINCT merchant_id FROM debit_files WHERE next_attempt_at <= $1 LIMIT $2
"""
# Uses the index debit_files_attempt.
_LEASE = compose(
    """
WITH due AS (
    SELECT file_id AS due_id
    FROM debit_files
    WHERE merchant_id = $1 AND next_attempt_at <= $2
    ORDER BY next_attempt_at
    LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE debit_files f
SET next_attempt_at = $3
FROM due
WHERE f.merchant_id = $1 AND f.file_id = due.due_id
RETURNING {columns}
""",
    columns=_COLUMNS,
)


async def insert_file(
    tx: Connection, merchant_id: int, file: DebitFile, content: tuple[bytes, bytes] | None,
    next_attempt_at: datetime | None,
) -> None:  # fmt: skip
    """Insert a file. `content` is the encrypted document and the digest of the unencrypted one;
    None for a proposal."""
    values = [getattr(file, each.name) for each in fields(DebitFile)]
    await tx.execute(_INSERT, merchant_id, *values, *(content or (None, None)), next_attempt_at)


async def find_file(tx: Connection, merchant_id: int, file_id: UUID) -> DebitFile | None:
    row = await tx.fetchrow(_FIND, merchant_id, file_id)
    return None if row is None else build_file(row)


async def lock_file(tx: Connection, merchant_id: int, file_id: UUID) -> DebitFile | None:
    row = await tx.fetchrow(_LOCK, merchant_id, file_id)
    return None if row is None else build_file(row)


async def load_content(tx: Connection, merchant_id: int, file_id: UUID) -> bytes | None:
    """Return the encrypted document; None for a proposal."""
    content: bytes | None = await tx.fetchval(_LOAD_CONTENT, merchant_id, file_id)
    return content


async def save_released_file(
    tx: Connection, merchant_id: int, file: DebitFile, content: tuple[bytes, bytes],
    next_attempt_at: datetime | None,
) -> None:  # fmt: skip
    """Save that a second user released a proposal. Its row must be locked."""
    await tx.execute(
        _SAVE_RELEASED, merchant_id, file.file_id, file.released_at, file.released_by,
        file.debits, file.amount_cents, *content, file.deliver_to, next_attempt_at,
    )  # fmt: skip


async def delete_proposed_file(tx: Connection, merchant_id: int, file_id: UUID) -> None:
    """Delete a proposal. Its collections wait for their release again."""
    await tx.execute(_TAKE_OUT, merchant_id, file_id)
    await tx.execute(_DELETE_PROPOSED, merchant_id, file_id)


async def delete_empty_file(tx: Connection, merchant_id: int, file_id: UUID) -> None:
    """Delete a released file that has no debits any more. The caller has locked its row and checked
    that the bank does not have the file."""
    await tx.execute(_DELETE_EMPTY, merchant_id, file_id)


async def save_rewritten_file(
    tx: Connection, merchant_id: int, file: DebitFile, content: tuple[bytes, bytes]
) -> None:
    """Save a released file with fewer debits. The caller has locked its row and checked that the
    bank does not have the file."""
    await tx.execute(
        _SAVE_REWRITTEN, merchant_id, file.file_id, file.debits, file.amount_cents, *content
    )


async def list_file_collections(
    tx: Connection, merchant_id: int, file_id: UUID
) -> list[Collection]:
    rows = await tx.fetch(_LIST_COLLECTIONS, merchant_id, file_id)
    return [build_collection(row) for row in rows]


async def list_message_collections(
    tx: Connection, merchant_id: int, message_id: str
) -> list[Collection]:
    """Return the collections of the merchant's file with this message id. The list is empty if
    there is no such file."""
    file_id = await tx.fetchval(_FIND_FILE_ID, merchant_id, message_id)
    return [] if file_id is None else await list_file_collections(tx, merchant_id, file_id)


async def put_into_file(
    tx: Connection, merchant_id: int, file_id: UUID, collections: Sequence[Collection],
    now: datetime,
) -> None:  # fmt: skip
    """Put collections into a proposed file, so that no other file gets them. Their claims must be
    locked."""
    ids = [each.collection_id for each in collections]
    await tx.execute(_PUT_INTO_FILE, merchant_id, ids, file_id, now)


async def save_ordered(
    tx: Connection, merchant_id: int, file_id: UUID, ordered: Sequence[OrderedCollection],
    now: datetime,
) -> int:  # fmt: skip
    """Save that collections are released in a file. Return how many were saved: those that were
    still PRENOTIFIED."""
    saved = await tx.fetch(
        _SAVE_ORDERED, merchant_id, file_id, now,
        [each.collection.collection_id for each in ordered],
        [each.sequence_type for each in ordered], [each.batch_id for each in ordered],
    )  # fmt: skip
    return len(saved)


async def save_delivered(
    tx: Connection, merchant_id: int, file_id: UUID, deliver_to: str | None, *,
    now: datetime, real_now: datetime,
) -> bool:  # fmt: skip
    """Save that the bank has the file and its collections: by the connection `deliver_to`, or, if
    it is None, from a user who has downloaded the file. Return False if that was saved before."""
    if await tx.fetchval(_SAVE_DELIVERED, merchant_id, file_id, real_now, deliver_to) is None:
        return False
    await tx.execute(_SAVE_DELIVERED_COLLECTIONS, merchant_id, file_id, now)
    return True


async def save_handed_over(
    tx: Connection, merchant_id: int, file_id: UUID, real_now: datetime
) -> bool:
    """Save that the whole file is at the bank under its temporary name. Return False if a user has
    downloaded the file first."""
    return await tx.fetchval(_SAVE_HANDED_OVER, merchant_id, file_id, real_now) is not None


async def save_problem(tx: Connection, merchant_id: int, file_id: UUID, problem: str) -> None:
    await tx.execute(_SAVE_PROBLEM, merchant_id, file_id, problem)


async def list_merchants_with_files(tx: Connection, now: datetime, limit: int) -> list[int]:
    """Return at most `limit` merchants with files whose delivery is due. `now` is real time."""
    return [row["merchant_id"] for row in await tx.fetch(_LIST_MERCHANTS, now, limit)]


async def lease_file(
    tx: Connection, merchant_id: int, now: datetime, duration: timedelta
) -> DebitFile | None:
    """Lease a file that is to be delivered, or return None. `now` is real time."""
    row = await tx.fetchrow(_LEASE, merchant_id, now, now + duration)
    return None if row is None else build_file(row)


def build_file(row: Row | Mapping[str, Any]) -> DebitFile:
    return DebitFile(**{**row, "state": DebitFileState(row["state"])})
