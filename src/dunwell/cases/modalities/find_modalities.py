"""Finds a merchant's payment modalities over all claims, the newest first, page by page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.newest_first import ListedTable, Test, Wanted, find_newest
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.assignee import EVERYBODYS, Whose
from dunwell.accounts.users.store_colleagues import ABLE, ANSWERING
from dunwell.cases.modalities.modality import Modality, ModalityState, ModalityType
from dunwell.cases.modalities.store import load_modalities_by_id
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.sql import compose
from dunwell.platform.text.cursor import CursorForm

# Rides on payment_modalities_list; of requests that wait for an answer on
# payment_modalities_requested.
MODALITIES: ListedTable[UUID] = ListedTable(
    "payment_modalities",
    "modality_id",
    cast="uuid",
    at="requested_at",
    cursors=CursorForm(b"mdl1", "Q16s"),
)
# Requests that nobody has answered, and that can be answered.
UNANSWERED: Test = ("l.state = 'REQUESTED' AND l.ended_at IS NULL", ())

# By primary keys.
_NOBODYS = compose(
    "NOT EXISTS (SELECT FROM users u WHERE u.user_id = l.assignee_id AND {able})",
    able=compose(ABLE, merchant="l.merchant_id", roles="{}::text[]"),
)


@dataclass(frozen=True, slots=True)
class ModalityFilter:
    """All that is given must hold. `stands`: it has not ended. Requested since, inclusive, and
    until, exclusive."""

    state: ModalityState | None = None
    type: ModalityType | None = None
    stands: bool | None = None
    since: datetime | None = None
    until: datetime | None = None
    whose: Whose = EVERYBODYS


@dataclass(frozen=True, slots=True)
class FoundModalities:
    """Each with its claim's reference. No cursor when these are the last."""

    modalities: Sequence[tuple[Modality, str]]
    next_cursor: str | None


NO_FILTER = ModalityFilter()


async def find_modalities(
    work: Work, *, limit: int, cursor: str | None = None, wanted: ModalityFilter = NO_FILTER,
    oldest_first: bool = False,
) -> FoundModalities:  # fmt: skip
    """Raises ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    is_unanswered = wanted.state is ModalityState.REQUESTED and wanted.stands is True
    narrowed: Wanted[UUID] = Wanted(
        seek=(UNANSWERED,) if is_unanswered else (), filters=tuple(_list_filters(wanted)),
        since=wanted.since, until=wanted.until, oldest_first=oldest_first,
    )  # fmt: skip
    async with snapshot(work.tx):
        found = await find_newest(work, MODALITIES, narrowed, limit=limit, cursor=cursor)
        loaded = await load_modalities_by_id(work.tx, work.merchant_id, found.keys)
    return FoundModalities([loaded[each] for each in found.keys], found.next_cursor)


def _list_filters(wanted: ModalityFilter) -> Iterator[Test]:
    if wanted.whose.is_nobodys:
        yield _NOBODYS, (ANSWERING, ANSWERING)
    elif wanted.whose.user_id is not None:
        yield "l.assignee_id = {}", (wanted.whose.user_id,)
    if wanted.state is not None:
        yield "l.state = {}", (wanted.state,)
    if wanted.type is not None:
        yield "l.type = {}", (wanted.type,)
    if wanted.stands is not None:
        yield "(l.ended_at IS NULL) = {}", (wanted.stands,)
