"""Finds a merchant's communications over all claims, the newest planned first, page by page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.newest_first import ListedTable, Test, Wanted, find_newest
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.communication_store import load_found_communications
from dunwell.contact.messages.communication_views import CommunicationState, FoundCommunication
from dunwell.contact.messages.read_communications import show_found
from dunwell.platform.database.database import snapshot
from dunwell.platform.text.cursor import CursorForm

# Rides on communications_list; of those whose fate nobody knows, and of those that failed, on
# communications_unknown_list and communications_failed_list.
COMMUNICATIONS: ListedTable[UUID] = ListedTable(
    "communications",
    "communication_id",
    cast="uuid",
    at="planned_at",
    cursors=CursorForm(b"cms1", "Q16s"),
)
UNKNOWN: Test = ("l.state = 'UNKNOWN'", ())
FAILED: Test = ("l.state = 'FAILED'", ())
_RARE = {"UNKNOWN": UNKNOWN, "FAILED": FAILED}


@dataclass(frozen=True, slots=True)
class CommunicationFilter:
    """All that is given must hold. Planned since, inclusive, and until, exclusive."""

    state: CommunicationState | None = None
    channel: Channel | None = None
    step_id: int | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class FoundCommunications:
    """No cursor when these are the last."""

    communications: Sequence[FoundCommunication]
    next_cursor: str | None


NO_FILTER = CommunicationFilter()


async def find_communications(
    work: Work, *, limit: int, cursor: str | None = None, wanted: CommunicationFilter = NO_FILTER,
    oldest_first: bool = False,
) -> FoundCommunications:  # fmt: skip
    """Raises ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    rare = _RARE.get(wanted.state or "")
    narrowed: Wanted[UUID] = Wanted(
        seek=() if rare is None else (rare,), filters=tuple(_list_filters(wanted)),
        since=wanted.since, until=wanted.until, oldest_first=oldest_first,
    )  # fmt: skip
    async with snapshot(work.tx):
        found = await find_newest(work, COMMUNICATIONS, narrowed, limit=limit, cursor=cursor)
        loaded = await load_found_communications(work.tx, work.merchant_id, found.keys)
    shown = [show_found(work.merchant, loaded[each]) for each in found.keys]
    return FoundCommunications(shown, found.next_cursor)


def _list_filters(wanted: CommunicationFilter) -> Iterator[Test]:
    if wanted.state is not None:
        yield "l.state = {}", (wanted.state,)
    if wanted.channel is not None:
        yield "l.channel = {}", (wanted.channel,)
    if wanted.step_id is not None:
        yield "l.step_id = {}", (wanted.step_id,)
