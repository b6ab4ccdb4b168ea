"""The SQL of print batches: waiting letters, files that were handed over and withdrawn, the
progress of manifests, and status files that were read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

import msgspec

from dunwell.contact.sending.batches.after_restore.store import find_lost_time
from dunwell.contact.sending.batches.manifest import BatchLetter, LetterFile
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.leases import Lease, LeasedTable
from dunwell.platform.database.sql import compose, split_into_groups

# Uses letter_batch_items_waiting. Checks for a last time whether the claim of a contact owes
# anything; notices, such as receipts, are printed anyway. Skips letters locked by others, and
# letters of which `search_released_letters` still has to find out whether they were released
# before a restore. $3 to $5 are null if no time was lost.
_LOCK_WAITING = """
SELECT i.merchant_id, i.communication_id, i.reference, i.country, i.pages, i.files, i.handed_at,
       coalesce(c.status IN ('COLLECTED', 'WITHDRAWN'), false) AS owes_nothing
FROM letter_batch_items i
LEFT JOIN communications m USING (merchant_id, communication_id)
LEFT JOIN claims c ON (c.merchant_id, c.claim_id) = (m.merchant_id, m.claim_id)
WHERE i.provider = $1 AND i.state = 'WAITING' AND i.doubt IS NULL
  AND NOT coalesce((i.started_at <= $3 OR i.communication_id <= $4)
                   AND coalesce(i.cleared_at < $5, true), false)
