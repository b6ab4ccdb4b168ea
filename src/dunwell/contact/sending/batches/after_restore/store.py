"""The SQL of letters that may have been released in the time that a restore lost."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.contact.sending.batches.manifest import PrintManifest
from dunwell.platform.database.database import Connection
from dunwell.platform.ids import uuid7

_LOAD_LOSS = "SELECT max(lost_until) AS until, max(resumed_at) AS resumed_at FROM restores"
# Uses letter_batch_items_waiting. Finds letters that were begun or planned before the end of the
# lost time; `_LOCK_WAITING` in the store of batches skips the same letters.
_LIST_UNCERTAIN = """
SELECT i.merchant_id, i.communication_id, i.files
FROM letter_batch_items i
WHERE i.provider = $1 AND i.state = 'WAITING' AND i.doubt IS NULL
  AND (i.started_at <= $2 OR i.communication_id <= $3)
  AND coalesce(i.cleared_at < $4, true)
ORDER BY i.handed_at, i.communication_id
LIMIT $5
"""
_LIST_KNOWN = "SELECT batch_id FROM letter_batches WHERE batch_id = ANY($1::uuid[])"
# Uses letter_batches_of_provider.
_FIND_NEWEST = """
SELECT batch_id
FROM letter_batches
WHERE provider = $1 AND state = 'RELEASED' AND found_at IS NULL AND created_at <= $2
ORDER BY batch_id DESC
LIMIT 1
"""
# A batch that can only be finished. Its lease ends at once, so that the next worker takes it.
_SAVE_FOUND = """
INSERT INTO letter_batches
    (batch_id, provider, state, letters, pages, manifest, created_at, lease_until, found_at)
VALUES ($1, $2, 'WRITTEN', $3, $4, $5, $6, $7, $7)
ON CONFLICT (batch_id) DO NOTHING
"""
# Merchants that were created in the lost time do not exist in the database.
_SAVE_LETTERS = """
INSERT INTO recovered_letters (merchant_id, communication_id, batch_id)
SELECT merchant_id, communication_id, $3
FROM unnest($1::integer[], $2::uuid[]) AS named (merchant_id, communication_id)
JOIN merchants USING (merchant_id)
ON CONFLICT (merchant_id, communication_id) DO NOTHING
"""
_SETTLE_FOUND = """
UPDATE letter_batch_items i SET state = 'BATCHED', batch_id = f.batch_id, doubt = NULL
FROM unnest($1::integer[], $2::uuid[]) AS asked (merchant_id, communication_id)
JOIN recovered_letters f USING (merchant_id, communication_id)
WHERE i.merchant_id = f.merchant_id AND i.communication_id = f.communication_id
  AND i.state = 'WAITING'
"""
# The print service has reported on the letter, so it received it.
_SETTLE_REPORTED = """
UPDATE letter_batch_items i SET state = 'RELEASED', doubt = NULL
FROM unnest($1::integer[], $2::uuid[]) AS asked (merchant_id, communication_id)
WHERE i.merchant_id = asked.merchant_id AND i.communication_id = asked.communication_id
  AND i.state = 'WAITING' AND i.status IS NOT NULL
"""
_CLEAR = """
UPDATE letter_batch_items i SET cleared_at = $3
FROM unnest($1::integer[], $2::uuid[]) AS asked (merchant_id, communication_id)
WHERE i.merchant_id = asked.merchant_id AND i.communication_id = asked.communication_id
  AND i.state = 'WAITING' AND i.doubt IS NULL
"""
_REQUEST_DECISION = """
UPDATE letter_batch_items i SET doubt = $3
FROM unnest($1::integer[], $2::uuid[]) AS asked (merchant_id, communication_id)
WHERE i.merchant_id = asked.merchant_id AND i.communication_id = asked.communication_id
  AND i.state = 'WAITING'
"""
# Uses letter_batch_items_doubted.
_LIST_UNDECIDED = """
SELECT merchant_id, communication_id
FROM letter_batch_items
WHERE provider = $1 AND doubt IS NOT NULL
LIMIT $2
"""
_MARK_RELEASED_BEFORE = """
UPDATE letter_batch_items i SET state = 'RELEASED', doubt = NULL
FROM unnest($1::integer[], $2::uuid[]) AS asked (merchant_id, communication_id)
WHERE i.merchant_id = asked.merchant_id AND i.communication_id = asked.communication_id
  AND i.provider = $3 AND i.doubt IS NOT NULL
"""
_MARK_MISSING = """
UPDATE letter_batch_items i SET state = 'TAKEN_BACK', doubt = NULL
FROM unnest($1::integer[], $2::uuid[]) AS asked (merchant_id, communication_id)
WHERE i.merchant_id = asked.merchant_id AND i.communication_id = asked.communication_id
  AND i.provider = $3 AND i.doubt = 'MISSING'
RETURNING i.merchant_id, i.communication_id, i.reference
"""
_CLEAR_DECIDED = """
UPDATE letter_batch_items i SET cleared_at = $4, doubt = NULL
FROM unnest($1::integer[], $2::uuid[]) AS asked (merchant_id, communication_id)
WHERE i.merchant_id = asked.merchant_id AND i.communication_id = asked.communication_id
  AND i.provider = $3 AND i.doubt = 'UNCONFIRMED'
