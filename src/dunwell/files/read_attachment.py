"""One attachment of a claim."""

from uuid import UUID

from dunwell.claims.access import check_claim
from dunwell.files.attached import AttachedFile, no_attachment
from dunwell.files.store_attachments import load_attached
from dunwell.merchants.account import Work


async def read_attachment(work: Work, claim_id: int, attachment_id: UUID) -> AttachedFile:
    """Raises NotFound."""
    found = await load_attached(work.tx, work.merchant_id, claim_id, attachment_id)
    if found is not None:
        return found
    await check_claim(work, claim_id)
    raise no_attachment(attachment_id)