ORDER BY i.handed_at, i.communication_id
LIMIT $2
FOR UPDATE OF i SKIP LOCKED
"""
_BATCHES = LeasedTable("letter_batches", ("batch_id",), ends_at="lease_until")
_SAVE_BATCH = """
INSERT INTO letter_batches
    (batch_id, provider, letters, pages, manifest, created_at, lease_id, lease_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_ADD_TO_BATCH = """
UPDATE letter_batch_items SET state = 'BATCHED', batch_id = $3
FROM unnest($1::integer[], $2::uuid[]) AS chosen (merchant_id, communication_id)
WHERE letter_batch_items.merchant_id = chosen.merchant_id
  AND letter_batch_items.communication_id = chosen.communication_id
  AND state = 'WAITING'
"""
_REQUEST_WITHDRAWAL = """
UPDATE letter_batch_items SET state = 'TAKING_BACK'
FROM unnest($1::integer[], $2::uuid[]) AS chosen (merchant_id, communication_id)
WHERE letter_batch_items.merchant_id = chosen.merchant_id
  AND letter_batch_items.communication_id = chosen.communication_id
  AND state = 'WAITING'
"""
_LEASE_ABANDONED = _BATCHES.lease(
    "provider = $4 AND state <> 'RELEASED'",
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
_RELEASE_LETTERS = """
UPDATE letter_batch_items SET state = 'WAITING', batch_id = NULL WHERE batch_id = $1
"""
_DISSOLVE = compose("DELETE FROM letter_batches WHERE {is_own}", is_own=_IS_OWN)
_LOCK_OWN = compose("SELECT 1 FROM letter_batches WHERE {is_own} FOR UPDATE", is_own=_IS_OWN)


@dataclass(frozen=True, slots=True)
class WaitingLetter:
    """A letter that waits for a batch. `owes_nothing` is True for a contact if nothing is owed on
    its claim any more."""

    merchant_id: int
    communication_id: UUID
    letter: BatchLetter
    handed_at: datetime
    owes_nothing: bool

    @property
    def key(self) -> tuple[int, UUID]:
        return self.merchant_id, self.communication_id


@dataclass(frozen=True, slots=True)
class PrintBatch:
    """A batch. `state` is DECIDED or WRITTEN."""

    batch_id: UUID
    state: str
    manifest: bytes


async def lock_waiting_letters(
    tx: Connection, provider: str, limit: int
) -> Sequence[WaitingLetter]:
    """Lock the letters that have waited longest, except those that may have been released before a
    restore."""
    loss = await find_lost_time(tx)
    lost = (loss.until, loss.last_id, loss.resumed_at) if loss else (None, None, None)
    return [
        _build_waiting_letter(row) for row in await tx.fetch(_LOCK_WAITING, provider, limit, *lost)
    ]


async def save_batch(
    tx: Connection,
    batch: PrintBatch,
    provider: str,
    chosen: Sequence[WaitingLetter],
    lease: Lease,
    at: datetime,
) -> None:
    pages = sum(each.letter.pages for each in chosen)
    await tx.execute(
        _SAVE_BATCH, batch.batch_id, provider, len(chosen), pages, batch.manifest, at,
        lease.lease_id, lease.until,
    )  # fmt: skip
    await tx.execute(_ADD_TO_BATCH, *_split_keys(chosen), batch.batch_id)


async def request_withdrawal(tx: Connection, chosen: Sequence[WaitingLetter]) -> None:
    await tx.execute(_REQUEST_WITHDRAWAL, *_split_keys(chosen))


async def lease_abandoned_batches(
    tx: Connection, provider: str, lease: Lease, real_now: datetime
) -> Sequence[PrintBatch]:
    """Lease batches whose worker has died or given them up."""
    rows = await tx.fetch(_LEASE_ABANDONED, real_now, lease.until, lease.lease_id, provider)
    return [PrintBatch(row["batch_id"], row["state"], row["manifest"]) for row in rows]


async def mark_written(tx: Connection, batch_id: UUID, lease_id: UUID) -> bool:
    """Mark the batch as written. Return False if another worker has it."""
    return bool((await tx.execute(_MARK_WRITTEN, batch_id, lease_id)).endswith("1"))


async def mark_released(tx: Connection, batch_id: UUID, real_now: datetime) -> None:
    await tx.execute(_MARK_RELEASED, batch_id, real_now)


async def dissolve_batch(tx: Connection, batch_id: UUID, lease_id: UUID) -> bool:
    """Delete the batch; its letters wait for the next one. Return False if another worker has it or
    it was written."""
    if await tx.fetchval(_LOCK_OWN, batch_id, lease_id) is None:
        return False
    await tx.execute(_RELEASE_LETTERS, batch_id)
    await tx.execute(_DISSOLVE, batch_id, lease_id)
    return True


def _split_keys(chosen: Sequence[WaitingLetter]) -> tuple[list[int], list[UUID]]:
    return [each.merchant_id for each in chosen], [each.communication_id for each in chosen]


def _build_waiting_letter(row: Row) -> WaitingLetter:
    files = msgspec.convert(row["files"], list[LetterFile])
    return WaitingLetter(
        merchant_id=row["merchant_id"],
        communication_id=row["communication_id"],
        letter=BatchLetter(row["reference"], row["country"], row["pages"], files),
        handed_at=row["handed_at"],
        owes_nothing=row["owes_nothing"],
    )


# The state of a letter's files. TAKING_BACK: the withdrawal was requested. TAKEN_BACK: the letter
# was withdrawn.
ItemState = Literal["UPLOADING", "WAITING", "BATCHED", "RELEASED", "TAKING_BACK", "TAKEN_BACK"]

# Waits for a transaction that applies another installation file
# (`accounts.installation.store.lock_installation`).
_LOCK_INSTALLATION = (
    "SELECT FROM installation_revisions ORDER BY revision DESC LIMIT 1 FOR KEY SHARE"
)
# Letters whose files were already handed over or are in a batch stay unchanged. Locks in the order
# of keys. Inserts nothing if the provider's files are now kept elsewhere.
_BEGIN = """
INSERT INTO letter_batch_items AS item
    (merchant_id, communication_id, provider, reference, country, pages, files, started_at)
SELECT merchant_id, communication_id, $2, reference, country, pages, files, $3
FROM json_to_recordset($1::json) AS begun (
    merchant_id integer, communication_id uuid, reference text, country text, pages integer,
    files jsonb
)
WHERE coalesce((SELECT coalesce(document -> 'deliveryProviders' -> $2::text @> $4::jsonb, false)
                FROM installation_revisions ORDER BY revision DESC LIMIT 1), true)
ORDER BY merchant_id, communication_id
ON CONFLICT (merchant_id, communication_id) DO UPDATE
SET provider = CASE item.state WHEN 'UPLOADING' THEN excluded.provider ELSE item.provider END,
    reference = CASE item.state WHEN 'UPLOADING' THEN excluded.reference ELSE item.reference END,
    pages = CASE item.state WHEN 'UPLOADING' THEN excluded.pages ELSE item.pages END,
    files = CASE item.state WHEN 'UPLOADING' THEN excluded.files ELSE item.files END
RETURNING merchant_id, communication_id, state
"""
# Includes letters that are already finished.
_FINISH = """
WITH given AS (
    SELECT merchant_id, communication_id
    FROM letter_batch_items
    WHERE (merchant_id, communication_id) IN (SELECT * FROM unnest($1::integer[], $2::uuid[]))
        AND state IN ('UPLOADING', 'WAITING', 'BATCHED', 'RELEASED')
    ORDER BY merchant_id, communication_id
    FOR UPDATE
), finished AS (
    UPDATE letter_batch_items AS item
    SET state = 'WAITING', handed_at = $3
    FROM given
    WHERE (item.merchant_id, item.communication_id) = (given.merchant_id, given.communication_id)
        AND item.state = 'UPLOADING'
)
SELECT merchant_id, communication_id FROM given
"""
_DELETE_UNFINISHED = """
DELETE FROM letter_batch_items
WHERE merchant_id = $1 AND communication_id = $2 AND state = 'UPLOADING'
"""
# Over all merchants; ids of communications are unique.
_LOAD_ITEMS = """
SELECT merchant_id, communication_id, state, files
FROM letter_batch_items
WHERE provider = $1 AND communication_id = ANY($2::uuid[])
"""
# Uses letter_batch_items_open.
_LIST_TO_WITHDRAW = """
SELECT merchant_id, communication_id, state, files
FROM letter_batch_items
WHERE provider = $1 AND state = 'TAKING_BACK'
ORDER BY started_at
LIMIT $2
"""
_LIST_UNFINISHED = """
SELECT merchant_id, communication_id, state, files
FROM letter_batch_items
WHERE provider = $1 AND state = 'UPLOADING' AND started_at < $2
ORDER BY started_at
LIMIT $3
"""
_SAVE_WITHDRAWN = """
UPDATE letter_batch_items SET state = 'TAKEN_BACK'
WHERE merchant_id = $1 AND communication_id = $2 AND state = 'TAKING_BACK'
"""
# Locks in the order of keys.
_SAVE_STATUSES = """
UPDATE letter_batch_items AS item SET status = later.status, status_at = later.status_at
FROM (
    SELECT merchant_id, communication_id, reported.status, reported.status_at
    FROM letter_batch_items AS known
    JOIN unnest($1::integer[], $2::uuid[], $3::text[], $4::timestamptz[])
        AS reported (merchant_id, communication_id, status, status_at)
        USING (merchant_id, communication_id)
    WHERE coalesce(known.status_at <= reported.status_at, true)
    ORDER BY merchant_id, communication_id
    FOR UPDATE OF known
) AS later
WHERE (item.merchant_id, item.communication_id) = (later.merchant_id, later.communication_id)
"""


# The merchant's id and the communication's id.
ItemKey: TypeAlias = tuple[int, UUID]


class BatchItem(msgspec.Struct, frozen=True):
    merchant_id: int
    communication_id: UUID
    state: ItemState
    files: Sequence[str]


async def begin_items(
    tx: Connection, provider: str, letters: Sequence[tuple[ItemKey, BatchLetter]], *,
    location: Mapping[str, str], real_now: datetime,
) -> Mapping[ItemKey, ItemState]:  # fmt: skip
    """Register letters before any of their files are written. `letters` must not contain a key
    twice. Return the states of the letters: files of UPLOADING letters are to be written (again).
    Letters are missing from the result if the provider's location has changed.

    `location` is the location of the provider's files (`describe_letter_location`).
    """
    begun = [
        {
            "merchant_id": merchant_id, "communication_id": str(communication_id),
            "reference": letter.reference, "country": letter.country, "pages": letter.pages,
            "files": msgspec.to_builtins(letter.files),
        }
        for (merchant_id, communication_id), letter in letters
    ]  # fmt: skip
    await tx.execute(_LOCK_INSTALLATION)
    rows = await tx.fetch(_BEGIN, begun, provider, real_now, location)
    return {(row["merchant_id"], row["communication_id"]): row["state"] for row in rows}


async def finish_items(
    tx: Connection, keys: Collection[ItemKey], real_now: datetime
) -> Collection[ItemKey]:
    """Record that the files of letters are complete under their final names. Letters that were
    given up in the meantime are missing from the result; they will not be printed."""
    merchant_ids, communication_ids = [key[0] for key in keys], [key[1] for key in keys]
    rows = await tx.fetch(_FINISH, merchant_ids, communication_ids, real_now)
    return {(row["merchant_id"], row["communication_id"]) for row in rows}


async def give_up_item(tx: Connection, key: ItemKey) -> bool:
    """Delete a letter whose files were not all written. Return False if its files are complete."""
    return bool((await tx.execute(_DELETE_UNFINISHED, *key)).endswith("1"))


async def load_items(
    tx: Connection, provider: str, communication_ids: Collection[UUID]
) -> Mapping[UUID, BatchItem]:
    """Load those of the letters that the provider has, by communication id."""
    rows = await tx.fetch(_LOAD_ITEMS, provider, list(communication_ids))
    return {row["communication_id"]: _build_item(row) for row in rows}


async def list_letters_to_withdraw(
    tx: Connection, provider: str, limit: int
) -> Sequence[BatchItem]:
    """List letters whose withdrawal was requested and whose files still have to be removed."""
    return [_build_item(row) for row in await tx.fetch(_LIST_TO_WITHDRAW, provider, limit)]


async def list_unfinished_letters(
    tx: Connection, provider: str, before: datetime, limit: int
) -> Sequence[BatchItem]:
    """List letters that were begun before an instant and never finished."""
    return [_build_item(row) for row in await tx.fetch(_LIST_UNFINISHED, provider, before, limit)]


async def save_withdrawn(tx: Connection, key: ItemKey) -> None:
    await tx.execute(_SAVE_WITHDRAWN, *key)


async def save_statuses(tx: Connection, statuses: Mapping[ItemKey, tuple[str, datetime]]) -> None:
    """Save the latest status of each letter, unless a later one is known."""
    for keys in split_into_groups(sorted(statuses)):
        await tx.execute(
            _SAVE_STATUSES,
            [merchant_id for merchant_id, _ in keys],
            [communication_id for _, communication_id in keys],
            [statuses[key][0] for key in keys],
            [statuses[key][1] for key in keys],
        )


def _build_item(row: Row) -> BatchItem:
    return BatchItem(
        merchant_id=row["merchant_id"],
        communication_id=row["communication_id"],
        state=row["state"],
        files=[each["name"] for each in row["files"]],
    )


_STATUS_READERS = LeasedTable("letter_status_readers", ("provider",), ends_at="lease_until")
_SAVE = """
INSERT INTO letter_status_files (provider, name, sha256, read_at, outcome, reports, reason)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (provider, name, sha256) DO NOTHING
"""
# A lease that has ended belongs to a dead worker.
_LEASE = compose(
    """
INSERT INTO letter_status_readers (provider, lease_id, lease_until)
VALUES ($1, $2, $3)
ON CONFLICT (provider) DO UPDATE SET {hold}
WHERE {has_ended}
RETURNING provider
""",
    hold=_STATUS_READERS.hold("$3", "$2"),
    has_ended=_STATUS_READERS.has_ended("$4", "letter_status_readers."),
)
_RENEW = _STATUS_READERS.renew()
_RELEASE = compose(
    "DELETE FROM letter_status_readers WHERE provider = $1 AND {is_held}",
    is_held=_STATUS_READERS.is_held("$2"),
)
_SWEEP = """
DELETE FROM letter_status_files WHERE (provider, name, sha256) IN
    (SELECT provider, name, sha256 FROM letter_status_files WHERE read_at < $1
     ORDER BY read_at LIMIT $2)
"""


async def lease_status_files(
    tx: Connection, provider: str, lease: Lease, real_now: datetime
) -> bool:
    """Lease the status files of a provider. Return False if another worker reads them."""
    return await tx.fetchval(_LEASE, provider, lease.lease_id, lease.until, real_now) is not None


async def renew_status_lease(tx: Connection, provider: str, lease: Lease, until: datetime) -> None:
    await tx.execute(_RENEW, provider, lease.lease_id, until)


async def release_status_files(tx: Connection, provider: str, lease: Lease) -> None:
    await tx.execute(_RELEASE, provider, lease.lease_id)


async def save_read_file(
    tx: Connection, provider: str, name: str, digest: bytes, *, reports: int, real_now: datetime
) -> None:
    await tx.execute(_SAVE, provider, name, digest, real_now, "READ", reports, None)


async def save_refused_file(
    tx: Connection, provider: str, name: str, digest: bytes, *, reason: str, real_now: datetime
) -> None:
    await tx.execute(_SAVE, provider, name, digest, real_now, "REFUSED", 0, reason)


async def sweep_status_files(tx: Connection, before: datetime, limit: int) -> int:
    return int((await tx.execute(_SWEEP, before, limit)).split()[-1])
