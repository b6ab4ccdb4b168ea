"""The SQL of letters that are handed over: begun, outside, taken back."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

import msgspec

from dunwell.contact.sending.batches.manifest import Letter
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import in_sets

ItemState = Literal["UPLOADING", "WAITING", "BATCHED", "RELEASED", "TAKING_BACK", "TAKEN_BACK"]

# Whoever applies another installation file waits for it (`installation.store.lock_installation`).
_HOLD_PLACE = "SELECT FROM installation_revisions ORDER BY revision DESC LIMIT 1 FOR KEY SHARE"
# What is already outside for a batch, or named by one, stays as it is. Locked in the order of keys.
# Nothing is begun where the line does not stand any more.
_BEGIN = """
INSERT INTO letter_batch_items AS item
    (merchant_id, communication_id, line, reference, country, pages, files, begun_at)
SELECT merchant_id, communication_id, $2, reference, country, pages, files, $3
FROM json_to_recordset($1::json) AS begun (
    merchant_id integer, communication_id uuid, reference text, country text, pages integer,
    files jsonb
)
WHERE coalesce((SELECT coalesce(document -> 'lines' -> $2::text @> $4::jsonb, false)
                FROM installation_revisions ORDER BY revision DESC LIMIT 1), true)
ORDER BY merchant_id, communication_id
ON CONFLICT (merchant_id, communication_id) DO UPDATE
SET line = CASE item.state WHEN 'UPLOADING' THEN excluded.line ELSE item.line END,
    reference = CASE item.state WHEN 'UPLOADING' THEN excluded.reference ELSE item.reference END,
    pages = CASE item.state WHEN 'UPLOADING' THEN excluded.pages ELSE item.pages END,
    files = CASE item.state WHEN 'UPLOADING' THEN excluded.files ELSE item.files END
RETURNING merchant_id, communication_id, state
"""
_LOOK = """
SELECT state FROM letter_batch_items WHERE merchant_id = $1 AND communication_id = $2
"""
# What is finished already is found as such.
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
_GIVE_UP = """
DELETE FROM letter_batch_items
WHERE merchant_id = $1 AND communication_id = $2 AND state = 'UPLOADING'
"""
# Of whichever merchants: their ids are UUIDs of ours.
_FIND = """
SELECT merchant_id, communication_id, state, files
FROM letter_batch_items
WHERE line = $1 AND communication_id = ANY($2::uuid[])
"""
# By letter_batch_items_open.
_FIND_TAKING_BACK = """
SELECT merchant_id, communication_id, state, files
FROM letter_batch_items
WHERE line = $1 AND state = 'TAKING_BACK'
ORDER BY begun_at
LIMIT $2
"""
_FIND_LEFT = """
SELECT merchant_id, communication_id, state, files
FROM letter_batch_items
WHERE line = $1 AND state = 'UPLOADING' AND begun_at < $2
ORDER BY begun_at
LIMIT $3
"""
_SAVE_TAKEN_BACK = """
UPDATE letter_batch_items SET state = 'TAKEN_BACK'
WHERE merchant_id = $1 AND communication_id = $2 AND state = 'TAKING_BACK'
"""
# Locked in the order of keys.
_SAVE_STATUSES = """
UPDATE letter_batch_items AS item SET status = later.status, status_at = later.status_at
FROM (
    SELECT merchant_id, communication_id, said.status, said.status_at
    FROM letter_batch_items AS known
    JOIN unnest($1::integer[], $2::uuid[], $3::text[], $4::timestamptz[])
        AS said (merchant_id, communication_id, status, status_at)
        USING (merchant_id, communication_id)
    WHERE coalesce(known.status_at <= said.status_at, true)
    ORDER BY merchant_id, communication_id
    FOR UPDATE OF known
) AS later
WHERE (item.merchant_id, item.communication_id) = (later.merchant_id, later.communication_id)
"""


# Merchant and message.
ItemKey: TypeAlias = tuple[int, UUID]


class Item(msgspec.Struct, frozen=True):
    merchant_id: int
    communication_id: UUID
    state: ItemState
    files: Sequence[str]


async def begin_items(
    tx: Connection, line: str, letters: Sequence[tuple[ItemKey, Letter]], *,
    place: Mapping[str, str], real_now: datetime,
) -> Mapping[ItemKey, ItemState]:  # fmt: skip
    """Before anything of them leaves; each key once. UPLOADING: it is to be uploaded, (again) by
    these files. Left out: the line stands elsewhere by now. place: as
    `installation.lines.letters.locate`."""
    begun = [
        {
            "merchant_id": merchant_id, "communication_id": str(communication_id),
            "reference": letter.reference, "country": letter.country, "pages": letter.pages,
            "files": msgspec.to_builtins(letter.files),
        }
        for (merchant_id, communication_id), letter in letters
    ]  # fmt: skip
    await tx.execute(_HOLD_PLACE)
    rows = await tx.fetch(_BEGIN, begun, line, real_now, place)
    return {(row["merchant_id"], row["communication_id"]): row["state"] for row in rows}


async def load_item_state(tx: Connection, key: ItemKey) -> ItemState | None:
    state: ItemState | None = await tx.fetchval(_LOOK, *key)
    return state


async def finish_items(
    tx: Connection, keys: Collection[ItemKey], real_now: datetime
) -> Collection[ItemKey]:
    """Their files have their names. Left out: what was given up meanwhile, and will not be
    printed."""
    merchant_ids, communication_ids = [key[0] for key in keys], [key[1] for key in keys]
    rows = await tx.fetch(_FINISH, merchant_ids, communication_ids, real_now)
    return {(row["merchant_id"], row["communication_id"]) for row in rows}


async def give_up_item(tx: Connection, key: ItemKey) -> bool:
    """It is not outside, and is not to be found there later."""
    return bool((await tx.execute(_GIVE_UP, *key)).endswith("1"))


async def find_items(
    tx: Connection, line: str, communication_ids: Collection[UUID]
) -> Mapping[UUID, Item]:
    rows = await tx.fetch(_FIND, line, list(communication_ids))
    return {row["communication_id"]: _read(row) for row in rows}


async def find_taking_back(tx: Connection, line: str, limit: int) -> Sequence[Item]:
    return [_read(row) for row in await tx.fetch(_FIND_TAKING_BACK, line, limit)]


async def find_left(tx: Connection, line: str, before: datetime, limit: int) -> Sequence[Item]:
    """Begun before, and never finished."""
    return [_read(row) for row in await tx.fetch(_FIND_LEFT, line, before, limit)]


async def save_taken_back(tx: Connection, key: ItemKey) -> None:
    await tx.execute(_SAVE_TAKEN_BACK, *key)


async def save_statuses(tx: Connection, said: Mapping[ItemKey, tuple[str, datetime]]) -> None:
    """What was said of each, and when; what was said later before stays."""
    for keys in in_sets(sorted(said)):
        await tx.execute(
            _SAVE_STATUSES,
            [merchant_id for merchant_id, _ in keys],
            [communication_id for _, communication_id in keys],
            [said[key][0] for key in keys],
            [said[key][1] for key in keys],
        )


def _read(row: Row) -> Item:
    return Item(
        merchant_id=row["merchant_id"],
        communication_id=row["communication_id"],
        state=row["state"],
        files=[each["name"] for each in row["files"]],
    )
