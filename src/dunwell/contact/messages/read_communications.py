"""What was sent to a claim's debtor: the claim's communications page by page, and a single one."""

from typing import TypeVar
from uuid import UUID

from msgspec.structs import replace

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.communication_store import load_communication, load_communications
from dunwell.contact.messages.communication_views import Communication, CommunicationList
from dunwell.core.claims.part_cursor import PartList, decode_cursor, encode_cursor
from dunwell.core.claims.store import has_claim
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import NotFound

_MARK = b"com1"
Shown = TypeVar("Shown", bound=Communication)


async def list_communications(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> CommunicationList:
    """The newest planned first. Raises NotFound, and ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    listed = PartList(_MARK, work.merchant_id, claim_id)
    async with snapshot(work.tx):
        if not await has_claim(work.tx, work.merchant_id, claim_id):
            raise NotFound(f"There is no claim {claim_id}.")
        place = None if cursor is None else decode_cursor(listed, cursor)
        found = await load_communications(
            work.tx, work.merchant_id, claim_id, limit=limit + 1, place=place
        )
    page = found[:limit]
    shown = [show_found(work.merchant, each) for _, each in page]
    if len(found) <= limit:
        return CommunicationList(shown, None)
    last, _ = page[-1]
    return CommunicationList(shown, encode_cursor(listed, last))


async def read_communication(work: Work, reference: UUID) -> Communication:
    """The one an ESCALATED event names. Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    found = await load_communication(work.tx, work.merchant_id, reference)
    if found is None:
        raise NotFound(f"There is no communication {reference}.")
    return show_found(work.merchant, found)


def show_found(merchant: Merchant, found: Shown) -> Shown:
    """A merchant that is not switched knows scenarios, which have no versions."""
    return found if merchant.switched_to_workflows else replace(found, version=None)