"""

# The merchant's id and the communication's id.
LetterKey = tuple[int, UUID]


@dataclass(frozen=True, slots=True)
class LostTime:
    """The time whose records were lost by a restore. Messages may have been sent until `until`
    without a record. Dunwell resumed sending at `resumed_at`; a letter that was searched for since
    then is not searched for again."""

    until: datetime
    resumed_at: datetime

    @property
    def last_id(self) -> UUID:
        """Return the greatest id that a message planned before `until` can have."""
        return uuid7(self.until, b"\xff" * 10)


@dataclass(frozen=True, slots=True)
class UncertainLetter:
    """A letter that may have been released in the lost time, with the names of its files."""

    key: LetterKey
    files: Sequence[str]


async def find_lost_time(connection: Connection) -> LostTime | None:
    """Return the time of which data was lost, or None if no data was ever lost."""
    row = await connection.fetchrow(_LOAD_LOSS)
    if row is None or row["until"] is None or row["resumed_at"] is None:
        return None
    return LostTime(row["until"], row["resumed_at"])


async def list_uncertain_letters(
    connection: Connection, provider: str, loss: LostTime, limit: int
) -> Sequence[UncertainLetter]:
    """List the letters that were not searched for since the restore and await no decision."""
    rows = await connection.fetch(
        _LIST_UNCERTAIN, provider, loss.until, loss.last_id, loss.resumed_at, limit
    )
    return [
        UncertainLetter(
            (row["merchant_id"], row["communication_id"]), [each["name"] for each in row["files"]]
        )
        for row in rows
    ]


async def list_letters_to_decide(
    connection: Connection, provider: str, limit: int
) -> Sequence[LetterKey]:
    """List the letters that await an operator's decision."""
    rows = await connection.fetch(_LIST_UNDECIDED, provider, limit)
    return [(row["merchant_id"], row["communication_id"]) for row in rows]


async def list_known_batches(connection: Connection, batch_ids: Collection[UUID]) -> set[UUID]:
    """Return the batches that exist in the database."""
    return {row["batch_id"] for row in await connection.fetch(_LIST_KNOWN, list(batch_ids))}


async def find_newest_batch(connection: Connection, provider: str, before: datetime) -> UUID | None:
    """Return the last batch that was released before an instant, except batches found after a
    restore."""
    newest: UUID | None = await connection.fetchval(_FIND_NEWEST, provider, before)
    return newest


async def save_found_batch(
    tx: Connection,
    manifest: PrintManifest,
    content: bytes,
    letters: Sequence[LetterKey],
    real_now: datetime,
) -> None:
    """Save a batch that was released in the lost time.

    `letters` are those of its letters that belong to this installation.
    """
    head = manifest.head
    await tx.execute(
        _SAVE_FOUND, head.batch, head.line, len(manifest.letters), head.pages, content,
        head.created_at, real_now,
    )  # fmt: skip
    await tx.execute(_SAVE_LETTERS, *_split_keys(letters), head.batch)


async def save_found_letters(tx: Connection, keys: Sequence[LetterKey]) -> None:
    """Assign letters to the batch whose manifest names them, and mark letters as released that the
    print service has reported on."""
    await tx.execute(_SETTLE_FOUND, *_split_keys(keys))
    await tx.execute(_SETTLE_REPORTED, *_split_keys(keys))


async def clear_letters(tx: Connection, keys: Sequence[LetterKey], real_now: datetime) -> None:
    """Record that no manifest of the lost time names the letters, so that they can be batched."""
    await tx.execute(_CLEAR, *_split_keys(keys), real_now)


async def request_decision(tx: Connection, keys: Sequence[LetterKey], doubt: str) -> None:
    """Mark letters for an operator's decision.

    `doubt` is UNCONFIRMED or MISSING.
    """
    await tx.execute(_REQUEST_DECISION, *_split_keys(keys), doubt)


async def mark_decided_as_released(tx: Connection, provider: str, keys: Sequence[LetterKey]) -> int:
    """Mark letters that await a decision as released and return their number."""
    return int((await tx.execute(_MARK_RELEASED_BEFORE, *_split_keys(keys), provider)).split()[-1])


async def mark_files_missing(
    tx: Connection, provider: str, keys: Sequence[LetterKey]
) -> Sequence[tuple[int, UUID, str]]:
    """Mark the letters whose files are missing as not printed. Return the merchant's id, the
    communication's id and the reference of each."""
    rows = await tx.fetch(_MARK_MISSING, *_split_keys(keys), provider)
    return [(row["merchant_id"], row["communication_id"], row["reference"]) for row in rows]


async def clear_decided_letters(
    tx: Connection, provider: str, keys: Sequence[LetterKey], real_now: datetime
) -> int:
    """Allow letters whose files exist to be part of the next batch, and return their number."""
    done = await tx.execute(_CLEAR_DECIDED, *_split_keys(keys), provider, real_now)
    return int(done.split()[-1])


def _split_keys(keys: Sequence[LetterKey]) -> tuple[list[int], list[UUID]]:
    return [key[0] for key in keys], [key[1] for key in keys]
