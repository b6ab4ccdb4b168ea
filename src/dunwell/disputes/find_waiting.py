"""The disputes that wait for an answer, the oldest first, page by page, each with what a person
needs to choose the next one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from dunwell.disputes.dispute import find_answer_day
from dunwell.disputes.reasons import DisputeType
from dunwell.disputes.store_waiting import WaitingRow, count_waiting, load_waiting
from dunwell.kit.cursor import CursorForm
from dunwell.kit.db import snapshot
from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right

# The writing transaction, the dispute.
_CURSORS = CursorForm(b"dsw1", "Q16s")


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
    return await count_waiting(work.tx, work.merchant_id, most)


async def _load(work: Work, limit: int, place: tuple[int, bytes]) -> WaitingDisputes:
    written_by, last_id = place
    rows = await load_waiting(
        work.tx, work.merchant_id, written_by, UUID(bytes=last_id), limit=limit + 1
    )
    disputes = [_describe(work, row) for row in rows[:limit]]
    if len(rows) <= limit:
        return WaitingDisputes(disputes, None)
    last = rows[limit - 1]
    cursor = _CURSORS.write((work.merchant_id,), int(last.written_by), last.dispute_id.bytes)
    return WaitingDisputes(disputes, cursor)


def _describe(work: Work, row: WaitingRow) -> WaitingDispute:
    configuration = work.merchant.configuration
    person = " ".join(part for part in (row.first_name, row.last_name) if part)
    return WaitingDispute(
        dispute_id=row.dispute_id,
        claim_id=row.claim_id,
        type=DisputeType(row.type),
        label=row.label,
        message=row.message,
        opened_at=row.opened_at,
        answer_on=find_answer_day(
            row.opened_at, configuration.disputes.answer_within_days, configuration.timezone
        ),
        reference_number=row.reference_number,
        currency=row.currency,
        name=person or row.company_name or "",
        outstanding_cents=row.outstanding_cents,
        files=row.files,
    )
