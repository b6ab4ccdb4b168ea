"""Puts another uploaded file in the place of a claim's attachment, which keeps its id."""

from uuid import UUID

from dunwell.claims.access import access_claim
from dunwell.escalation.attach_file import check_ticket
from dunwell.files.attached import AttachedFile, check_attachable, no_attachment
from dunwell.files.store_attachments import load_attached, save_replacement
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.rights import Right


async def replace_attachment(
    work: Work, claim_id: int, attachment_id: UUID, ticket_id: UUID
) -> AttachedFile:
    """The same file again changes nothing. No contact waits for one where there is one already.

    Raises NotFound, InvalidState (the claim has ended), UnknownTicket.
    """
    work.need(Right.CHANGE_CLAIMS)
    key = (work.merchant_id, claim_id)
    claim = await access_claim(work, claim_id)
    present = await load_attached(work.tx, *key, attachment_id)
    if present is None:
        raise no_attachment(attachment_id)
    check_attachable(claim.status)
    if present.ticket_id == ticket_id:
        return present
    await check_ticket(work, ticket_id)
    await save_replacement(
        work.tx, key, attachment_id, ticket_id, now=work.now, real_now=work.real_now
    )
    attached = await load_attached(work.tx, *key, attachment_id)
    assert attached is not None
    await save_audit(
        work, "attachment.replace", f"claim:{claim_id}",
        before=present.audited, after=attached.audited, attachmentId=str(attachment_id),
        ticketId=str(ticket_id), formerTicketId=str(present.ticket_id),
    )  # fmt: skip
    return attached
