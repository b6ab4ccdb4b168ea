"""The disputes that wait for an answer, the oldest first, page by page, each with what a person
needs to choose the next one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from dunwell.disputes.dispute import find_answer_day
from dunwell.disputes.reasons import DisputeType
from dunwell.kit.cursor import CursorForm
from dunwell.kit.db import Connection, snapshot
from dunwell.kit.epochs import SETTLED_BEFORE
from dunwell.kit.sql import compose
from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right

# The writing transaction, the dispute.
_CURSORS = CursorForm(b"dsw1", "Q16s")
# Rides on disputes_open_list; then on primary keys.
_LOAD = compose(
    """
SELECT d.dispute_id, d.claim_id, d.type, d.label, d.message, d.opened_at,
       d.written_by::text AS written_by, c.reference_number, c.currency, n.first_name, n.last_name,
       n.company_name,
       (SELECT coalesce(sum(i.value_cents), 0)::bigint FROM items i
        WHERE i.merchant_id = $1 AND i.claim_id = d.claim_id)
       - (SELECT coalesce(sum(a.amount_cents), 0)::bigint FROM allocations a
          WHERE a.merchant_id = $1 AND a.claim_id = d.claim_id) AS outstanding_cents,
       (SELECT count(*) FROM dispute_files f
        WHERE f.merchant_id = $1 AND f.dispute_id = d.dispute_id) AS files
FROM disputes d
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = d.claim_id
JOIN debtors n ON n.merchant_id = $1 AND n.claim_id = d.claim_id
WHERE d.merchant_id = $1 AND d.state = 'OPEN'
  AND (d.written_by, d.dispute_id) > ($2::text::xid8, $3::uuid) AND d.written_by < {settled}
ORDER BY d.written_by, d.dispute_id
LIMIT $4
""",
    settled=SETTLED_BEFORE,
)
_COUNT = """
SELECT count(*)
FROM (SELECT FROM disputes WHERE merchant_id = $1 AND state = 'OPEN' LIMIT $2) counted
"""


@dataclass(frozen=True, slots=True)
class WaitingDispute:
    dispute_id: UUID
    claim_id: int
    type: DisputeType
    label: str | None
    message: str | None
    opened_at: datetime
    answer_on: date
    reference_number: str
    currency: str
    name: str
    outstanding_cents: int
    files: int


@dataclass(frozen=True, slots=True)
class WaitingDisputes:
    """No cursor when these are the last."""

    disputes: Sequence[WaitingDispute]
    next_cursor: str | None


async def find_waiting_disputes(
    work: Work, *, limit: int, cursor: str | None = None
) -> WaitingDisputes:
    """Raises ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    owner, place = (work.merchant_id,), (0, bytes(16))
    if cursor is not None:
        place = _CURSORS.read(owner, cursor)
    async with snapshot(work.tx):
        return await _load(work, limit, place)


async def count_waiting_disputes(work: Work, most: int) -> int:
    """At most so many."""
    work.need(Right.READ_CLAIMS)
    return await _count(work.tx, work.merchant_id, most)


async def _count(tx: Connection, merchant_id: int, most: int) -> int:
    count: int = await tx.fetchval(_COUNT, merchant_id, most)
    return count


async def _load(work: Work, limit: int, place: tuple[int, bytes]) -> WaitingDisputes:
    configuration = work.merchant.configuration
    written_by, last_id = place
    rows = await work.tx.fetch(
        _LOAD, work.merchant_id, str(written_by), UUID(bytes=last_id), limit + 1
    )
    disputes = [
        WaitingDispute(
            dispute_id=row["dispute_id"],
            claim_id=row["claim_id"],
            type=DisputeType(row["type"]),
            label=row["label"],
            message=row["message"],
            opened_at=row["opened_at"],
            answer_on=find_answer_day(
                row["opened_at"], configuration.disputes.answer_within_days, configuration.timezone
            ),
            reference_number=row["reference_number"],
            currency=row["currency"],
            name=" ".join(part for part in (row["first_name"], row["last_name"]) if part)
            or row["company_name"]
            or "",
            outstanding_cents=row["outstanding_cents"],
            files=row["files"],
        )
        for row in rows[:limit]
    ]
    if len(rows) <= limit:
        return WaitingDisputes(disputes, None)
    last = rows[limit - 1]
    cursor = _CURSORS.write((work.merchant_id,), int(last["written_by"]), last["dispute_id"].bytes)
    return WaitingDisputes(disputes, cursor)
