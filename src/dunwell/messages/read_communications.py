"""What was sent to a claim's debtor: the claim's communications page by page, and a single one."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.claims.part_cursor import PartList, Place, decode_cursor, encode_cursor
from dunwell.claims.store import has_claim
from dunwell.errors import NotFound
from dunwell.kit.db import snapshot
from dunwell.merchants.account import Work
from dunwell.messages.communication_store import (
    Communication,
    load_communication,
    load_communications,
)

_MARK = b"com1"


@dataclass(frozen=True, slots=True)
class CommunicationPage:
    """No cursor when these are the last."""

    communications: list[Communication]
    next_cursor: str | None


async def list_communications(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> CommunicationPage:
    """The newest planned first. Raises NotFound, and ValidationError for a bad cursor."""
    listed = PartList(_MARK, work.merchant_id, claim_id)
    async with snapshot(work.tx):
        if not await has_claim(work.tx, work.merchant_id, claim_id):
            raise NotFound(f"There is no claim {claim_id}.")
        place = None if cursor is None else decode_cursor(listed, cursor)
        found = await load_communications(
            work.tx, work.merchant_id, claim_id, limit=limit + 1, place=place
        )
    page = found[:limit]
    if len(found) <= limit:
        return CommunicationPage(page, None)
    last = Place(page[-1].planned_at, page[-1].communication_id)
    return CommunicationPage(page, encode_cursor(listed, last))


async def read_communication(work: Work, reference: UUID) -> Communication:
    """The one an ESCALATED event names. Raises NotFound."""
    found = await load_communication(work.tx, work.merchant_id, reference)
    if found is None:
        raise NotFound(f"There is no communication {reference}.")
    return found
