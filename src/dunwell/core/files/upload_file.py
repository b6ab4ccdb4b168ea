"""An upload in two halves: checked, written anew and put away, before any transaction, as both call
out of the process; accepted within one. From then on its ticket can be used in claims.

What is put away and never accepted runs out at once, and is removed with its content.
"""

import asyncio
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.files.content_types import check_claimed_type
from dunwell.core.files.inspection import Inspector
from dunwell.core.files.names import find_name_faults
from dunwell.core.files.storage import upload_key
from dunwell.core.files.store import save_upload
from dunwell.core.files.upload import MAX_FILE_BYTES, NewUpload, PreparedUpload
from dunwell.platform.crypto import sha256
from dunwell.platform.errors import Fault, PayloadTooLarge, ValidationError

# An unused ticket's life (CONTRACT 3), in the merchant's time.
_TICKET_LIFE = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class CheckedUpload:
    """A file that may be kept, and its content written anew."""

    prepared: PreparedUpload
    content: bytes


async def check_upload(
    inspector: Inspector, merchant_id: int, ticket_id: UUID, upload: NewUpload,
    sender: Hashable = None,
) -> CheckedUpload:  # fmt: skip
    """Raises ValidationError, PayloadTooLarge, UnsupportedMediaType, RateLimited, Unavailable.

    Nothing is kept yet: `put_away` does that. `ticket_id` is a fresh id, the ticket that
    `accept_upload` gives out. sender: whose files are checked one after the other; the merchant,
    when nothing else is given.
    """
    _check_form(upload)
    cleaned = await inspector.clean(upload.content, sender or merchant_id)
    check_claimed_type(upload.file_name, cleaned.content_type)
    # Ten megabytes take long enough to hash to be noticed by other requests.
    digest = await asyncio.to_thread(sha256, cleaned.content)
    prepared = PreparedUpload(
        merchant_id=merchant_id,
        ticket_id=ticket_id,
        friendly_name=upload.friendly_name,
        file_name=upload.file_name,
        content_type=cleaned.content_type,
        size_bytes=len(cleaned.content),
        sha256=digest,
        storage_key=upload_key(merchant_id, ticket_id),
    )
    return CheckedUpload(prepared, cleaned.content)


async def accept_upload(work: Work, prepared: PreparedUpload) -> UUID:
    """The ticket's id. Two rows in the work's transaction, nothing outside it."""
    work.need(Right.CHANGE_CLAIMS)
    assert prepared.merchant_id == work.merchant_id
    await save_upload(work.tx, prepared, work.now, work.now + _TICKET_LIFE)
    await save_audit(
        work, "upload.accept", f"ticket:{prepared.ticket_id}",
        after={"contentType": prepared.content_type, "sizeBytes": prepared.size_bytes},
        contentType=prepared.content_type, sizeBytes=prepared.size_bytes,
    )  # fmt: skip
    return prepared.ticket_id


def _check_form(upload: NewUpload) -> None:
    faults = find_name_faults(upload.friendly_name, upload.file_name)
    if not upload.content:
        faults.append(Fault("/fileName", "The file is empty; send one with content.", "EMPTY_FILE"))
    if faults:
        raise ValidationError(faults)
    if len(upload.content) > MAX_FILE_BYTES:
        raise PayloadTooLarge(
            f"A file may have at most {MAX_FILE_BYTES:,} bytes; make it smaller.",
            limit=MAX_FILE_BYTES,
        )
