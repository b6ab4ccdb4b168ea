"""Download what a debtor gave as evidence."""

from starlette.responses import Response

from dunwell.api.call import Call
from dunwell.api.download import answer_file
from dunwell.api.operation import Endpoint, Operation, Span
from dunwell.api.paths import read_claim_id, read_dispute_id, read_file_id
from dunwell.api.routes.parameters import CLAIM_ID, DISPUTE_ID, FILE_ID, MERCHANT_ID
from dunwell.disputes.read_evidence import read_evidence
from dunwell.files.content_types import ALLOWED_TYPES

DOWNLOAD_DISPUTE_FILE = Operation(
    operation_id="downloadDisputeFile",
    method="GET",
    path=(
        "/merchants/{merchant_id}/claims/{claim_id}/disputes/{dispute_id}/files/{file_id}/content"
    ),
    tag="Disputes",
    summary="Download a debtor's file",
    description=(
        "The file itself, without an envelope, under the debtor's name for it. Images were written "
        "anew when they came, and PDFs without scripts, forms of action and embedded files. "
        "Refusals come in the envelope."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, DISPUTE_ID, FILE_ID),
    result=None,
    example="%PDF-1.7 ...",
    file_types=ALLOWED_TYPES,
    is_addition=True,
)


async def _download(call: Call) -> Response:
    claim_id = read_claim_id(call.path["claim_id"])
    dispute_id = read_dispute_id(call.path["dispute_id"])
    file_id = read_file_id(call.path["file_id"])
    call.query.check()
    # The connection is given back before the file storage is called.
    async with call.tools.resources.database.connection() as call.tx:
        file = await read_evidence(call.work, claim_id, dispute_id, file_id)
    return await answer_file(call.tools.storage, file.storage_key, file.name, file.content_type)


ENDPOINTS = (Endpoint(DOWNLOAD_DISPUTE_FILE, _download, Span.OWN),)
