"""Reads what happened to a merchant's claims, the oldest first, page by page."""

from dunwell.events.store import NO_FILTER, EventFilter, EventPage, load_events_page
from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right


async def find_events(
    work: Work, *, limit: int, cursor: str | None = None, wanted: EventFilter = NO_FILTER
) -> EventPage:
    """At most `limit` events behind the cursor. Raises ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    return await load_events_page(
        work.tx, work.merchant_id, limit=limit, cursor=cursor, wanted=wanted
    )
