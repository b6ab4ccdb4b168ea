"""Upload files, and list, attach, replace, delete and download the attachments of a claim."""

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
from dunwell.core.files.read_attachments import get_attachment, list_attachments
from dunwell.core.files.upload import (
    ALLOWED_TYPES,
    AttachedFile,
    NewUpload,
    PreparedUpload,
    build_unknown_ticket,
)
from dunwell.core.files.uploads import (
    accept_upload,
    check_storage_room,
    check_upload,
    store_unused_file,
)
from dunwell.interfaces.api.address import parse_attachment_id, parse_claim_id
from dunwell.interfaces.api.answer import build_file_response
from dunwell.interfaces.api.operation import (
    ApiCall,
    ApiEndpoint,
    DatabaseScope,
    Operation,
    RequestBody,
)
from dunwell.interfaces.api.reading import parse_body
from dunwell.interfaces.api.routes.parameters import (
    ATTACHMENT_ID,
    CLAIM_ID,
    CURSOR,
    LIMIT,
    MERCHANT_ID,
    TICKET_EXAMPLE,
    parse_page,
)
from dunwell.interfaces.api.schemas.claims import (
    FILE_NAME,
    FORM,
    FRIENDLY_NAME,
    Attachment,
    AttachmentList,
    UploadTicket,
)
from dunwell.platform.errors import (
    Fault,
    InvalidRequest,
    InvalidState,
    PayloadTooLarge,
    UnknownTicket,
    UnsupportedMediaType,
    ValidationError,
)
from dunwell.platform.http.multipart import MEDIA_TYPE, FormPart
from dunwell.platform.text.shape import render_pointer, suggest_known
from dunwell.platform.text.wire import render_instant

_PART_NAMES = (FRIENDLY_NAME, FILE_NAME)

UPLOAD_FILE = Operation(
    operation_id="uploadFile",
    right=Right.CHANGE_CLAIMS,
    method="POST",
    path="/merchants/{merchant_id}/uploads",
    tag="Uploads",
    summary="Upload a file",
    description=(
        "Uploads one PDF, JPEG, PNG or WebP file of at most 10 MiB and returns a ticket. Use "
        "the ticket as the source of a claim's attachment; one ticket can be attached to many "
        "claims. An unused ticket expires after 7 days. Each file counts toward the merchant's "
        "storage, which is 10 GiB unless the operator has set another limit. Beyond it the "
        "response is 413 with `used` in its details.\n\n"
        "The type is detected from the file's content, not from its name. `friendlyName` is the "
        "name that debtors see."
    ),
    parameters=(MERCHANT_ID,),
    body=RequestBody(
        media_type=MEDIA_TYPE,
        shape=FORM,
        example={FRIENDLY_NAME: "Invoice 0815", FILE_NAME: "@invoice-0815.pdf"},
        encoding={FILE_NAME: {"contentType": "application/pdf, image/jpeg, image/png, image/webp"}},
    ),
    result=UploadTicket,
    example={"ticketId": TICKET_EXAMPLE},
    refusals=(InvalidRequest, ValidationError, PayloadTooLarge, UnsupportedMediaType),
)


async def _store_upload(call: ApiCall) -> PreparedUpload:
    new = _parse_upload(call.parts)
    call.query.check()
    services, resources = call.services, call.services.resources
    now = call.merchant.now(resources.clock)
    merchant_id, ticket_id = call.merchant.merchant_id, resources.ids.new(now)
    limit_bytes = resources.settings.merchant_storage_bytes
    # Check the free storage before processing the file. The final size is not known yet, because
    # processing rewrites the file.
    await check_storage_room(resources.database, merchant_id, 1, limit_bytes)
    checked = await check_upload(services.inspector, merchant_id, ticket_id, new)
    # The ticket counts as expired until it is accepted.
    await store_unused_file(
        resources.database, services.storage, checked, now, expires_at=now, limit_bytes=limit_bytes
    )
    return checked.prepared


async def _accept_upload(call: ApiCall) -> UploadTicket:
    return UploadTicket(str(await accept_upload(call.work, call.prepared)))


def _parse_upload(parts: list[FormPart]) -> NewUpload:
    """Return the upload that a form describes. Raises ValidationError with every fault of the
    form."""
    faults = _list_faults(parts)
    if faults:
        raise ValidationError(faults)
    by_name = {part.name: part for part in parts}
    file = by_name[FILE_NAME]
    return NewUpload(
        friendly_name=by_name[FRIENDLY_NAME].content.decode(),
        file_name=file.file_name or "",
        content=file.file or b"",
    )


def _list_faults(parts: list[FormPart]) -> list[Fault]:
    names = [part.name for part in parts]
    missing = [name for name in _PART_NAMES if name not in names]
    faults = [Fault(f"/{name}", f'The part "{name}" is required.', "REQUIRED") for name in missing]
    for part in parts:
        pointer = render_pointer([part.name[:60]])
        if part.name not in _PART_NAMES:
            message = f"This part is unknown. {suggest_known(part.name, _PART_NAMES)}"
            faults.append(Fault(pointer, message, "UNKNOWN_FIELD"))
        elif names.count(part.name) > 1:
            faults.append(Fault(pointer, "Send this part only once.", "REPEATED"))
        elif part.name == FILE_NAME and part.file_name is None:
            message = "This part must be a file. Give it a file name."
            faults.append(Fault(pointer, message, "WRONG_TYPE"))
        elif part.name == FRIENDLY_NAME and not _is_utf8(part.content):
            faults.append(Fault(pointer, "Send the name as UTF-8.", "WRONG_FORMAT"))
    return list(dict.fromkeys(faults))


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


