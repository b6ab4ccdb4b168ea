"""Letter batches of the installation: what was released when, what its print service said of it,
and which letters wait for a person's word. Over all merchants.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.installation.delivery_providers import FolderProvider, SftpProvider
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.account import check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.rights import Right
from dunwell.operations.dashboards.store import (
    BatchRow,
    LetterRow,
    LineWaiting,
    StatusFileRow,
    count_statuses,
    find_asked_letters,
    find_batches,
    find_letters,
    find_status_files,
    load_batch,
    load_waiting,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.database.listed_table import CursorFormat
from dunwell.platform.errors import NotFound

# What is counted no further.
MOST_WAITING = 1_001
_MOST_FILES = 20
_BATCH_CURSORS = CursorFormat("letter batches", owner=(), place=(UUID,))
_LETTER_CURSORS = CursorFormat("letters", owner=(), place=(UUID, int))
_NEWEST = UUID(int=(1 << 128) - 1)
_FIRST = (UUID(int=0), 0)


@dataclass(frozen=True, slots=True)
class BatchesView:
    """lines: those of the installation that carry letters. No cursor when these are the last."""

    lines: Sequence[str]
    waiting: Sequence[LineWaiting]
    batches: Sequence[BatchRow]
    next_cursor: str | None
    files: Sequence[StatusFileRow]


@dataclass(frozen=True, slots=True)
class BatchView:
    """statuses: how many letters by what was said last; None: nothing."""

    batch: BatchRow
    statuses: Mapping[str | None, int]
    letters: Sequence[LetterRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class AskedView:
    letters: Sequence[LetterRow]
    next_cursor: str | None


async def read_batches(
    tx: Connection, actor: Actor, *, limit: int, line: str | None = None, cursor: str | None = None
) -> BatchesView:
    """The newest first. Raises ValidationError for a bad cursor."""
    check_right(actor, Right.OPERATE)
    before = _NEWEST
    if cursor is not None:
        [before] = _BATCH_CURSORS.parse((), cursor)
    known = (await load_installation(tx)).installation.delivery_providers or {}
    lines = sorted(
        name for name, each in known.items() if isinstance(each, FolderProvider | SftpProvider)
    )
    found = await find_batches(tx, line, before, limit + 1)
    batches = found[:limit]
    return BatchesView(
        lines=lines,
        waiting=await load_waiting(tx, lines, MOST_WAITING),
        batches=batches,
        next_cursor=_BATCH_CURSORS.render((), (batches[-1].batch_id,))
        if len(found) > limit
        else None,
        files=await find_status_files(tx, _MOST_FILES),
    )


async def read_batch(
    tx: Connection, actor: Actor, batch_id: UUID, *,
    limit: int, cursor: str | None = None, only_failed: bool = False,
) -> BatchView:  # fmt: skip
    """Raises NotFound, and ValidationError for a bad cursor."""
    check_right(actor, Right.OPERATE)
    batch = await load_batch(tx, batch_id)
    if batch is None:
        raise NotFound("There is no such batch.")
    found = await find_letters(
        tx, batch_id, _read_place(cursor), limit + 1, only_failed=only_failed
    )
    statuses = await count_statuses(tx, batch_id)
    return BatchView(batch, statuses, found[:limit], _write_place(found, limit))


async def read_asked_letters(
    tx: Connection, actor: Actor, line: str, *, limit: int, cursor: str | None = None
) -> AskedView:
    """Of which a person is asked whether they were released. Raises ValidationError for a bad
    cursor."""
    check_right(actor, Right.OPERATE)
    found = await find_asked_letters(tx, line, _read_place(cursor), limit + 1)
    return AskedView(found[:limit], _write_place(found, limit))


def _read_place(cursor: str | None) -> tuple[UUID, int]:
    if cursor is None:
        return _FIRST
    communication_id, merchant_id = _LETTER_CURSORS.parse((), cursor)
    return communication_id, merchant_id


def _write_place(found: Sequence[LetterRow], limit: int) -> str | None:
    if len(found) <= limit:
        return None
    last = found[limit - 1]
    return _LETTER_CURSORS.render((), (last.communication_id, last.merchant_id))
