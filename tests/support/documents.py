"""Documents of a claim as its merchant attaches them, and the text of a page."""

import re
from uuid import UUID

from dunwell.core.files.storage import SealedFiles
from dunwell.core.files.store import save_attachment, save_upload
from dunwell.core.files.upload import NewUpload
from tests.support.children import INSPECTOR
from tests.support.files import a_pdf
from tests.support.harness import Harness
from tests.support.uploads import prepare_upload


async def attach(
    harness: Harness, claim_id: int, name: str = "Rechnung", content: bytes | None = None
) -> UUID:
    """Attach the document and return its id."""
    resources, merchant_id = harness.resources, harness.merchant.merchant_id
    now = harness.clock.now()
    ticket_id, attachment_id = resources.ids.new(now), resources.ids.new(now)
    upload = NewUpload(name, "file", content or a_pdf())
    storage = SealedFiles.open(resources)
    prepared = await prepare_upload(storage, INSPECTOR, merchant_id, ticket_id, upload)
    async with harness.work() as work:
        await save_upload(work.tx, prepared, now, now)
        await save_attachment(work.tx, (merchant_id, claim_id), attachment_id, ticket_id, now)
    return attachment_id


def read_text(page: str) -> str:
    """Return the text of the page without tags and with single spaces."""
    return " ".join(re.sub(r"<[^>]*>", " ", page).replace("\u00a0", " ").split())