UPLOAD_ENDPOINTS = (ApiEndpoint(UPLOAD_FILE, _accept_upload, prepare=_store_upload),)


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
_BODY = RequestBody(
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
    description="The claim's files, newest first, including those it was created with.",
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
        "Attaches an uploaded file to a claim that is CREATED or IN_PROCESS; in other states "
        "the response is InvalidState. A claim has at most 20 attachments. A message that waits "
        "for an attachment is sent at the next time at which messages may be sent.\n\n"
        "One ticket can be attached to many claims. If the claim already has the ticket's "
        "attachment, that attachment is returned and nothing changes."
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
    description=("The attachment's data. The path `/content` below it returns the file itself."),
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
        "Replaces the file by another uploaded file, under the same id. Messages that were not "
        "sent yet include the new file; other claims with the old file keep it. The claim must "
        "be CREATED or IN_PROCESS; otherwise the response is InvalidState."
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
        "Removes the file from the claim, in any state of the claim, and returns the deleted "
        "attachment. Other claims with the file keep it. When no claim uses the file any more "
        "and its ticket is older than 7 days, the ticket expires and the file is deleted."
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
        "The file itself, without an envelope, with the file name that debtors get. Uploaded "
        "images are re-encoded, and scripts, form actions and embedded files are removed from "
        "PDFs, so the file can differ from what you sent. Refusals have an envelope."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, ATTACHMENT_ID),
    result=None,
    example="%PDF-1.7 ...",
    file_types=ALLOWED_TYPES,
    is_addition=True,
)


async def _list(call: ApiCall) -> AttachmentList:
    claim_id = parse_claim_id(call.path["claim_id"])
    limit, cursor = parse_page(call.query)
    call.query.check()
    page = await list_attachments(call.work, claim_id, limit=limit, cursor=cursor)
    return AttachmentList([build_attachment(each) for each in page.items], page.next_cursor)


async def _attach(call: ApiCall) -> Attachment:
    claim_id = parse_claim_id(call.path["claim_id"])
    call.query.check()
    return build_attachment(await attach_file(call.work, claim_id, _parse_ticket(call)))


async def _read(call: ApiCall) -> Attachment:
    claim_id, attachment_id = _parse_ids(call)
    call.query.check()
    return build_attachment(await get_attachment(call.work, claim_id, attachment_id))


async def _replace(call: ApiCall) -> Attachment:
    claim_id, attachment_id = _parse_ids(call)
    call.query.check()
    ticket_id = _parse_ticket(call)
    return build_attachment(await replace_attachment(call.work, claim_id, attachment_id, ticket_id))


async def _delete(call: ApiCall) -> Attachment:
    claim_id, attachment_id = _parse_ids(call)
    call.query.check()
    return build_attachment(await detach_file(call.work, claim_id, attachment_id))


async def _download(call: ApiCall) -> Response:
    claim_id, attachment_id = _parse_ids(call)
    call.query.check()
    # Release the connection before calling the file storage.
    async with call.services.resources.database.connection() as call.tx:
        attached = await get_attachment(call.work, claim_id, attachment_id)
    return await build_file_response(
        call.services.storage, attached.storage_key, attached.friendly_name, attached.content_type
    )


def _parse_ids(call: ApiCall) -> tuple[int, UUID]:
    return parse_claim_id(call.path["claim_id"]), parse_attachment_id(call.path["attachment_id"])


def _parse_ticket(call: ApiCall) -> UUID:
    """Return the ticket of the attachment. Raises UnknownTicket if the source cannot be a
    ticket."""
    submission = parse_body(call.body, AttachmentSubmission)
    if submission.ticket_id is None:
        raise build_unknown_ticket(submission.source)
    return submission.ticket_id


ENDPOINTS = (
    ApiEndpoint(LIST_ATTACHMENTS, _list, DatabaseScope.CONNECTION),
    ApiEndpoint(ATTACH_FILE, _attach),
    ApiEndpoint(READ_ATTACHMENT, _read, DatabaseScope.CONNECTION),
    ApiEndpoint(REPLACE_ATTACHMENT, _replace),
    ApiEndpoint(DELETE_ATTACHMENT, _delete),
    ApiEndpoint(DOWNLOAD_ATTACHMENT, _download, DatabaseScope.OWN),
)


def build_attachment(attached: AttachedFile) -> Attachment:
    return Attachment(
        id=str(attached.attachment_id),
        friendly_name=attached.friendly_name,
        file_name=attached.file_name,
        content_type=attached.content_type,
        size=attached.size_bytes,
        created_at=render_instant(attached.created_at),
        state="READY",
    )
