"""The SQL of batches: which letters wait, which are taken back, and how far a manifest is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.contact.sending.batches.doubt_store import load_loss
from dunwell.contact.sending.batches.manifest import HandedFile, Letter
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.leases import Lease, LeasedTable
from dunwell.platform.database.sql import compose

# By letter_batch_items_waiting. Of a contact with its claim: whether anything is owed is asked last
# here. Notices, such as a receipt, go whatever is owed. Whom somebody else is at is left to them.
# Those that `search_released` has to look for first are left out.
_LOCK_WAITING = """
SELECT i.merchant_id, i.communication_id, i.reference, i.country, i.pages, i.files, i.handed_at,
       coalesce(c.status IN ('COLLECTED', 'WITHDRAWN'), false) AS is_settled
FROM letter_batch_items i
LEFT JOIN communications m USING (merchant_id, communication_id)
LEFT JOIN claims c ON (c.merchant_id, c.claim_id) = (m.merchant_id, m.claim_id)
WHERE i.line = $1 AND i.state = 'WAITING' AND i.doubt IS NULL
  AND NOT coalesce((i.begun_at <= $3 OR i.communication_id <= $4)
                   AND coalesce(i.cleared_at < $5, true), false)
ORDER BY i.handed_at, i.communication_id
LIMIT $2
FOR UPDATE OF i SKIP LOCKED
"""
_BATCHES = LeasedTable("letter_batches", ("batch_id",), ends_at="lease_until")
_SAVE_BATCH = """
INSERT INTO letter_batches
    (batch_id, line, letters, pages, manifest, made_at, lease_id, lease_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_PUT_IN = """
UPDATE letter_batch_items SET state = 'BATCHED', batch_id = $3
FROM unnest($1::integer[], $2::uuid[]) AS chosen (merchant_id, communication_id)
WHERE letter_batch_items.merchant_id = chosen.merchant_id
  AND letter_batch_items.communication_id = chosen.communication_id
  AND state = 'WAITING'
"""
_TAKE_BACK = """
UPDATE letter_batch_items SET state = 'TAKING_BACK'
FROM unnest($1::integer[], $2::uuid[]) AS chosen (merchant_id, communication_id)
WHERE letter_batch_items.merchant_id = chosen.merchant_id
  AND letter_batch_items.communication_id = chosen.communication_id
  AND state = 'WAITING'
"""
_LEASE_LEFT = _BATCHES.lease(
    "line = $4 AND state <> 'RELEASED'",
    limit="10",
    returning="leased.batch_id, state, manifest",
)
_IS_OWN = compose(
    "batch_id = $1 AND {is_held} AND state = 'DECIDED'", is_held=_BATCHES.is_held("$2")
)
_MARK_WRITTEN = compose(
    "UPDATE letter_batches SET state = 'WRITTEN' WHERE {is_own}", is_own=_IS_OWN
)
_MARK_RELEASED = compose(
    """
UPDATE letter_batches SET state = 'RELEASED', released_at = $2, {clear}
WHERE batch_id = $1 AND state = 'WRITTEN'
""",
    clear=_BATCHES.clear(),
)
_LET_GO = """
UPDATE letter_batch_items SET state = 'WAITING', batch_id = NULL WHERE batch_id = $1
"""
_DISSOLVE = compose("DELETE FROM letter_batches WHERE {is_own}", is_own=_IS_OWN)
_LOCK_OWN = compose("SELECT 1 FROM letter_batches WHERE {is_own} FOR UPDATE", is_own=_IS_OWN)


@dataclass(frozen=True, slots=True)
class Waiting:
    """is_settled: of a contact whose claim owes nothing any more."""

    merchant_id: int
    communication_id: UUID
    letter: Letter
    handed_at: datetime
    is_settled: bool

    @property
    def key(self) -> tuple[int, UUID]:
        return self.merchant_id, self.communication_id


@dataclass(frozen=True, slots=True)
class Batch:
    """state: DECIDED or WRITTEN."""

    batch_id: UUID
    state: str
    manifest: bytes


async def lock_waiting(tx: Connection, line: str, limit: int) -> Sequence[Waiting]:
    """Those that wait longest; none of which it is not known whether it was released before."""
    loss = await load_loss(tx)
    lost = (loss.until, loss.last_id, loss.resumed_at) if loss else (None, None, None)
    return [_read_waiting(row) for row in await tx.fetch(_LOCK_WAITING, line, limit, *lost)]


async def save_batch(
    tx: Connection, batch: Batch, line: str, chosen: Sequence[Waiting], lease: Lease, at: datetime
) -> None:
    pages = sum(each.letter.pages for each in chosen)
    await tx.execute(
        _SAVE_BATCH, batch.batch_id, line, len(chosen), pages, batch.manifest, at,
        lease.lease_id, lease.until,
    )  # fmt: skip
    await tx.execute(_PUT_IN, *_list_keys(chosen), batch.batch_id)


async def take_back(tx: Connection, chosen: Sequence[Waiting]) -> None:
    await tx.execute(_TAKE_BACK, *_list_keys(chosen))


async def lease_left(
    tx: Connection, line: str, lease: Lease, real_now: datetime
) -> Sequence[Batch]:
    """Batches whose worker has died or given them up."""
    rows = await tx.fetch(_LEASE_LEFT, real_now, lease.until, lease.lease_id, line)
    return [Batch(row["batch_id"], row["state"], row["manifest"]) for row in rows]


async def mark_written(tx: Connection, batch_id: UUID, lease_id: UUID) -> bool:
    """False: somebody else has it now."""
    return bool((await tx.execute(_MARK_WRITTEN, batch_id, lease_id)).endswith("1"))


async def mark_released(tx: Connection, batch_id: UUID, real_now: datetime) -> None:
    await tx.execute(_MARK_RELEASED, batch_id, real_now)


async def dissolve(tx: Connection, batch_id: UUID, lease_id: UUID) -> bool:
    """Its letters wait for the next one. False: somebody else has it, or it was written."""
    if await tx.fetchval(_LOCK_OWN, batch_id, lease_id) is None:
        return False
    await tx.execute(_LET_GO, batch_id)
    await tx.execute(_DISSOLVE, batch_id, lease_id)
    return True


def _list_keys(chosen: Sequence[Waiting]) -> tuple[list[int], list[UUID]]:
    return [each.merchant_id for each in chosen], [each.communication_id for each in chosen]


def _read_waiting(row: Row) -> Waiting:
    files = msgspec.convert(row["files"], list[HandedFile])
    return Waiting(
        merchant_id=row["merchant_id"],
        communication_id=row["communication_id"],
        letter=Letter(row["reference"], row["country"], row["pages"], files),
        handed_at=row["handed_at"],
        is_settled=row["is_settled"],
    )
