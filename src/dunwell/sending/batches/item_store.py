"""The SQL of letters that are handed over: begun, outside, taken back."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from dunwell.kit.db import Connection, Row
from dunwell.sending.batches.manifest import Letter

ItemState = Literal["UPLOADING", "WAITING", "BATCHED", "RELEASED", "TAKING_BACK", "TAKEN_BACK"]

# Whoever applies another installation file waits for it (`installation.store.lock_installation`).
_HOLD_PLACE = "SELECT FROM installation_revisions ORDER BY revision DESC LIMIT 1 FOR KEY SHARE"
# What is already outside for a batch, or named by one, stays as it is. Nothing is begun where the
# line does not stand any more.
_BEGIN = """
INSERT INTO letter_batch_items
    (merchant_id, communication_id, line, reference, country, pages, files, begun_at)
SELECT $1, $2, $3, $4, $5, $6, $7, $8
WHERE coalesce((SELECT coalesce(document -> 'lines' -> $3::text @> $9::jsonb, false)
                FROM installation_revisions ORDER BY revision DESC LIMIT 1), true)
ON CONFLICT (merchant_id, communication_id) DO UPDATE
SET line = CASE letter_batch_items.state WHEN 'UPLOADING' THEN $3 ELSE letter_batch_items.line END,
    reference = CASE letter_batch_items.state
        WHEN 'UPLOADING' THEN $4 ELSE letter_batch_items.reference END,
    pages = CASE letter_batch_items.state
        WHEN 'UPLOADING' THEN $6 ELSE letter_batch_items.pages END,
    files = CASE letter_batch_items.state
        WHEN 'UPLOADING' THEN $7 ELSE letter_batch_items.files END
RETURNING state
"""
_LOOK = """
SELECT state FROM letter_batch_items WHERE merchant_id = $1 AND communication_id = $2
"""
_FINISH = """
UPDATE letter_batch_items SET state = 'WAITING', handed_at = $3
WHERE merchant_id = $1 AND communication_id = $2 AND state = 'UPLOADING'
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
_SAVE_STATUS = """
UPDATE letter_batch_items SET status = $3, status_at = $4
WHERE merchant_id = $1 AND communication_id = $2 AND coalesce(status_at <= $4, true)
"""


class Item(msgspec.Struct, frozen=True):
    merchant_id: int
    communication_id: UUID
    state: ItemState
    files: Sequence[str]


async def begin_item(
    tx: Connection, key: tuple[int, UUID], line: str, letter: Letter, *,
    place: Mapping[str, str], real_now: datetime,
) -> ItemState | None:  # fmt: skip
    """Before anything of it leaves. UPLOADING: it is to be uploaded, (again) by these files. None:
    the line stands elsewhere by now. place: as `installation.lines.letters.locate`."""
    files = msgspec.to_builtins(letter.files)
    await tx.execute(_HOLD_PLACE)
    state: ItemState | None = await tx.fetchval(
        _BEGIN, *key, line, letter.reference, letter.country, letter.pages, files, real_now, place
    )
    return state


async def load_item_state(tx: Connection, key: tuple[int, UUID]) -> ItemState | None:
    state: ItemState | None = await tx.fetchval(_LOOK, *key)
    return state


async def finish_item(tx: Connection, key: tuple[int, UUID], real_now: datetime) -> bool:
    """Its files have their names. False: it was given up meanwhile, and will not be printed."""
    return bool((await tx.execute(_FINISH, *key, real_now)).endswith("1"))


async def give_up_item(tx: Connection, key: tuple[int, UUID]) -> bool:
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


async def save_taken_back(tx: Connection, key: tuple[int, UUID]) -> None:
    await tx.execute(_SAVE_TAKEN_BACK, *key)


async def save_status(tx: Connection, key: tuple[int, UUID], status: str, at: datetime) -> None:
    """The latest by its time."""
    await tx.execute(_SAVE_STATUS, *key, status, at)


def _read(row: Row) -> Item:
    return Item(
        merchant_id=row["merchant_id"],
        communication_id=row["communication_id"],
        state=row["state"],
        files=[each["name"] for each in row["files"]],
    )
