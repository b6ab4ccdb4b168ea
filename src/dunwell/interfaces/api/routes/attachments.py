"""List a claim's attachments, add one, show, replace, delete and download one."""

from typing import Any
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.intake.submission import AttachmentSubmission
from dunwell.contact.escalation.change_attachments import (
    attach_file,
    detach_file,
    replace_attachment,
)
from dunwell.core.files.attachment import unknown_ticket
from dunwell.core.files.read_attachments import list_attachments, read_attachment
from dunwell.core.files.upload import ALLOWED_TYPES
from dunwell.interfaces.api.answer import answer_file
from dunwell.interfaces.api.call import Call
from dunwell.interfaces.api.operation import Body, Endpoint, Operation, Span
from dunwell.interfaces.api.paths import read_attachment_id, read_claim_id
from dunwell.interfaces.api.reading import read_shape
from dunwell.interfaces.api.routes.claim_showing import show_attachment
from dunwell.interfaces.api.routes.parameters import (
    ATTACHMENT_ID,
    CLAIM_ID,
    CURSOR,
    LIMIT,
    MERCHANT_ID,
    TICKET_EXAMPLE,
    read_page,
)
from dunwell.interfaces.api.schemas.attachments import Attachment, AttachmentList
from dunwell.platform.errors import InvalidRequest, InvalidState, UnknownTicket, ValidationError

_PATH = "/merchants/{merchant_id}/claims/{claim_id}/attachments"
_ONE_PATH = _PATH + "/{attachment_id}"
ATTACHMENT_EXAMPLE: dict[str, Any] = {
    "id": "01955c04-1180-7f02-a6de-31b2c3d4e5f6",
    "friendlyName": "Invoice 0815",
    "fileName": "invoice-0815.pdf",
    "contentType": "application/pdf",
    "size": 48213,
    "createdAt": "2026-03-02T22:01:30.240Z",
    "state": "READY",
}
_BODY = Body(
    media_type="application/json",
    shape=AttachmentSubmission,
    example={"sourceType": "TICKET", "source": TICKET_EXAMPLE},
)

LIST_ATTACHMENTS = Operation(
    operation_id="listAttachments",
    method="GET",
    path=_PATH,
    tag="Attachments",
    summary="List attachments",
    description=(
        "The claim's files, newest first: those it was created with, and those attached since."
    ),
    parameters=(
        MERCHANT_ID,
        CLAIM_ID,
        CURSOR,
        LIMIT,
    ),
    result=AttachmentList,
    example={"items": [ATTACHMENT_EXAMPLE], "nextCursor": None},
    refusals=(ValidationError,),
    is_addition=True,
)  # fmt: skip

