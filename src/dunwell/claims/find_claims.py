"""Finds a merchant's claims, the newest first, page by page.

Claims stand in the order of their writing transactions; those of one that still runs, or began
before one that does, are held back: nothing ever appears behind a cursor that was handed out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dunwell.claims.balance import Balance
from dunwell.claims.holds import Hold
from dunwell.claims.states import Status
from dunwell.claims.store_lists import ClaimFilter, ClaimPlace, load_page, load_standing_holds
from dunwell.kit.cursor import CursorForm
from dunwell.kit.db import Row, snapshot
from dunwell.merchants.account import Work

# The writing transaction, the claim.
_CURSORS = CursorForm(b"clm1", "QQ")
NO_FILTER = ClaimFilter()


@dataclass(frozen=True, slots=True)
class ListedClaim:
    """A claim in a list: enough to tell it and where it stands."""

    claim_id: int
    reference_number: str
    customer_number: str | None
    currency: str
    first_name: str | None
    last_name: str | None
    company_name: str | None
    status: Status
    balance: Balance
    # Those that stand now.
    holds: list[Hold]
    # None while a contact is under way, under a hold, and after the end.
    next_step_at: datetime | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ClaimPage:
    """No cursor when these are the last."""

    claims: list[ListedClaim]
    next_cursor: str | None


async def find_claims(
    work: Work, *, limit: int, cursor: str | None = None, wanted: ClaimFilter = NO_FILTER
) -> ClaimPage:
    """At most `limit` claims behind the cursor. Raises ValidationError for a bad cursor."""
    owner = (work.merchant_id,)
    place = None if cursor is None else ClaimPlace(*_CURSORS.read(owner, cursor))
    async with snapshot(work.tx):
        rows = await load_page(
            work.tx, work.merchant_id, limit=limit + 1, place=place, wanted=wanted
        )
        page = rows[:limit]
        holds = await load_standing_holds(
            work.tx, work.merchant_id, [row["claim_id"] for row in page if row["held"]]
        )
    claims = [_read(row, holds.get(row["claim_id"], ()), work.now) for row in page]
    if len(rows) <= limit:
        return ClaimPage(claims, None)
    last = page[-1]
    return ClaimPage(claims, _CURSORS.write(owner, int(last["written_by"]), last["claim_id"]))


def _read(row: Row, holds: Sequence[Hold], now: datetime) -> ListedClaim:
    outstanding = row["total_cents"] - row["allocated_cents"]
    return ListedClaim(
        claim_id=row["claim_id"],
        reference_number=row["reference_number"],
        customer_number=row["customer_number"],
        currency=row["currency"],
        first_name=row["first_name"],
        last_name=row["last_name"],
        company_name=row["company_name"],
        status=Status(row["status"]),
        balance=Balance(
            row["total_cents"], outstanding, row["paid_cents"] - row["allocated_cents"]
        ),
        holds=[hold for hold in holds if hold.stands(now)],
        next_step_at=None if row["held"] else row["due_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
