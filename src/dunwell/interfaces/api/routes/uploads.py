"""Upload a file for later attachment to claims."""

from dunwell.accounts.merchants.rights import Right
from dunwell.core.files.upload import NewUpload, PreparedUpload
from dunwell.core.files.uploads import accept_upload, check_storage_room, check_upload, put_away
from dunwell.interfaces.api.call import Call
from dunwell.interfaces.api.operation import Body, Endpoint, Operation
from dunwell.interfaces.api.routes.parameters import MERCHANT_ID, TICKET_EXAMPLE
from dunwell.interfaces.api.schemas.uploads import FILE_NAME, FORM, FRIENDLY_NAME, UploadTicket
from dunwell.platform.errors import (
    Fault,
    InvalidRequest,
    PayloadTooLarge,
    UnsupportedMediaType,
    ValidationError,
)
from dunwell.platform.http.multipart import MEDIA_TYPE, Part
from dunwell.platform.text.shape import render_nearest, render_pointer

_KNOWN = (FRIENDLY_NAME, FILE_NAME)

UPLOAD_FILE = Operation(
    operation_id="uploadFile",
    right=Right.CHANGE_CLAIMS,
    method="POST",
    path="/merchants/{merchant_id}/uploads",
    tag="Uploads",
    summary="Upload a file",
    description=(
        "Takes one PDF, JPEG, PNG or WebP file of at most 10 MiB and answers a ticket. Name the "
        "ticket in a claim's attachments; one ticket may serve many claims. An unused ticket "
        "lives 7 days. Each file counts toward the merchant's storage, 10 GiB unless the operator "
        "decided otherwise; beyond it the answer is 413 with `used` in its details.\n\n"
        "The type is told by the file's content, not by its name. `friendlyName` is the name "
        "debtors see."
    ),
    parameters=(MERCHANT_ID,),
    body=Body(
        media_type=MEDIA_TYPE,
        shape=FORM,
        example={FRIENDLY_NAME: "Invoice 0815", FILE_NAME: "@invoice-0815.pdf"},
        encoding={FILE_NAME: {"contentType": "application/pdf, image/jpeg, image/png, image/webp"}},
    ),
    result=UploadTicket,
    example={"ticketId": TICKET_EXAMPLE},
    refusals=(InvalidRequest, ValidationError, PayloadTooLarge, UnsupportedMediaType),
)


async def _prepare(call: Call) -> PreparedUpload:
    new = _read_upload(call.parts)
    call.query.check()
    tools, resources = call.tools, call.tools.resources
    now = call.merchant.now(resources.clock)
    merchant_id, ticket_id = call.merchant.merchant_id, resources.ids.new(now)
    limit_bytes = resources.settings.merchant_storage_bytes
    # Before the work of checking it; its size may change by being written anew.
    await check_storage_room(resources.database, merchant_id, 1, limit_bytes)
    checked = await check_upload(tools.inspector, merchant_id, ticket_id, new)
    # It has run out as long as it is not accepted.
    await put_away(
        resources.database, tools.storage, checked, now, expires_at=now, limit_bytes=limit_bytes
    )
    return checked.prepared


async def _accept(call: Call) -> UploadTicket:
    return UploadTicket(str(await accept_upload(call.work, call.prepared)))


def _read_upload(parts: list[Part]) -> NewUpload:
    """The upload a form asks for. Raises ValidationError with every fault of the form."""
    faults = _find_faults(parts)
    if faults:
        raise ValidationError(faults)
    by_name = {part.name: part for part in parts}
    file = by_name[FILE_NAME]
    return NewUpload(
        friendly_name=by_name[FRIENDLY_NAME].content.decode(),
        file_name=file.file_name or "",
        content=file.file or b"",
    )


def _find_faults(parts: list[Part]) -> list[Fault]:
    given = [part.name for part in parts]
    missing = [name for name in _KNOWN if name not in given]
    faults = [Fault(f"/{name}", f'The part "{name}" is required.', "REQUIRED") for name in missing]
    for part in parts:
        place = render_pointer([part.name[:60]])
        if part.name not in _KNOWN:
            message = f"This part is not known. {render_nearest(part.name, _KNOWN)}"
            faults.append(Fault(place, message, "UNKNOWN_FIELD"))
        elif given.count(part.name) > 1:
            faults.append(Fault(place, "Send this part once.", "REPEATED"))
        elif part.name == FILE_NAME and part.file_name is None:
            message = "This part must be a file: give it a file name."
            faults.append(Fault(place, message, "WRONG_TYPE"))
        elif part.name == FRIENDLY_NAME and not _is_utf8(part.content):
            faults.append(Fault(place, "Send the name as UTF-8.", "WRONG_FORMAT"))
    return list(dict.fromkeys(faults))


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


ENDPOINTS = (Endpoint(UPLOAD_FILE, _accept, prepare=_prepare),)