ATTACH_FILE = Operation(
    operation_id="attachFile",
    right=Right.CHANGE_CLAIMS,
    method="POST",
    path=_PATH,
    tag="Attachments",
    summary="Attach a file",
    description=(
        "Attaches an uploaded file to a claim that is CREATED or IN_PROCESS; else it is "
        "InvalidState. A claim has at most 20. A message that waits for an attachment is sent at "
        "the next time messages may be sent.\n\n"
        "One ticket may be attached to many claims. A ticket the claim already has answers that "
        "attachment and changes nothing."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    body=_BODY,
    result=Attachment,
    example=ATTACHMENT_EXAMPLE,
    refusals=(InvalidRequest, ValidationError, InvalidState, UnknownTicket),
    is_addition=True,
)

READ_ATTACHMENT = Operation(
    operation_id="readAttachment",
    method="GET",
    path=_ONE_PATH,
    tag="Attachments",
    summary="Read an attachment",
    description="What is known of the file; `/content` below it is the file itself.",
    parameters=(MERCHANT_ID, CLAIM_ID, ATTACHMENT_ID),
    result=Attachment,
    example=ATTACHMENT_EXAMPLE,
    is_addition=True,
)

REPLACE_ATTACHMENT = Operation(
    operation_id="replaceAttachment",
    right=Right.CHANGE_CLAIMS,
    method="PUT",
    path=_ONE_PATH,
    tag="Attachments",
    summary="Replace an attachment",
    description=(
        "Puts another uploaded file in its place, under the same id. Messages that were not sent "
        "yet take the new file along; other claims that use the former keep it. The claim must be "
        "CREATED or IN_PROCESS; else it is InvalidState."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, ATTACHMENT_ID),
    body=_BODY,
    result=Attachment,
    example=ATTACHMENT_EXAMPLE,
    refusals=(InvalidRequest, ValidationError, InvalidState, UnknownTicket),
    is_addition=True,
)

DELETE_ATTACHMENT = Operation(
    operation_id="deleteAttachment",
    right=Right.CHANGE_CLAIMS,
    method="DELETE",
    path=_ONE_PATH,
    tag="Attachments",
    summary="Delete an attachment",
    description=(
        "Takes the file off the claim, in every state of the claim, and answers what was deleted. "
        "Other claims that use it keep it. With its last use the ticket runs out, unless its 7 "
        "days are not over, and the file is removed."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, ATTACHMENT_ID),
    result=Attachment,
    example=ATTACHMENT_EXAMPLE,
    is_addition=True,
)

DOWNLOAD_ATTACHMENT = Operation(
    operation_id="downloadAttachment",
    method="GET",
    path=_ONE_PATH + "/content",
    tag="Attachments",
    summary="Download an attachment",
    description=(
        "The file itself, without an envelope, under the name debtors get it by. Images are "
        "written anew when they are uploaded, and PDFs without scripts, forms of action and "
        "embedded files, so it can differ from what you sent. Refusals come in the envelope."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, ATTACHMENT_ID),
    result=None,
    example="%PDF-1.7 ...",
    file_types=ALLOWED_TYPES,
    is_addition=True,
)


async def _list(call: Call) -> AttachmentList:
    claim_id = read_claim_id(call.path["claim_id"])
    limit, cursor = read_page(call.query)
    call.query.check()
    page = await list_attachments(call.work, claim_id, limit=limit, cursor=cursor)
    return AttachmentList([show_attachment(each) for each in page.items], page.next_cursor)


async def _attach(call: Call) -> Attachment:
    claim_id = read_claim_id(call.path["claim_id"])
    call.query.check()
    return show_attachment(await attach_file(call.work, claim_id, _read_ticket(call)))


async def _read(call: Call) -> Attachment:
    claim_id, attachment_id = _read_ids(call)
    call.query.check()
    return show_attachment(await read_attachment(call.work, claim_id, attachment_id))


async def _replace(call: Call) -> Attachment:
    claim_id, attachment_id = _read_ids(call)
    call.query.check()
    ticket_id = _read_ticket(call)
    return show_attachment(await replace_attachment(call.work, claim_id, attachment_id, ticket_id))


async def _delete(call: Call) -> Attachment:
    claim_id, attachment_id = _read_ids(call)
    call.query.check()
    return show_attachment(await detach_file(call.work, claim_id, attachment_id))


async def _download(call: Call) -> Response:
    claim_id, attachment_id = _read_ids(call)
    call.query.check()
    # The connection is given back before the file storage is called.
    async with call.tools.resources.database.connection() as call.tx:
        attached = await read_attachment(call.work, claim_id, attachment_id)
    return await answer_file(
        call.tools.storage, attached.storage_key, attached.friendly_name, attached.content_type
    )


def _read_ids(call: Call) -> tuple[int, UUID]:
    return read_claim_id(call.path["claim_id"]), read_attachment_id(call.path["attachment_id"])


def _read_ticket(call: Call) -> UUID:
    """Raises UnknownTicket for what cannot be a ticket of ours."""
    given = read_shape(call.body, AttachmentSubmission)
    if given.ticket_id is None:
        raise unknown_ticket(given.source)
    return given.ticket_id


ENDPOINTS = (
    Endpoint(LIST_ATTACHMENTS, _list, Span.CONNECTION),
    Endpoint(ATTACH_FILE, _attach),
    Endpoint(READ_ATTACHMENT, _read, Span.CONNECTION),
    Endpoint(REPLACE_ATTACHMENT, _replace),
    Endpoint(DELETE_ATTACHMENT, _delete),
    Endpoint(DOWNLOAD_ATTACHMENT, _download, Span.OWN),
)
