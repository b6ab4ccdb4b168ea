"""Takes a file off a claim, in every state of the claim.

The file itself stays while another claim uses it; after its last use housekeeping removes it.
"""

from uuid import UUID

from dunwell.claims.access import access_claim
from dunwell.files.attached import AttachedFile, no_attachment
from dunwell.files.store_attachments import delete_attachment, load_attached
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.rights import Right


async def detach_file(work: Work, claim_id: int, attachment_id: UUID) -> AttachedFile:
    """The attachment as it was. Raises NotFound."""
    work.need(Right.CHANGE_CLAIMS)
    key = (work.merchant_id, claim_id)
    await access_claim(work, claim_id)
    attached = await load_attached(work.tx, *key, attachment_id)
    if attached is None:
        raise no_attachment(attachment_id)
    await delete_attachment(work.tx, key, attachment_id, now=work.now, real_now=work.real_now)
    await save_audit(
        work, "attachment.delete", f"claim:{claim_id}", before=attached.audited,
        attachmentId=str(attachment_id), ticketId=str(attached.ticket_id),
    )  # fmt: skip
    return attached
