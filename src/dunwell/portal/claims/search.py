"""Finds claims by what people call them."""

from dunwell.claims.find_claims import find_claims
from dunwell.claims.store_lists import ClaimFilter
from dunwell.merchants.account import Work
from dunwell.portal.claims.list_views import Row, describe_row

_MOST = 50


async def search_rows(work: Work, text: str, _wanted: ClaimFilter) -> tuple[list[Row], bool]:
    """Whether there are more of them comes with them."""
    rows: dict[int, Row] = {}
    for wanted in (ClaimFilter(reference_number=text), ClaimFilter(customer_number=text)):
        found = await find_claims(work, limit=_MOST, wanted=wanted)
        rows |= {each.claim_id: describe_row(each) for each in found.claims}
    return list(rows.values()), False
