"""A claim's payment modalities, the newest first, page by page; and one of them."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.modalities.modality import Modality
from dunwell.cases.modalities.store import load_modalities, load_modality
from dunwell.core.claims.access import check_claim
from dunwell.core.claims.part_cursor import PartList, Place, decode_cursor, encode_cursor
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import NotFound

_MARK = b"mod1"


@dataclass(frozen=True, slots=True)
class ModalityPage:
    """No cursor when these are the last."""

    modalities: list[Modality]
    next_cursor: str | None


async def list_modalities(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> ModalityPage:
    """Raises NotFound, and ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    merchant_id = work.merchant_id
    listed = PartList(_MARK, merchant_id, claim_id)
    async with snapshot(work.tx):
        await check_claim(work, claim_id)
        place = None if cursor is None else decode_cursor(listed, cursor)
        found = await load_modalities(work.tx, merchant_id, claim_id, limit=limit + 1, place=place)
    page = found[:limit]
    if len(found) <= limit:
        return ModalityPage(page, None)
    last = Place(page[-1].requested_at, page[-1].modality_id)
    return ModalityPage(page, encode_cursor(listed, last))


async def get_modality(work: Work, claim_id: int, modality_id: UUID) -> Modality:
    """Raises NotFound, in the words of what is missing first."""
    work.need(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim(work, claim_id)
        modality = await load_modality(work.tx, work.merchant_id, claim_id, modality_id)
    if modality is None:
        raise NotFound(f"There is no payment modality {modality_id}.")
    return modality
