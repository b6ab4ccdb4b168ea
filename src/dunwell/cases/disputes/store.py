"""The SQL of disputes, their files, assignees, overdue notices and suppressed addresses."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.actor import Actor, ActorKind
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.users.assignee import Assignee
from dunwell.accounts.users.store import load_assignees_by_id
from dunwell.cases.disputes.dispute import ClaimDispute, DisputeState, EvidenceFile
from dunwell.cases.disputes.reasons import DisputeType
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

COLUMNS = (
    "dispute_id, claim_id, type, reason, label, message, answers, hold_id, actor_kind, opened_at,"
    " state, resolved_at, resolution, ended_claim, actor_id, response_sent_at,"
    " released_at"
)
# Nested, with the files, in the statement of the debtor's page. Uses the primary key.
LOAD_DISPUTE = compose(
    """
SELECT {columns}
FROM disputes
WHERE merchant_id = $1 AND dispute_id = $3 AND claim_id = $2
""",
    columns=COLUMNS,
)
# Disputes that are open or were opened after $3. Uses the index disputes_claim.
_LIST_RECENT = compose(
    """
SELECT {columns}
FROM disputes
WHERE merchant_id = $1 AND claim_id = $2 AND (opened_at > $3 OR state = 'OPEN')
ORDER BY opened_at, dispute_id
""",
    columns=COLUMNS,
)
_INSERT = """
INSERT INTO disputes
    (merchant_id, claim_id, dispute_id, type, reason, label, message, answers, hold_id, opened_at,
     actor_kind, actor_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
"""
# Drafts of a response are deleted when the dispute ends.
_SAVE_END = """
WITH ended AS (
    UPDATE disputes
    SET state = $3, resolved_at = $4, resolution = $5, ended_claim = $6
    WHERE merchant_id = $1 AND dispute_id = $2 AND state = 'OPEN'
    RETURNING dispute_id
)
DELETE FROM response_drafts
WHERE merchant_id = $1 AND dispute_id IN (SELECT dispute_id FROM ended)
"""
# Uses the primary key.
_SAVE_RESPONSE_DELIVERY = """
UPDATE disputes SET response_sent_at = $3 WHERE merchant_id = $1 AND dispute_id = $2
"""
# Uses the primary key.
_SAVE_HOLD = """
UPDATE disputes SET hold_id = $3 WHERE merchant_id = $1 AND dispute_id = $2
"""
# Both statements use the primary key.
_FIND_ASSIGNEE = "SELECT assignee_id FROM disputes WHERE merchant_id = $1 AND dispute_id = $2"
_SAVE_ASSIGNEE = "UPDATE disputes SET assignee_id = $3 WHERE merchant_id = $1 AND dispute_id = $2"


async def find_dispute(
    tx: Connection, merchant_id: int, claim_id: int, dispute_id: UUID
) -> ClaimDispute | None:
    row = await tx.fetchrow(LOAD_DISPUTE, merchant_id, claim_id, dispute_id)
    return None if row is None else build_dispute(row)


async def list_recent_disputes(
    tx: Connection, merchant_id: int, claim_id: int, since: datetime
) -> list[ClaimDispute]:
    """Return the claim's disputes that are open or were opened after `since`, oldest first."""
    rows = await tx.fetch(_LIST_RECENT, merchant_id, claim_id, since)
    return [build_dispute(row) for row in rows]


async def insert_dispute(tx: Connection, merchant_id: int, dispute: ClaimDispute) -> None:
    """Insert a dispute of a locked claim."""
    await tx.execute(
        _INSERT, merchant_id, dispute.claim_id, dispute.dispute_id, dispute.type, dispute.reason,
        dispute.label, dispute.message, dict(dispute.answers), dispute.hold_id, dispute.opened_at,
        dispute.actor_kind, dispute.actor_id,
    )  # fmt: skip


async def save_dispute_end(tx: Connection, merchant_id: int, dispute: ClaimDispute) -> None:
    """Save how an open dispute ended, and delete the drafts of a response."""
    await tx.execute(
        _SAVE_END, merchant_id, dispute.dispute_id, dispute.state, dispute.resolved_at,
        dispute.resolution, dispute.ended_claim,
    )  # fmt: skip


async def save_response_delivery(
    tx: Connection, merchant_id: int, dispute_id: UUID, response_sent_at: datetime | None
) -> None:
    """Save when a channel accepted the response, or None if no channel has."""
    await tx.execute(_SAVE_RESPONSE_DELIVERY, merchant_id, dispute_id, response_sent_at)


async def save_dispute_hold(
    tx: Connection, merchant_id: int, dispute_id: UUID, hold_id: UUID | None
) -> None:
    """Save the hold that now stops the dispute's claim."""
    await tx.execute(_SAVE_HOLD, merchant_id, dispute_id, hold_id)


def build_dispute(row: Mapping[str, Any]) -> ClaimDispute:
    """Build a dispute from a row with COLUMNS."""
    values = dict(row)
    values["type"] = DisputeType(row["type"])
    values["actor_kind"] = ActorKind(row["actor_kind"])
    values["state"] = DisputeState(row["state"])
    return ClaimDispute(**values)


async def find_assignee_id(tx: Connection, merchant_id: int, dispute_id: UUID) -> UUID | None:
    assignee_id: UUID | None = await tx.fetchval(_FIND_ASSIGNEE, merchant_id, dispute_id)
    return assignee_id


async def save_assignee(
    tx: Connection, merchant_id: int, dispute_id: UUID, assignee_id: UUID | None
) -> None:
    """Save the assignee. The claim must be locked."""
    await tx.execute(_SAVE_ASSIGNEE, merchant_id, dispute_id, assignee_id)


_FILE_COLUMNS = (
    "f.file_id, u.file_name AS name, u.content_type, u.size_bytes, f.added_at, u.storage_key"
)
_FILES_AND_UPLOADS = (
    "dispute_files f JOIN uploads u ON u.merchant_id = $1 AND u.ticket_id = f.ticket_id"
)
# The files of several disputes, oldest first per dispute. Nested in the statement of the debtor's
# page. Uses primary keys.
LOAD_FILES = compose(
    """
SELECT f.dispute_id, {columns}
FROM {joined}
WHERE f.merchant_id = $1 AND f.dispute_id = ANY($2::uuid[])
ORDER BY f.added_at, f.file_id
""",
    columns=_FILE_COLUMNS,
    joined=_FILES_AND_UPLOADS,
)
# The dispute must belong to the claim. Uses primary keys.
_FIND_FILE = compose(
    """
SELECT {columns}
FROM {joined}
JOIN disputes d ON d.merchant_id = $1 AND d.dispute_id = f.dispute_id
WHERE f.merchant_id = $1 AND d.claim_id = $2 AND f.dispute_id = $3 AND f.file_id = $4
""",
    columns=_FILE_COLUMNS,
    joined=_FILES_AND_UPLOADS,
)
# Uses the primary key.
_COUNT_FILES = "SELECT count(*) FROM dispute_files WHERE merchant_id = $1 AND dispute_id = $2"
# Uses primary keys.
_LIST_DIGESTS = compose(
    "SELECT u.sha256 FROM {joined} WHERE f.merchant_id = $1 AND f.dispute_id = $2",
    joined=_FILES_AND_UPLOADS,
)
_INSERT_FILES = """
INSERT INTO dispute_files
    (merchant_id, dispute_id, file_id, ticket_id, added_at, actor_kind, actor_id)
SELECT $1, $2, given.file_id, given.ticket_id, $5, $6, $7
FROM unnest($3::uuid[], $4::uuid[]) AS given (file_id, ticket_id)
"""


async def list_evidence_files(
    tx: Connection, merchant_id: int, dispute_ids: Collection[UUID]
) -> dict[UUID, list[EvidenceFile]]:
    """Return the files by dispute, oldest first, for disputes that have any."""
    files: dict[UUID, list[EvidenceFile]] = {}
    for row in await tx.fetch(LOAD_FILES, merchant_id, list(dispute_ids)):
        files.setdefault(row["dispute_id"], []).append(_build_file(row))
    return files


async def find_evidence_file(
    tx: Connection, merchant_id: int, claim_id: int, dispute_id: UUID, file_id: UUID
) -> EvidenceFile | None:
    row = await tx.fetchrow(_FIND_FILE, merchant_id, claim_id, dispute_id, file_id)
    return None if row is None else _build_file(row)


async def count_evidence_files(tx: Connection, merchant_id: int, dispute_id: UUID) -> int:
    count: int = await tx.fetchval(_COUNT_FILES, merchant_id, dispute_id)
    return count


async def list_evidence_digests(tx: Connection, merchant_id: int, dispute_id: UUID) -> set[bytes]:
    """Return the SHA-256 digests of the dispute's files."""
    return {row["sha256"] for row in await tx.fetch(_LIST_DIGESTS, merchant_id, dispute_id)}


async def insert_evidence_files(
    tx: Connection, dispute: tuple[int, UUID], tickets: dict[UUID, UUID], now: datetime,
    actor: Actor,
) -> None:  # fmt: skip
    """Insert files of a dispute whose claim is locked.

    `dispute` is the pair of merchant id and dispute id. `tickets` maps the new file ids to the ids
    of the uploads.
    """
    await tx.execute(
        _INSERT_FILES,
        *dispute,
        list(tickets),
        list(tickets.values()),
        now,
        actor.kind,
        actor.actor_id,
    )


def _build_file(row: Row) -> EvidenceFile:
    return EvidenceFile(
        file_id=row["file_id"],
        name=row["name"],
        content_type=row["content_type"],
        size_bytes=row["size_bytes"],
        added_at=row["added_at"],
        storage_key=row["storage_key"],
    )


# Over all merchants. Only few rows are read: open disputes that have not been reported as overdue.
# This statement and the next use the index disputes_overdue.
_LIST_MERCHANTS = """
SELECT DISTINCT merchant_id FROM disputes WHERE state = 'OPEN' AND overdue_reported_at IS NULL
"""
_LIST_OVERDUE = """
SELECT claim_id, dispute_id
FROM disputes
WHERE merchant_id = $1 AND state = 'OPEN' AND overdue_reported_at IS NULL AND opened_at < $2
ORDER BY opened_at
LIMIT $3
"""
# Uses the primary key.
_MARK_OVERDUE_REPORTED = """
UPDATE disputes
SET overdue_reported_at = $3
WHERE merchant_id = $1 AND dispute_id = $2 AND state = 'OPEN' AND overdue_reported_at IS NULL
RETURNING true
"""


async def list_merchants_with_unreported_disputes(tx: Connection) -> Sequence[int]:
    """Return the merchants with open disputes that have not been reported as overdue."""
    return [row["merchant_id"] for row in await tx.fetch(_LIST_MERCHANTS)]


async def list_overdue_disputes(
    tx: Connection, merchant_id: int, opened_before: datetime, limit: int
) -> list[tuple[int, UUID]]:
    """Return the claim id and dispute id of the oldest overdue disputes."""
    rows = await tx.fetch(_LIST_OVERDUE, merchant_id, opened_before, limit)
    return [(row["claim_id"], row["dispute_id"]) for row in rows]


async def mark_overdue_reported(
    tx: Connection, merchant_id: int, dispute_id: UUID, now: datetime
) -> bool:
    """Mark the dispute as reported. Return False if it was reported before or has ended."""
    return bool(await tx.fetchval(_MARK_OVERDUE_REPORTED, merchant_id, dispute_id, now))


# Uses the primary key.
_SAVE_ADDRESS = """
UPDATE disputes SET suppressed_channel = $3, suppressed_digests = $4, key_version = $5
WHERE merchant_id = $1 AND dispute_id = $2
"""
# Uses the primary key.
_SAVE_PERSON = """
UPDATE disputes SET stopped_identities = $3, key_version = $4
WHERE merchant_id = $1 AND dispute_id = $2
"""
# Uses the primary key.
_RELEASE = """
UPDATE disputes SET released_at = $3
WHERE merchant_id = $1 AND dispute_id = $2
RETURNING suppressed_channel, suppressed_digests
"""
# Uses the primary key.
_LOCK_SUPPRESSION = """
SELECT FROM suppressions
WHERE merchant_id = $1 AND channel = $2 AND address_digest = ANY($3::bytea[])
FOR UPDATE
"""
# Uses the primary key and the index disputes_suppressed.
_LIFT_SUPPRESSION = """
DELETE FROM suppressions
WHERE merchant_id = $1 AND channel = $2 AND address_digest = ANY($3::bytea[])
    AND reason = 'WRONG_PERSON'
    AND NOT EXISTS (
        SELECT FROM disputes other
        WHERE other.merchant_id = $1 AND other.released_at IS NULL
            AND other.suppressed_channel = $2 AND other.suppressed_digests && $3::bytea[])
RETURNING masked_address
"""


@dataclass(frozen=True, slots=True)
class SuppressedAddress:
    """A suppressed address. The digests are those of one address under each version of the secret
    key."""

    channel: Channel
    digests: Sequence[bytes]


async def save_suppressed_address(
    tx: Connection, merchant_id: int, dispute_id: UUID, address: SuppressedAddress, key_version: int
) -> None:
    await tx.execute(
        _SAVE_ADDRESS, merchant_id, dispute_id, address.channel, list(address.digests), key_version
    )


async def save_stopped_person(
    tx: Connection, merchant_id: int, dispute_id: UUID, identities: Sequence[bytes],
    key_version: int,
) -> None:  # fmt: skip
    await tx.execute(_SAVE_PERSON, merchant_id, dispute_id, list(identities), key_version)


async def save_release(
    tx: Connection, merchant_id: int, dispute_id: UUID, now: datetime
) -> SuppressedAddress | None:
    """Mark the dispute's claim as visible again. Return the address that the dispute suppressed, or
    None."""
    channel, digests = await tx.fetchrow(_RELEASE, merchant_id, dispute_id, now)
    return SuppressedAddress(channel, digests) if channel else None


async def lock_suppression(tx: Connection, merchant_id: int, address: SuppressedAddress) -> bool:
    """Lock the suppression against concurrent changes. Return False if the address is not
    suppressed."""
    row = await tx.fetchrow(_LOCK_SUPPRESSION, merchant_id, address.channel, list(address.digests))
    return row is not None


async def lift_wrong_person_suppression(
    tx: Connection, merchant_id: int, address: SuppressedAddress
) -> str | None:
    """Delete the locked suppression, unless it has another reason or another dispute needs it.

    Return the masked address, or None if nothing was deleted.
    """
    lifted: str | None = await tx.fetchval(
        _LIFT_SUPPRESSION, merchant_id, address.channel, list(address.digests)
    )
    return lifted


# This statement and the next use primary keys.
_LOAD_LISTED = compose(
    """
SELECT {columns},
       (SELECT c.reference_number FROM claims c
        WHERE c.merchant_id = $1 AND c.claim_id = d.claim_id) AS reference_number
FROM disputes d
WHERE d.merchant_id = $1 AND d.dispute_id = ANY($2::uuid[])
""",
    columns=COLUMNS,
)
_LOAD_UNRESOLVED = """
SELECT d.dispute_id, d.assignee_id, d.claim_id, d.type, d.label, d.message, d.opened_at,
       c.reference_number, c.currency,
       coalesce(nullif(concat_ws(' ', nullif(n.first_name, ''), nullif(n.last_name, '')), ''),
                n.company_name, '') AS name,
       (SELECT coalesce(sum(i.value_cents), 0)::bigint FROM items i
        WHERE i.merchant_id = $1 AND i.claim_id = d.claim_id)
       - (SELECT coalesce(sum(a.amount_cents), 0)::bigint FROM allocations a
          WHERE a.merchant_id = $1 AND a.claim_id = d.claim_id) AS outstanding_cents,
       (SELECT count(*) FROM dispute_files f
        WHERE f.merchant_id = $1 AND f.dispute_id = d.dispute_id) AS files
FROM disputes d
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = d.claim_id
JOIN debtors n ON n.merchant_id = $1 AND n.claim_id = d.claim_id
WHERE d.merchant_id = $1 AND d.dispute_id = ANY($2::uuid[])
"""


@dataclass(frozen=True, slots=True)
class ListedDispute:
    """A dispute with its claim's reference number and its files."""

    dispute: ClaimDispute
    reference_number: str
    files: Sequence[EvidenceFile] = ()


@dataclass(frozen=True, slots=True)
class UnresolvedDispute:
    """An open dispute with the facts by which staff choose the next one. `name` is the debtor's."""

    dispute_id: UUID
    claim_id: int
    type: DisputeType
    label: str | None
    message: str | None
    opened_at: datetime
    reference_number: str
    currency: str
    name: str
    outstanding_cents: int
    files: int
    assignee: Assignee | None


async def load_listed_disputes(
    tx: Connection, merchant_id: int, dispute_ids: Sequence[UUID]
) -> Mapping[UUID, ListedDispute]:
    """Return the disputes by id."""
    rows = await tx.fetch(_LOAD_LISTED, merchant_id, list(dispute_ids))
    files = await list_evidence_files(tx, merchant_id, dispute_ids)
    disputes = {}
    for row in rows:
        values, dispute_id = dict(row), row["dispute_id"]
        reference = values.pop("reference_number")
        disputes[dispute_id] = ListedDispute(
            build_dispute(values), reference, files.get(dispute_id, ())
        )
    return disputes


async def load_unresolved_disputes(
    tx: Connection, merchant_id: int, dispute_ids: Sequence[UUID]
) -> Mapping[UUID, UnresolvedDispute]:
    """Return the disputes by id."""
    rows = await tx.fetch(_LOAD_UNRESOLVED, merchant_id, list(dispute_ids))
    assignee_ids = {row["assignee_id"] for row in rows if row["assignee_id"]}
    assignees = await load_assignees_by_id(tx, merchant_id, assignee_ids) if assignee_ids else {}
    disputes = {}
    for row in rows:
        values = dict(row)
        assignee = assignees.get(values.pop("assignee_id"))
        values["type"] = DisputeType(row["type"])
        disputes[row["dispute_id"]] = UnresolvedDispute(**values, assignee=assignee)
    return disputes
