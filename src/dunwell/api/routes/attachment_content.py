"""Download a claim's file: never shown by a browser in place, whatever it holds."""

from starlette.responses import Response

from dunwell.api.call import Call
from dunwell.api.download import answer_file
from dunwell.api.operation import Endpoint, Operation, Span
from dunwell.api.paths import read_attachment_id, read_claim_id
from dunwell.api.routes.attachments import ONE_PATH
from dunwell.api.routes.parameters import ATTACHMENT_ID, CLAIM_ID, MERCHANT_ID
from dunwell.files.content_types import ALLOWED_TYPES
from dunwell.files.read_attachment import read_attachment

DOWNLOAD_ATTACHMENT = Operation(
    operation_id="downloadAttachment",
    method="GET",
    path=ONE_PATH + "/content",
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


async def _download(call: Call) -> Response:
    claim_id = read_claim_id(call.path["claim_id"])
    attachment_id = read_attachment_id(call.path["attachment_id"])
    call.query.check()
    # The connection is given back before the file storage is called.
    async with call.tools.resources.database.connection() as call.tx:
        attached = await read_attachment(call.work, claim_id, attachment_id)
    return await answer_file(
        call.tools.storage, attached.storage_key, attached.friendly_name, attached.content_type
    )


ENDPOINTS = (Endpoint(DOWNLOAD_ATTACHMENT, _download, Span.OWN),)
