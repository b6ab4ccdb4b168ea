"""A claim's disputes, the newest first, page by page."""

from dataclasses import dataclass

from dunwell.claims.part_cursor import PartList, Place, decode_cursor, encode_cursor
from dunwell.disputes.dispute import Dispute
from dunwell.disputes.store import has_claim, load_disputes
from dunwell.errors import NotFound
from dunwell.kit.db import snapshot
from dunwell.merchants.account import Work

_MARK = b"dis1"


@dataclass(frozen=True, slots=True)
class DisputePage:
    """No cursor when these are the last."""

    disputes: list[Dispute]
    next_cursor: str | None


async def list_disputes(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> DisputePage:
    """Raises NotFound, and ValidationError for a bad cursor."""
    listed = PartList(_MARK, work.merchant_id, claim_id)
    async with snapshot(work.tx):
        if not await has_claim(work.tx, work.merchant_id, claim_id):
            raise NotFound(f"There is no claim {claim_id}.")
        place = None if cursor is None else decode_cursor(listed, cursor)
        found = await load_disputes(
            work.tx, work.merchant_id, claim_id, limit=limit + 1, place=place
        )
    page = found[:limit]
    if len(found) <= limit:
        return DisputePage(page, None)
    last = Place(page[-1].opened_at, page[-1].dispute_id)
    return DisputePage(page, encode_cursor(listed, last))
