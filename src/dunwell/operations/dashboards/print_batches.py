"""Print batches over all merchants: what was released, what the print services reported, and which
letters await a decision."""

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
    StatusFileRow,
    WaitingLetters,
    count_statuses,
    find_batch_row,
    list_batch_rows,
    list_doubtful_letter_rows,
    list_letter_rows,
    list_status_files,
    list_waiting_letters,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.database.listed_table import CursorFormat
from dunwell.platform.errors import NotFound

# Counting stops here.
MAX_WAITING = 1_001
_MAX_FILES = 20
_BATCH_CURSORS = CursorFormat("letter batches", owner=(), place=(UUID,))
_LETTER_CURSORS = CursorFormat("letters", owner=(), place=(UUID, int))
_NEWEST = UUID(int=(1 << 128) - 1)
_FIRST = (UUID(int=0), 0)


@dataclass(frozen=True, slots=True)
class BatchesView:
    """A page of print batches. `providers` are the delivery providers for letters. `next_cursor` is
    None on the last page."""

    providers: Sequence[str]
    waiting: Sequence[WaitingLetters]
    batches: Sequence[BatchRow]
    next_cursor: str | None
    files: Sequence[StatusFileRow]


@dataclass(frozen=True, slots=True)
class BatchView:
    """A batch with a page of its letters. `statuses` counts the letters by the last reported
    status; None is the key of letters without a report."""

    batch: BatchRow
    statuses: Mapping[str | None, int]
    letters: Sequence[LetterRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class DoubtfulLettersView:
    letters: Sequence[LetterRow]
    next_cursor: str | None


async def list_batches(
    tx: Connection,
    actor: Actor,
    *,
    limit: int,
    provider: str | None = None,
    cursor: str | None = None,
) -> BatchesView:
    """List the batches, newest first. Raises ValidationError for an invalid cursor."""
    check_right(actor, Right.OPERATE)
    before = _NEWEST
    if cursor is not None:
        [before] = _BATCH_CURSORS.parse((), cursor)
    configured = (await load_installation(tx)).installation.delivery_providers or {}
    providers = sorted(
        name for name, each in configured.items() if isinstance(each, FolderProvider | SftpProvider)
    )
    found = await list_batch_rows(tx, provider, before, limit + 1)
    batches = found[:limit]
    return BatchesView(
        providers=providers,
        waiting=await list_waiting_letters(tx, providers, MAX_WAITING),
        batches=batches,
        next_cursor=_BATCH_CURSORS.render((), (batches[-1].batch_id,))
        if len(found) > limit
        else None,
        files=await list_status_files(tx, _MAX_FILES),
    )


async def get_batch(
    tx: Connection, actor: Actor, batch_id: UUID, *,
    limit: int, cursor: str | None = None, only_failed: bool = False,
) -> BatchView:  # fmt: skip
    """Return the batch with a page of its letters. Raises NotFound, and ValidationError for an
    invalid cursor."""
    check_right(actor, Right.OPERATE)
    batch = await find_batch_row(tx, batch_id)
    if batch is None:
        raise NotFound("There is no such batch.")
    found = await list_letter_rows(
        tx, batch_id, _parse_cursor(cursor), limit + 1, only_failed=only_failed
    )
    statuses = await count_statuses(tx, batch_id)
    return BatchView(batch, statuses, found[:limit], _render_cursor(found, limit))


async def list_doubtful_letters(
    tx: Connection, actor: Actor, provider: str, *, limit: int, cursor: str | None = None
) -> DoubtfulLettersView:
    """List the letters for which a person has to decide whether they were released. Raises
    ValidationError for an invalid cursor."""
    check_right(actor, Right.OPERATE)
    found = await list_doubtful_letter_rows(tx, provider, _parse_cursor(cursor), limit + 1)
    return DoubtfulLettersView(found[:limit], _render_cursor(found, limit))


def _parse_cursor(cursor: str | None) -> tuple[UUID, int]:
    if cursor is None:
        return _FIRST
    communication_id, merchant_id = _LETTER_CURSORS.parse((), cursor)
    return communication_id, merchant_id


def _render_cursor(found: Sequence[LetterRow], limit: int) -> str | None:
    if len(found) <= limit:
        return None
    last = found[limit - 1]
    return _LETTER_CURSORS.render((), (last.communication_id, last.merchant_id))
