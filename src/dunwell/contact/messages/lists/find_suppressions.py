"""Finds the addresses that a merchant contacts no more, the newest first, page by page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.newest_first import ListedTable, Test, Wanted, find_newest
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.suppression import Suppression, SuppressionReason, load_listed
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import NotFound
from dunwell.platform.text.cursor import CursorForm

# Rides on suppressions_list. The digest differs by channel too.
SUPPRESSIONS: ListedTable[bytes] = ListedTable(
    "suppressions",
    "address_digest",
    cast="bytea",
    at="created_at",
    cursors=CursorForm(b"sup1", "Q16s"),
)


@dataclass(frozen=True, slots=True)
class SuppressionFilter:
    """All that is given must hold. Suppressed since, inclusive, and until, exclusive."""

    channel: Channel | None = None
    reason: SuppressionReason | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class FoundSuppressions:
    """No cursor when these are the last."""

    suppressions: Sequence[Suppression]
    next_cursor: str | None


NO_FILTER = SuppressionFilter()


async def find_suppressions(
    work: Work, *, limit: int, cursor: str | None = None, wanted: SuppressionFilter = NO_FILTER,
    oldest_first: bool = False,
) -> FoundSuppressions:  # fmt: skip
    """Raises ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    filters = tuple(_list_filters(wanted))
    narrowed: Wanted[bytes] = Wanted(
        filters=filters, since=wanted.since, until=wanted.until,
        oldest_first=oldest_first,
    )  # fmt: skip
    async with snapshot(work.tx):
        found = await find_newest(work, SUPPRESSIONS, narrowed, limit=limit, cursor=cursor)
        loaded = await load_listed(work.tx, work.merchant_id, found.keys)
    return FoundSuppressions([loaded[each] for each in found.keys], found.next_cursor)


async def read_suppression(work: Work, channel: Channel, digest: bytes) -> Suppression:
    """Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    found = (await load_listed(work.tx, work.merchant_id, [digest])).get(digest)
    if found is None or found.channel != channel:
        raise NotFound("This address is not in the list.")
    return found


def _list_filters(wanted: SuppressionFilter) -> Iterator[Test]:
    if wanted.channel is not None:
        yield "l.channel = {}", (wanted.channel,)
    if wanted.reason is not None:
        yield "l.reason = {}", (wanted.reason,)
