"""The SQL of drafts: rows in, values out, no rules."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from dunwell.core.files.upload import PreparedUpload
from dunwell.interfaces.landing.session.drafts import Draft, DraftFile, DraftKey, Fields
from dunwell.interfaces.landing.session.session import Session
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

# By primary keys.
_FILES = """
    ARRAY(
        SELECT (u.ticket_id, u.file_name, u.size_bytes, u.sha256)
        FROM debtor_draft_files f
        JOIN uploads u ON u.merchant_id = f.merchant_id AND u.ticket_id = f.ticket_id
        WHERE f.merchant_id = $1 AND f.session_id = $2 AND f.subject = $3
        ORDER BY f.ticket_id) AS files
"""
_LOAD = compose(
    """
SELECT subject, fields, sent_form, made_id, revision, others, {files}
FROM debtor_drafts
WHERE merchant_id = $1 AND session_id = $2 AND subject = $3
""",
    files=_FILES,
)
_OPEN = """
INSERT INTO debtor_drafts (merchant_id, session_id, subject, claim_id, kept_until)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (merchant_id, session_id, subject) DO UPDATE SET kept_until = $5
"""
_SAVE_FIELDS = """
UPDATE debtor_drafts SET fields = $4, others = $5, revision = revision + 1
WHERE merchant_id = $1 AND session_id = $2 AND subject = $3
"""
_SAVE_FILE = """
INSERT INTO debtor_draft_files (merchant_id, session_id, subject, ticket_id)
VALUES ($1, $2, $3, $4)
"""
_KEEP_FILES = """
UPDATE uploads SET expires_at = $4
WHERE merchant_id = $1 AND ticket_id IN (
    SELECT ticket_id FROM debtor_draft_files
    WHERE merchant_id = $1 AND session_id = $2 AND subject = $3)
"""
# Rides on debtor_drafts_claim, then on the primary key.
_COUNT_UNSENT = """
SELECT count(*)
FROM debtor_drafts d
JOIN debtor_draft_files f USING (merchant_id, session_id, subject)
WHERE d.merchant_id = $1 AND d.claim_id = $2
"""
_REMOVE_FILE = """
DELETE FROM debtor_draft_files
WHERE merchant_id = $1 AND session_id = $2 AND subject = $3 AND ticket_id = $4
RETURNING ticket_id
"""
_REMOVE_FILES = """
DELETE FROM debtor_draft_files
WHERE merchant_id = $1 AND session_id = $2 AND subject = $3 AND ticket_id = ANY($4::uuid[])
"""
_SAVE_SENT = """
WITH moved AS (
    DELETE FROM debtor_draft_files
    WHERE merchant_id = $1 AND session_id = $2 AND subject = $3
)
UPDATE debtor_drafts
SET fields = '{}', others = '[]', revision = revision + 1, sent_form = $4, made_id = $5
WHERE merchant_id = $1 AND session_id = $2 AND subject = $3
"""
# What a session's author alone may see again; rides on the primary key.
_MOVE = """
UPDATE debtor_drafts SET session_id = $3, kept_until = $4
WHERE merchant_id = $1 AND session_id = $2
"""
# Over all merchants, as a sweep is. Rides on debtor_drafts_expiry.
_REMOVE_OLD = """
DELETE FROM debtor_drafts
WHERE (merchant_id, session_id, subject) IN (
    SELECT merchant_id, session_id, subject FROM debtor_drafts WHERE kept_until < $1 LIMIT $2)
"""


async def load_draft(tx: Connection, key: DraftKey) -> Draft:
    """An empty one when there is none."""
    row = await tx.fetchrow(_LOAD, key.merchant_id, key.owner, key.subject)
    return Draft(key.subject) if row is None else _read(row)


async def lock_draft(tx: Connection, key: DraftKey, kept_until: datetime) -> Draft:
    """The draft, made if there is none; others wait until this transaction ends."""
    await tx.execute(_OPEN, key.merchant_id, key.owner, key.subject, key.claim_id, kept_until)
    return await load_draft(tx, key)


async def save_fields(
    tx: Connection, key: DraftKey, fields: Fields, others: Sequence[Fields] = ()
) -> None:
    """Of a locked draft, with the versions that then stand beside them."""
    whose = (key.merchant_id, key.owner, key.subject)
    await tx.execute(_SAVE_FIELDS, *whose, dict(fields), [dict(each) for each in others])


async def save_files(
    tx: Connection, key: DraftKey, uploads: Sequence[PreparedUpload], kept_until: datetime
) -> None:
    """Add a few that were put away to a locked draft; all of its files are kept as long."""
    whose = (key.merchant_id, key.owner, key.subject)
    for upload in uploads:
        await tx.execute(_SAVE_FILE, *whose, upload.ticket_id)
    await tx.execute(_KEEP_FILES, *whose, kept_until)


async def count_unsent(tx: Connection, merchant_id: int, claim_id: int) -> int:
    """Files of the claim's drafts."""
    count: int = await tx.fetchval(_COUNT_UNSENT, merchant_id, claim_id)
    return count


async def remove_file(tx: Connection, key: DraftKey, ticket_id: UUID) -> bool:
    """Whether the draft had such a file. Nothing leads to it any more; it is still put away."""
    whose = (key.merchant_id, key.owner, key.subject)
    return await tx.fetchval(_REMOVE_FILE, *whose, ticket_id) is not None


async def remove_files(tx: Connection, key: DraftKey, ticket_ids: Sequence[UUID]) -> None:
    """Of a locked draft, some of its files."""
    whose = (key.merchant_id, key.owner, key.subject)
    await tx.execute(_REMOVE_FILES, *whose, list(ticket_ids))


async def save_sent(tx: Connection, key: DraftKey, form_id: UUID, made_id: UUID) -> None:
    """Of a locked draft: it is empty again, its files being another's now."""
    await tx.execute(_SAVE_SENT, key.merchant_id, key.owner, key.subject, form_id, made_id)


async def move_drafts(
    tx: Connection, session: Session, session_id: UUID, kept_until: datetime
) -> None:
    """What is this session's alone, to the one that takes its place."""
    await tx.execute(_MOVE, session.merchant_id, session.session_id, session_id, kept_until)


async def remove_drafts(tx: Connection, kept_until: datetime, limit: int) -> int:
    """Their files run out by themselves."""
    tag: str = await tx.execute(_REMOVE_OLD, kept_until, limit)
    return int(tag.rpartition(" ")[2])


def _read(row: Row) -> Draft:
    files = [DraftFile(*each) for each in row["files"]]
    return Draft(
        subject=row["subject"],
        fields=row["fields"],
        files=files,
        sent_form=row["sent_form"],
        made_id=row["made_id"],
        revision=row["revision"],
        others=row["others"],
    )
