"""The SQL of debtors' sessions and drafts, and of an opened claim with everything that its pages
show."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import get_cached_configuration, load_merchant
from dunwell.cases.modalities.modality import Modality
from dunwell.cases.modalities.store import ModalityRow, build_modality
from dunwell.core.files.upload import PreparedUpload
from dunwell.interfaces.landing.session.details import NOTHING, PREVIEW, Detail
from dunwell.interfaces.landing.session.drafts import DraftFile, DraftKey, Fields, FormDraft
from dunwell.interfaces.landing.session.facts import OnFile, PageClaim
from dunwell.interfaces.landing.session.session import PREVIOUS_TOKEN_LIFETIME, Level, Session
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

_INSERT_SESSION = """
INSERT INTO debtor_sessions
    (merchant_id, session_hash, session_id, claim_id, communication_id, channel, level, opened_at,
     expires_at, address_digests, first_opened_at, proven_digests, previous_hash, previous_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
"""
# Uses debtor_sessions_session.
_END_SESSION = """
UPDATE debtor_sessions
SET ended_at = $3
WHERE merchant_id = $1 AND session_id = $2 AND ended_at IS NULL AND expires_at > $3
RETURNING session_id
"""
# Uses debtor_sessions_previous.
_FIND_SUCCESSOR = """
SELECT merchant_id, session_hash, session_id, claim_id, communication_id, channel, level,
       expires_at, ended_at, opened_at,
       coalesce(first_opened_at, opened_at) AS first_opened_at, proven_digests, previous_hash
FROM debtor_sessions
WHERE previous_hash = $1 AND previous_until > $2 AND ended_at IS NULL AND expires_at > $2
LIMIT 1
"""
# Uses the primary key.
_COPY_SESSION = """
INSERT INTO debtor_sessions
    (merchant_id, session_hash, session_id, claim_id, communication_id, channel, level, opened_at,
     expires_at, address_digests, first_opened_at, proven_digests, previous_hash, previous_until)
SELECT merchant_id, $3, session_id, claim_id, communication_id, channel, level, opened_at,
       expires_at, address_digests, first_opened_at, proven_digests, previous_hash, previous_until
FROM debtor_sessions
WHERE merchant_id = $1 AND session_hash = $2
"""
# Uses the primary key. The session gets another hash. Its level is never lowered or set to the same
# value.
_RAISE_LEVEL = """
UPDATE debtor_sessions
SET session_hash = $3, level = $4, proven_digests = $7, previous_hash = $2, previous_until = $8
WHERE merchant_id = $1 AND session_hash = $2 AND ended_at IS NULL AND expires_at > $5
    AND level = ANY($6)
RETURNING session_id
"""
# Uses debtor_sessions_expiry.
_REMOVE_SESSIONS = """
DELETE FROM debtor_sessions
WHERE (merchant_id, session_hash) IN (
    SELECT merchant_id, session_hash FROM debtor_sessions WHERE expires_at < $1 LIMIT $2
)
"""
# Uses debtor_sessions_session_hash_key.
_FIND_SESSION = """
SELECT merchant_id, session_hash, session_id, claim_id, communication_id, channel, level,
       expires_at, ended_at, opened_at,
       coalesce(first_opened_at, opened_at) AS first_opened_at, proven_digests, previous_hash
FROM debtor_sessions
WHERE session_hash = $1
"""
_LIST_SESSIONS = """
SELECT merchant_id, session_hash, session_id, claim_id, communication_id, channel, level,
       expires_at, ended_at, opened_at,
       coalesce(first_opened_at, opened_at) AS first_opened_at, proven_digests, previous_hash
FROM debtor_sessions
WHERE session_hash = ANY($1)
"""
# Uses the primary key.
_LOAD_ON_FILE = """
SELECT email, mobile_number, address, date_of_birth::text, contract_number, customer_number
FROM debtors
WHERE merchant_id = $1 AND claim_id = $2
"""


async def find_session(tx: Connection, session_hash: bytes) -> Session | None:
    """Find the session. It may have ended, because sessions are kept until a day after they would
    have expired."""
    row = await tx.fetchrow(_FIND_SESSION, session_hash)
    return None if row is None else _build_session(row)


async def list_sessions(tx: Connection, hashes: Mapping[str, bytes]) -> dict[str, Session | None]:
    """Return the session of each handle, None if it is unknown. Ended ones are included. `hashes`
    are the session hashes by handle."""
    rows = await tx.fetch(_LIST_SESSIONS, [*hashes.values()]) if hashes else []
    found = {row["session_hash"]: _build_session(row) for row in rows}
    return {handle: found.get(session_hash) for handle, session_hash in hashes.items()}


async def save_session(tx: Connection, session: Session, address_digests: Sequence[bytes]) -> None:
    """Save the session. The claim must be locked. `address_digests` are those of the addresses on
    file."""
    await tx.execute(
        _INSERT_SESSION, session.merchant_id, session.session_hash, session.session_id,
        session.claim_id,
        session.communication_id, session.channel, session.level, session.opened_at,
        session.expires_at, address_digests, session.first_opened_at,
        session.proven_digests, session.previous_hash, session.opened_at + PREVIOUS_TOKEN_LIFETIME,
    )  # fmt: skip


async def find_successor(tx: Connection, previous_hash: bytes, now: datetime) -> Session | None:
    """Find the live session that replaced this token within the last ten seconds."""
    row = await tx.fetchrow(_FIND_SUCCESSOR, previous_hash, now)
    return None if row is None else _build_session(row)


async def insert_token(tx: Connection, session: Session, new_hash: bytes) -> None:
    """Add another token to a session. The existing one stays valid."""
    await tx.execute(_COPY_SESSION, session.merchant_id, session.session_hash, new_hash)


async def save_session_end(
    tx: Connection, merchant_id: int, session_id: UUID, now: datetime
) -> bool:
    """End the session with all its tokens. Return False if it had ended before."""
    return await tx.fetchval(_END_SESSION, merchant_id, session_id, now) is not None


async def save_raised_level(
    tx: Connection, session: Session, new_hash: bytes, level: Level, now: datetime,
    proven_digests: Sequence[bytes] = (),
) -> bool:  # fmt: skip
    """Raise the level. Return False if the session has ended, has another hash by now, or has this
    level already."""
    lower = [each for each in Level if not each.reaches(level)]
    raised = await tx.fetchval(
        _RAISE_LEVEL, session.merchant_id, session.session_hash, new_hash, level, now, lower,
        proven_digests, now + PREVIOUS_TOKEN_LIFETIME,
    )  # fmt: skip
    return raised is not None


async def delete_old_sessions(tx: Connection, expired_before: datetime, limit: int) -> int:
    tag: str = await tx.execute(_REMOVE_SESSIONS, expired_before, limit)
    return int(tag.rpartition(" ")[2])


async def load_on_file(tx: Connection, merchant_id: int, claim_id: int) -> OnFile:
    """Load the debtor's data on file. The claim must exist."""
    row = await tx.fetchrow(_LOAD_ON_FILE, merchant_id, claim_id)
    assert row is not None
    return OnFile(*row)


def _build_session(row: Row) -> Session:
    return Session(
        merchant_id=row["merchant_id"],
        session_hash=row["session_hash"],
        session_id=row["session_id"],
        claim_id=row["claim_id"],
        communication_id=row["communication_id"],
        channel=row["channel"],
        level=Level(row["level"]),
        expires_at=row["expires_at"],
        ended_at=row["ended_at"],
        opened_at=row["opened_at"],
        first_opened_at=row["first_opened_at"],
        proven_digests=row["proven_digests"],
        previous_hash=row["previous_hash"],
    )


# Uses the primary keys.
_DRAFT_FILES = """
    ARRAY(
        SELECT (u.ticket_id, u.file_name, u.size_bytes, u.sha256)
        FROM debtor_draft_files f
        JOIN uploads u ON u.merchant_id = f.merchant_id AND u.ticket_id = f.ticket_id
        WHERE f.merchant_id = $1 AND f.session_id = $2 AND f.subject = $3
        ORDER BY f.ticket_id) AS files
"""
_LOAD_DRAFT = compose(
    """
SELECT subject, fields, sent_form, created_id, revision, conflicts, {files}
FROM debtor_drafts
WHERE merchant_id = $1 AND session_id = $2 AND subject = $3
""",
    files=_DRAFT_FILES,
)
_OPEN_DRAFT = """
INSERT INTO debtor_drafts (merchant_id, session_id, subject, claim_id, kept_until)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (merchant_id, session_id, subject) DO UPDATE SET kept_until = $5
"""
_SAVE_FIELDS = """
UPDATE debtor_drafts SET fields = $4, conflicts = $5, revision = revision + 1
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
# Uses debtor_drafts_claim, then the primary key.
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
SET fields = '{}', conflicts = '[]', revision = revision + 1, sent_form = $4, created_id = $5
WHERE merchant_id = $1 AND session_id = $2 AND subject = $3
"""
# Moves the drafts that belong to the session and not to the claim. Uses the primary key.
_MOVE_DRAFTS = """
UPDATE debtor_drafts SET session_id = $3, kept_until = $4
WHERE merchant_id = $1 AND session_id = $2
"""
# For all merchants. Uses debtor_drafts_expiry.
_REMOVE_OLD_DRAFTS = """
DELETE FROM debtor_drafts
WHERE (merchant_id, session_id, subject) IN (
    SELECT merchant_id, session_id, subject FROM debtor_drafts WHERE kept_until < $1 LIMIT $2)
"""


async def load_draft(tx: Connection, key: DraftKey) -> FormDraft:
    """Load the draft, or an empty one if there is none."""
    row = await tx.fetchrow(_LOAD_DRAFT, key.merchant_id, key.owner, key.subject)
    return FormDraft(key.subject) if row is None else _build_draft(row)


async def lock_draft(tx: Connection, key: DraftKey, kept_until: datetime) -> FormDraft:
    """Lock the draft and return it. Create a draft if there is none. Other transactions wait until
    this one ends."""
    await tx.execute(_OPEN_DRAFT, key.merchant_id, key.owner, key.subject, key.claim_id, kept_until)
    return await load_draft(tx, key)


async def save_fields(
    tx: Connection, key: DraftKey, fields: Fields, others: Sequence[Fields] = ()
) -> None:
    """Save the fields of a locked draft, with the conflicting versions."""
    draft_columns = (key.merchant_id, key.owner, key.subject)
    await tx.execute(_SAVE_FIELDS, *draft_columns, dict(fields), [dict(each) for each in others])


async def save_files(
    tx: Connection, key: DraftKey, uploads: Sequence[PreparedUpload], kept_until: datetime
) -> None:
    """Add stored files to a locked draft. All files of the draft are then kept as long as the
    draft."""
    draft_columns = (key.merchant_id, key.owner, key.subject)
    for upload in uploads:
        await tx.execute(_SAVE_FILE, *draft_columns, upload.ticket_id)
    await tx.execute(_KEEP_FILES, *draft_columns, kept_until)


async def count_unsent_files(tx: Connection, merchant_id: int, claim_id: int) -> int:
    """Count the files of the claim's drafts."""
    count: int = await tx.fetchval(_COUNT_UNSENT, merchant_id, claim_id)
    return count


async def delete_draft_file(tx: Connection, key: DraftKey, ticket_id: UUID) -> bool:
    """Remove a file from a draft. Return False if the draft had no such file. The stored file is
    kept; the caller discards it."""
    draft_columns = (key.merchant_id, key.owner, key.subject)
    return await tx.fetchval(_REMOVE_FILE, *draft_columns, ticket_id) is not None


async def delete_draft_files_by_id(
    tx: Connection, key: DraftKey, ticket_ids: Sequence[UUID]
) -> None:
    """Delete some files of a locked draft."""
    draft_columns = (key.merchant_id, key.owner, key.subject)
    await tx.execute(_REMOVE_FILES, *draft_columns, list(ticket_ids))


async def save_draft_sent(tx: Connection, key: DraftKey, form_id: UUID, created_id: UUID) -> None:
    """Empty a locked draft after it was sent. Its files now belong to what was created."""
    await tx.execute(_SAVE_SENT, key.merchant_id, key.owner, key.subject, form_id, created_id)


async def move_drafts(
    tx: Connection, session: Session, session_id: UUID, kept_until: datetime
) -> None:
    """Move the drafts that belong to this session, and not to the claim, to the session that
    replaces it."""
    await tx.execute(_MOVE_DRAFTS, session.merchant_id, session.session_id, session_id, kept_until)


async def delete_old_drafts(tx: Connection, now: datetime, limit: int) -> int:
    """Delete expired drafts. Their files expire on their own."""
    tag: str = await tx.execute(_REMOVE_OLD_DRAFTS, now, limit)
    return int(tag.rpartition(" ")[2])


def _build_draft(row: Row) -> FormDraft:
    files = [DraftFile(*each) for each in row["files"]]
    return FormDraft(
        subject=row["subject"],
        fields=row["fields"],
        files=files,
        sent_form=row["sent_form"],
        created_id=row["created_id"],
        revision=row["revision"],
        others=row["conflicts"],
    )


class OpenedClaim(msgspec.Struct, frozen=True, gc=False):
    """A session with everything that its pages show."""

    session: Session
    merchant: Merchant
    facts: PageClaim
    # The payment modality that has not ended.
    modality: Modality | None = None
    # The newest modality, if it is a broken plan or a refused request.
    unsuccessful_modality: Modality | None = None
    # The subjects of saved drafts.
    drafts: list[str] = []
    # The JSON of the page's detail, which `Detail.decode` decodes.
    detail: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def debtor_key(self) -> tuple[int, int]:
        """Identifies the debtor of this claim in the queues for uploads and printing."""
        return self.session.merchant_id, self.session.claim_id


class MerchantRow(msgspec.Struct, array_like=True, gc=False):
    merchant_id: int
    key: str
    name: str
    switched_to_workflows: bool
    revision: int
    sandbox_now: datetime | None


class _Opened(msgspec.Struct, gc=False):
    merchant: MerchantRow
    session: Session
    drafts: list[str]
    facts: PageClaim
    modality: ModalityRow | None
    unsuccessful_modality: ModalityRow | None
    detail: msgspec.Raw


_DECODER = msgspec.json.Decoder(_Opened)


async def load_opened_claim(
    tx: Connection, session_hash: bytes, detail: Detail[Any] = NOTHING, *ids: UUID | None
) -> OpenedClaim | None:
    """Load the session, its claim and the page's detail in one statement. The session may have
    ended. `ids` are the detail's arguments."""
    document: str | None = await tx.fetchval(detail.statement, session_hash, *ids)
    return None if document is None else await _decode_opened(tx, document)


async def load_previewed_claim(
    tx: Connection, merchant_id: int, claim_id: int, level: Level, now: datetime
) -> OpenedClaim | None:
    """Load the claim as a session of this level would see it. `now` is the real time."""
    document: str | None = await tx.fetchval(PREVIEW, merchant_id, claim_id, level, now)
    return None if document is None else await _decode_opened(tx, document)


async def _decode_opened(tx: Connection, document: str) -> OpenedClaim:
    opened = _DECODER.decode(document)
    return OpenedClaim(
        session=opened.session,
        merchant=await get_merchant(tx, opened.merchant),
        facts=opened.facts,
        modality=None if opened.modality is None else build_modality(opened.modality),
        unsuccessful_modality=None
        if opened.unsuccessful_modality is None
        else build_modality(opened.unsuccessful_modality),
        drafts=opened.drafts,
        detail=opened.detail,
    )


async def get_merchant(tx: Connection, row: MerchantRow) -> Merchant:
    """Return the merchant with its cached configuration, which is loaded again if its revision has
    changed."""
    cached = get_cached_configuration(row.merchant_id)
    if cached.configuration is not None and cached.revision == row.revision:
        return Merchant(
            merchant_id=row.merchant_id,
            key=row.key,
            name=row.name,
            switched_to_workflows=row.switched_to_workflows,
            revision=row.revision,
            configuration=cached.configuration,
            sandbox_now=row.sandbox_now,
        )
    merchant = await load_merchant(tx, row.merchant_id)
    assert merchant is not None
    return merchant
