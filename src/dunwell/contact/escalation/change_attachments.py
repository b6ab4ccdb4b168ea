"""Attach uploaded files to a claim, replace them and remove them.

A contact that waits for an attachment is retried when one is added. A file is stored until
no claim uses it any more; housekeeping then deletes it.
"""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.escalation.store import retry_waiting_contacts
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.files.store import (
    delete_attachment,
    find_attached_file,
    list_attached_files,
    load_usable_tickets,
    save_attachment,
    save_replacement,
)
from dunwell.core.files.upload import (
    AttachedFile,
    build_attachment_not_found,
    build_unknown_ticket,
    check_attachable,
    check_attachment_count,
)


async def attach_file(work: Work, claim_id: int, ticket_id: UUID) -> AttachedFile:
    """Attach an uploaded file to the claim. If the claim already has the file of this ticket,
    return that attachment.

    Raises NotFound; InvalidState if the claim has ended; UnknownTicket; ValidationError if the
    claim has too many attachments.
    """
    work.require(Right.CHANGE_CLAIMS)
    key = (work.merchant_id, claim_id)
    claim = await lock_claim_of_merchant(work, claim_id)
    check_attachable(claim.status)
    existing = await list_attached_files(work.tx, *key)
    for each in existing:
        if each.ticket_id == ticket_id:
            return each
    await check_ticket(work, ticket_id)
    check_attachment_count(len(existing))
    attachment_id = work.ids.new(work.now)
    await save_attachment(
        work.tx, key, attachment_id=attachment_id, ticket_id=ticket_id, now=work.now
    )
    await retry_waiting_contacts(work.tx, *key, work.now)
    attached = await find_attached_file(work.tx, *key, attachment_id)
    assert attached is not None
    await save_audit(
        work, "attachment.add", f"claim:{claim_id}", after=attached.audit_values,
        attachmentId=str(attachment_id), ticketId=str(ticket_id),
    )  # fmt: skip
    return attached


async def check_ticket(work: Work, ticket_id: UUID) -> None:
    """Check that the ticket can be used. Raises UnknownTicket if it does not exist, has expired or
    belongs to another merchant."""
    if not await load_usable_tickets(work.tx, work.merchant_id, [ticket_id], work.now):
        raise build_unknown_ticket(str(ticket_id))


async def replace_attachment(
    work: Work, claim_id: int, attachment_id: UUID, ticket_id: UUID
) -> AttachedFile:
    """Replace the file of an attachment. Replacing it with the same file changes nothing.

    Raises NotFound; InvalidState if the claim has ended; UnknownTicket.
    """
    work.require(Right.CHANGE_CLAIMS)
    key = (work.merchant_id, claim_id)
    claim = await lock_claim_of_merchant(work, claim_id)
    former = await find_attached_file(work.tx, *key, attachment_id)
    if former is None:
        raise build_attachment_not_found(attachment_id)
    check_attachable(claim.status)
    if former.ticket_id == ticket_id:
        return former
    await check_ticket(work, ticket_id)
    await save_replacement(
        work.tx, key, attachment_id, ticket_id, now=work.now, real_now=work.real_now
    )
    attached = await find_attached_file(work.tx, *key, attachment_id)
    assert attached is not None
    await save_audit(
        work, "attachment.replace", f"claim:{claim_id}",
        before=former.audit_values, after=attached.audit_values, attachmentId=str(attachment_id),
        ticketId=str(ticket_id), formerTicketId=str(former.ticket_id),
    )  # fmt: skip
    return attached


async def detach_file(work: Work, claim_id: int, attachment_id: UUID) -> AttachedFile:
    """Remove an attachment from the claim and return it as it was. Raises NotFound."""
    work.require(Right.CHANGE_CLAIMS)
    key = (work.merchant_id, claim_id)
    await lock_claim_of_merchant(work, claim_id)
    attached = await find_attached_file(work.tx, *key, attachment_id)
    if attached is None:
        raise build_attachment_not_found(attachment_id)
    await delete_attachment(work.tx, key, attachment_id, now=work.now, real_now=work.real_now)
    await save_audit(
        work, "attachment.delete", f"claim:{claim_id}", before=attached.audit_values,
        attachmentId=str(attachment_id), ticketId=str(attached.ticket_id),
    )  # fmt: skip
    return attached
