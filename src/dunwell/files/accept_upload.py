"""Record a prepared upload: from here on its ticket can be used in claims."""

from datetime import timedelta
from uuid import UUID

from dunwell.files.store import save_upload
from dunwell.files.upload import PreparedUpload
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit

# An unused ticket's life (CONTRACT 3), in the merchant's time.
_TICKET_LIFE = timedelta(days=7)


async def accept_upload(work: Work, prepared: PreparedUpload) -> UUID:
    """The ticket's id. Two rows in the work's transaction, nothing outside it."""
    assert prepared.merchant_id == work.merchant_id
    await save_upload(work.tx, prepared, work.now, work.now + _TICKET_LIFE)
    await save_audit(
        work, "upload.accept", f"ticket:{prepared.ticket_id}",
        contentType=prepared.content_type, sizeBytes=prepared.size_bytes,
    )  # fmt: skip
    return prepared.ticket_id
