"""Finds a merchant's webhook endpoints with their health, the newest first, page by page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.newest_first import ListedTable, Test, Wanted, find_newest
from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.endpoint_health import EndpointHealth, EndpointState
from dunwell.core.events.store_health import load_health
from dunwell.platform.database.database import snapshot
from dunwell.platform.text.cursor import CursorForm

# Rides on webhook_endpoints_list.
ENDPOINTS: ListedTable[UUID] = ListedTable(
    "webhook_endpoints",
    "endpoint_id",
    cast="uuid",
    at="created_at",
    cursors=CursorForm(b"whe1", "Q16s"),
)
LIVE: Test = ("l.removed_at IS NULL", ())
# As EndpointHealth has it.
_STATES: dict[EndpointState, str] = {
    EndpointState.WORKING: "l.disabled_at IS NULL AND l.first_failure_at IS NULL",
    EndpointState.FAILING: "l.disabled_at IS NULL AND l.first_failure_at IS NOT NULL",
    EndpointState.SWITCHED_OFF: "l.disabled_at IS NOT NULL",
}
# One that works is nobody's to look after.
UNWELL: Test = ("(l.disabled_at IS NOT NULL OR l.first_failure_at IS NOT NULL)", ())


@dataclass(frozen=True, slots=True)
class FoundEndpoints:
    """No cursor when these are the last."""

    endpoints: Sequence[EndpointHealth]
    next_cursor: str | None


async def find_endpoints(
    work: Work, *, limit: int, cursor: str | None = None, state: EndpointState | None = None,
    since: datetime | None = None, until: datetime | None = None,
) -> FoundEndpoints:  # fmt: skip
    """Added since, inclusive, and until, exclusive; for whoever may not configure the merchant only
    with the origin of their addresses. Raises ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    narrowed: Wanted[UUID] = Wanted(filters=tuple(_list_filters(state)), since=since, until=until)
    async with snapshot(work.tx):
        found = await find_newest(work, ENDPOINTS, narrowed, limit=limit, cursor=cursor)
        loaded = await load_health(work.tx, work.merchant_id, found.keys)
    endpoints = [loaded[each] for each in found.keys]
    if Right.CONFIGURE not in work.actor.rights:
        endpoints = [each.without_path() for each in endpoints]
    return FoundEndpoints(endpoints, found.next_cursor)


def _list_filters(state: EndpointState | None) -> Iterator[Test]:
    yield LIVE
    if state is not None:
        yield _STATES[state], ()
