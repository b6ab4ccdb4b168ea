"""List a claim's attachments, newest first, and get one of them."""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.access import check_claim_exists
from dunwell.core.files.store import (
    find_attached_file,
    list_attached_files,
    load_listed_attachments,
)
from dunwell.core.files.upload import MAX_ATTACHMENTS, AttachedFile, build_attachment_not_found
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.listed_table import ListedTable, ListPage, NoFilter, Order
from dunwell.platform.database.lists import list_page

# A claim has few attachments, which are found by the claim's key and then sorted.
_ATTACHMENTS: ListedTable[NoFilter, UUID, AttachedFile] = ListedTable(
    name="claim attachments",
    table="attachments",
    scope=("merchant_id", "claim_id"),
    key="attachment_id",
    key_type="uuid",
    order=Order("created_at", "timestamptz"),
    index="attachments_pkey",
    filter=NoFilter,
    load=load_listed_attachments,
)


async def list_all_attachments(work: Work, claim_id: int) -> list[AttachedFile]:
    """Return all attachments with one statement; empty for a claim that does not exist."""
    work.require(Right.READ_CLAIMS)
    return await list_attached_files(work.tx, work.merchant_id, claim_id, limit=MAX_ATTACHMENTS)


async def list_attachments(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> ListPage[AttachedFile]:
    """List attachments. Raises NotFound, and ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        scope = work.scope(claim_id)
        return await list_page(scope, _ATTACHMENTS, NoFilter(), limit=limit, cursor=cursor)


async def get_attachment(work: Work, claim_id: int, attachment_id: UUID) -> AttachedFile:
    """Return the attachment. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    attachment = await find_attached_file(work.tx, work.merchant_id, claim_id, attachment_id)
    if attachment is not None:
        return attachment
    await check_claim_exists(work, claim_id)
    raise build_attachment_not_found(attachment_id)
