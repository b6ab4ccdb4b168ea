"""Finds a merchant's claims, the newest first or in another order that an index knows, page by
page, and counts them as far as it is cheap.

Claims stand in the order of their writing transactions; those of one that still runs, or began
before one that does, are held back: nothing ever appears behind a cursor that was handed out.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from msgspec import structs

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.newest_first import MOST_COUNTED, Count, count_newest, find_newest
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.narrowing import CLAIMS, narrow
from dunwell.core.claims.sorting import NEWEST_FIRST, ClaimOrder, SortKey, find_sorted
from dunwell.core.claims.store_lists import (
    ClaimFilter,
    ClaimPlace,
    ListedClaim,
    load_listed,
    load_page,
)
from dunwell.platform.database.database import snapshot

NO_FILTER = ClaimFilter()


@dataclass(frozen=True, slots=True)
class ClaimPage:
    """No cursor when these are the last."""

    claims: list[ListedClaim]
    next_cursor: str | None


async def find_claims(
    work: Work, *, limit: int, cursor: str | None = None, wanted: ClaimFilter = NO_FILTER,
    order: ClaimOrder = NEWEST_FIRST,
) -> ClaimPage:  # fmt: skip
    """At most `limit` claims behind the cursor; of filters that no index knows fewer, even none,
    where few claims meet them: read on until there is no cursor. Raises ValidationError for a bad
    cursor."""
    work.need(Right.READ_CLAIMS)
    if not wanted.is_plain or order != NEWEST_FIRST:
        return await _find_narrowed(work, wanted, order, limit=limit, cursor=cursor)
    owner = (work.merchant_id,)
    place = None if cursor is None else ClaimPlace(*CLAIMS.cursors.read(owner, cursor))
    async with snapshot(work.tx):
        found = await load_page(
            work.tx, work.merchant_id, limit=limit + 1, place=place, wanted=wanted
        )
    claims = [only_standing(each, work.now) for each in found[:limit]]
    if len(found) <= limit:
        return ClaimPage(claims, None)
    last = claims[-1].place
    return ClaimPage(claims, CLAIMS.cursors.write(owner, last.written_by, last.claim_id))


async def count_claims(
    work: Work, wanted: ClaimFilter = NO_FILTER, *, most: int = MOST_COUNTED
) -> Count:
    """How many there are, as far as `most` and a page's budget reach."""
    work.need(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        return await count_newest(work, CLAIMS, await narrow(work, wanted), most=most)


async def _find_narrowed(
    work: Work, wanted: ClaimFilter, order: ClaimOrder, *, limit: int, cursor: str | None
) -> ClaimPage:
    async with snapshot(work.tx):
        narrowed = await narrow(work, wanted)
        if order.key is SortKey.CREATED:
            narrowed = replace(narrowed, oldest_first=not order.is_descending)
            found = await find_newest(work, CLAIMS, narrowed, limit=limit, cursor=cursor)
        else:
            found = await find_sorted(work, narrowed, order, limit=limit, cursor=cursor)
        loaded = await load_listed(work.tx, work.merchant_id, found.keys)
    claims = [only_standing(loaded[each], work.now) for each in found.keys if each in loaded]
    return ClaimPage(claims, found.next_cursor)


def only_standing(claim: ListedClaim, now: datetime) -> ListedClaim:
    """Without the holds whose end has come."""
    return structs.replace(claim, holds=[hold for hold in claim.holds if hold.stands(now)])
