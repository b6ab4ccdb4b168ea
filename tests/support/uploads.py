"""An upload in progress, for tests of the steps that follow."""

from uuid import UUID

from dunwell.core.files.inspection import Inspector
from dunwell.core.files.storage import SealedFiles
from dunwell.core.files.upload import NewUpload, PreparedUpload
from dunwell.core.files.uploads import check_upload


async def prepare_upload(
    storage: SealedFiles, inspector: Inspector, merchant_id: int, ticket_id: UUID, upload: NewUpload
) -> PreparedUpload:
    """Check and store the file without inserting its row."""
    checked = await check_upload(inspector, merchant_id, ticket_id, upload)
    await storage.save(checked.prepared.storage_key, checked.content)
    return checked.prepared
