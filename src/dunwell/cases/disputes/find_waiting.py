"""The disputes that wait for an answer, the oldest first, page by page, each with what a person
needs to choose the next one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.answer_days import find_answer_day
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.assignee import EVERYBODYS, Assignee, Whose
from dunwell.accounts.users.store_colleagues import find_assignees
from dunwell.cases.disputes.reasons import DisputeType
from dunwell.cases.disputes.store_lists import WaitingRow, count_waiting, load_waiting
from dunwell.platform.database.database import snapshot
from dunwell.platform.text.cursor import CursorForm

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
    assignee: Assignee | None


@dataclass(frozen=True, slots=True)
class WaitingDisputes:
    """No cursor when these are the last."""

    disputes: Sequence[WaitingDispute]
    next_cursor: str | None


async def find_waiting_disputes(
    work: Work, *, limit: int, cursor: str | None = None, whose: Whose = EVERYBODYS
) -> WaitingDisputes:
    """Raises ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    owner, place = (work.merchant_id,), (0, bytes(16))
    if cursor is not None:
        place = _CURSORS.read(owner, cursor)
    async with snapshot(work.tx):
        return await _load(work, limit, place, whose)


async def count_waiting_disputes(work: Work, most: int) -> int:
    """At most so many."""
    work.need(Right.READ_CLAIMS)
    return await count_waiting(work.tx, work.merchant_id, most)


async def _load(work: Work, limit: int, place: tuple[int, bytes], whose: Whose) -> WaitingDisputes:
    written_by, last_id = place
    rows = await load_waiting(
        work.tx, work.merchant_id, (written_by, UUID(bytes=last_id)), limit=limit + 1, whose=whose
    )
    given = {row.assignee_id for row in rows if row.assignee_id}
    people = await find_assignees(work.tx, work.merchant_id, given) if given else {}
    disputes = [_describe(work, row, people) for row in rows[:limit]]
    if len(rows) <= limit:
        return WaitingDisputes(disputes, None)
    last = rows[limit - 1]
    cursor = _CURSORS.write((work.merchant_id,), int(last.written_by), last.dispute_id.bytes)
    return WaitingDisputes(disputes, cursor)


def _describe(work: Work, row: WaitingRow, people: Mapping[UUID, Assignee]) -> WaitingDispute:
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
        assignee=people[row.assignee_id] if row.assignee_id else None,
    )
