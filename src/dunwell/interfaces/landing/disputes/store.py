"""The SQL of disputes: what their pages load with the claim, and the address of a message."""

from uuid import UUID

import msgspec

from dunwell.cases.disputes.dispute import ClaimDispute, EvidenceFile
from dunwell.cases.disputes.store import LOAD_DISPUTE, LOAD_FILES
from dunwell.interfaces.landing.session.details import KEY, Detail
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose, nest, nest_rows


class DisputeWithFiles(msgspec.Struct, frozen=True, gc=False):
    """A dispute with its evidence, the oldest first."""

    dispute: ClaimDispute
    files: list[EvidenceFile]
    # The fields of an unsent draft for the dispute's reason, and the names of its unsent files.
    unsent: dict[str, str] | None = None
    draft_files: list[str] = []


# Uses the primary key.
_LOAD_RECIPIENT = """
SELECT recipient FROM communication_contents WHERE merchant_id = $1 AND communication_id = $2
"""
# Uses the primary key. $3 is the dispute's reason. Dispute drafts belong to the claim: their
# session id is the claim's id, written as a UUID.
_LOAD_DRAFT_FIELDS = """
SELECT draft.fields
FROM debtor_drafts draft
WHERE draft.merchant_id = $1 AND draft.session_id = lpad(to_hex($2), 32, '0')::uuid
    AND draft.subject = 'dispute:' || $3 AND draft.fields <> '{}'
"""
# Uses the primary keys.
_LIST_DRAFT_FILES = """
SELECT upload.file_name AS name
FROM debtor_draft_files kept
JOIN uploads upload ON upload.merchant_id = kept.merchant_id AND upload.ticket_id = kept.ticket_id
WHERE kept.merchant_id = $1 AND kept.session_id = lpad(to_hex($2), 32, '0')::uuid
    AND kept.subject = 'dispute:' || $3
ORDER BY kept.ticket_id
"""
DISPUTE: Detail[DisputeWithFiles] = Detail(
    compose(
        "(SELECT json_build_object('dispute', row_to_json(one), 'files', {files},"
        " 'unsent', {unsent}, 'draft_files', ARRAY{kept}) FROM {dispute} one)",
        dispute=nest(LOAD_DISPUTE, *KEY, "$2"),
        files=nest_rows(LOAD_FILES, "s.merchant_id", "ARRAY[one.dispute_id]"),
        unsent=nest(_LOAD_DRAFT_FIELDS, *KEY, "coalesce(one.reason, one.type)"),
        kept=nest(_LIST_DRAFT_FILES, *KEY, "coalesce(one.reason, one.type)"),
    ),
    DisputeWithFiles, "dispute_id", "There is no such dispute of this claim.",
)  # fmt: skip


async def load_recipient(tx: Connection, merchant_id: int, communication_id: UUID) -> str | None:
    """Load the address that a message was sent to, or None if its content was deleted."""
    recipient: str | None = await tx.fetchval(_LOAD_RECIPIENT, merchant_id, communication_id)
    return recipient
