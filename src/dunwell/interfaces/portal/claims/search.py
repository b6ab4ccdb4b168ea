"""Finds claims by what people call them, narrowed by the list's other filters as far as a row of
the list shows what they ask for."""

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.lists.store import ClaimFilter, ListedClaim
from dunwell.core.claims.searching.search_claims import search_claims
from dunwell.interfaces.portal.claims.list_views import Row, describe_row
from dunwell.platform.errors import ValidationError

_PAGE = 50


async def search_rows(
    work: Work, text: str, wanted: ClaimFilter, after: str
) -> tuple[list[Row], str | None]:
    """A page of them, and the cursor of the next. A text without a word finds nothing."""
    work.need(Right.READ_CLAIMS)
    try:
        found = await search_claims(work, text, limit=_PAGE, cursor=after or None)
    except ValidationError:
        return [], None
    return [describe_row(each) for each in found.items if meets(each, wanted)], found.next_cursor


def meets(claim: ListedClaim, wanted: ClaimFilter) -> bool:
    cents = claim.balance.outstanding_cents
    next_at = claim.next_step_at
    return (
        wanted.status in (None, claim.status)
        and (wanted.hold is None or any(each.kind is wanted.hold for each in claim.holds))
        and (wanted.least_cents is None or cents >= wanted.least_cents)
        and (wanted.most_cents is None or cents <= wanted.most_cents)
        and (
            wanted.next_step_since is None
            or (next_at is not None and next_at >= wanted.next_step_since)
        )
        and (
            wanted.next_step_until is None
            or (next_at is not None and next_at < wanted.next_step_until)
        )
    )
