"""The columns and the orders of the list of claims, as its address says them.

The reference is always there and first. Of the usual columns one that no claim of the page has
anything in is left out; one that was asked for is not.
"""

from collections.abc import Sequence

from dunwell.claims.sorting import ClaimOrder, SortKey
from dunwell.claims.store_lists import ListedClaim
from dunwell.portal.render.sorting import Sorting, read_sorting

# In the order they stand in.
COLUMNS = (
    "debtor", "company", "state", "open", "owed", "next", "customer", "changed", "created",
    "number",
)  # fmt: skip
_USUAL = frozenset({"debtor", "state", "open", "next", "customer", "changed", "created"})
ORDERS = {
    "reference": SortKey.REFERENCE,
    "next": SortKey.NEXT_STEP,
    "changed": SortKey.CHANGED,
    "created": SortKey.CREATED,
}
_USUAL_ORDER = "-created"
# Says that the address names columns, and none but the reference.
NONE = "reference"


def read_columns(given: str) -> tuple[str, ...]:
    """What an address names, in our order; (): nothing, which means the usual ones."""
    named = given.split(".")
    chosen = tuple(each for each in COLUMNS if each in named)
    return chosen or ((NONE,) if NONE in named else ())


def write_columns(chosen: Sequence[str]) -> str:
    """For the address; "" for the usual ones."""
    known = [each for each in COLUMNS if each in chosen]
    if not known:
        return NONE if NONE in chosen else ""
    return "" if set(known) == _USUAL else ".".join(known)


def choose_columns(asked: Sequence[str], claims: Sequence[ListedClaim]) -> list[str]:
    """Those to show."""
    if asked:
        return [each for each in asked if each != NONE]
    return [
        each
        for each in COLUMNS
        if each in _USUAL
        and (each != "customer" or any(claim.customer_number for claim in claims))
        and (each != "next" or any(claim.next_step_at for claim in claims))
    ]


def read_claim_order(given: str) -> tuple[Sorting, ClaimOrder]:
    sorting = read_sorting(given, ORDERS, _USUAL_ORDER)
    return sorting, ClaimOrder(ORDERS[sorting.column], sorting.is_descending)
