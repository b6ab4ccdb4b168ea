"""A claim's attachments, the newest first: page by page, or all; and one of them."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.access import check_claim
from dunwell.core.claims.part_cursor import PartList, Place, decode_cursor, encode_cursor
from dunwell.core.files.attached import MAX_ATTACHMENTS, AttachedFile, no_attachment
from dunwell.core.files.store_attachments import load_all_attached, load_attached
from dunwell.platform.database.database import snapshot

_MARK = b"att1"


@dataclass(frozen=True, slots=True)
class AttachmentPage:
    """No cursor when these are the last."""

    attachments: list[AttachedFile]
    next_cursor: str | None


async def list_all_attachments(work: Work, claim_id: int) -> list[AttachedFile]:
    """In one statement; none of a claim that does not exist."""
    work.need(Right.READ_CLAIMS)
    return await load_all_attached(work.tx, work.merchant_id, claim_id, limit=MAX_ATTACHMENTS)


async def list_attachments(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> AttachmentPage:
    """Raises NotFound, and ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    listed = PartList(_MARK, work.merchant_id, claim_id)
    async with snapshot(work.tx):
        await check_claim(work, claim_id)
        place = None if cursor is None else decode_cursor(listed, cursor)
        found = await load_all_attached(
            work.tx, work.merchant_id, claim_id, limit=limit + 1, place=place
        )
    page = found[:limit]
    if len(found) <= limit:
        return AttachmentPage(page, None)
    last = Place(page[-1].created_at, page[-1].attachment_id)
    return AttachmentPage(page, encode_cursor(listed, last))


async def read_attachment(work: Work, claim_id: int, attachment_id: UUID) -> AttachedFile:
    """Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    found = await load_attached(work.tx, work.merchant_id, claim_id, attachment_id)
    if found is not None:
        return found
    await check_claim(work, claim_id)
    raise no_attachment(attachment_id)
