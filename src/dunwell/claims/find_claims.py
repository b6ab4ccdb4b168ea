"""Finds a merchant's claims, the newest first, page by page.

Claims stand in the order of their writing transactions; those of one that still runs, or began
before one that does, are held back: nothing ever appears behind a cursor that was handed out.
"""

from dataclasses import dataclass

from msgspec import structs

from dunwell.claims.store_lists import ClaimFilter, ClaimPlace, ListedClaim, load_page
from dunwell.kit.cursor import CursorForm
from dunwell.kit.db import snapshot
from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right

# The writing transaction, the claim.
_CURSORS = CursorForm(b"clm1", "QQ")
NO_FILTER = ClaimFilter()


@dataclass(frozen=True, slots=True)
class ClaimPage:
    """No cursor when these are the last."""

    claims: list[ListedClaim]
    next_cursor: str | None


async def find_claims(
    work: Work, *, limit: int, cursor: str | None = None, wanted: ClaimFilter = NO_FILTER
) -> ClaimPage:
    """At most `limit` claims behind the cursor. Raises ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    owner = (work.merchant_id,)
    place = None if cursor is None else ClaimPlace(*_CURSORS.read(owner, cursor))
    async with snapshot(work.tx):
        found = await load_page(
            work.tx, work.merchant_id, limit=limit + 1, place=place, wanted=wanted
        )
    claims = [
        structs.replace(each, holds=[hold for hold in each.holds if hold.stands(work.now)])
        for each in found[:limit]
    ]
    if len(found) <= limit:
        return ClaimPage(claims, None)
    last = claims[-1].place
    return ClaimPage(claims, _CURSORS.write(owner, last.written_by, last.claim_id))
