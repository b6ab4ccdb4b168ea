"""Finds a merchant's disputes over all claims, the newest first, page by page.

They stand in the order of their writing transactions; those of one that still runs are held back:
nothing ever appears behind a cursor that was handed out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.answer_days import find_overdue_before
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.dispute import DisputeState
from dunwell.cases.disputes.evidence import EvidenceFile
from dunwell.cases.disputes.evidence_store import load_evidence
from dunwell.cases.disputes.store_lists import DisputeFilter, DisputePlace, ListedDispute, load_page
from dunwell.platform.database.database import snapshot
from dunwell.platform.text.cursor import CursorForm

# The writing transaction, the dispute.
_CURSORS = CursorForm(b"dsp1", "Q16s")


@dataclass(frozen=True, slots=True)
class FoundDisputes:
    """No cursor when these are the last. files: of those that have any, by the dispute's id."""

    disputes: Sequence[ListedDispute]
    files: Mapping[UUID, Sequence[EvidenceFile]]
    next_cursor: str | None


async def find_disputes(
    work: Work, *, limit: int, cursor: str | None = None, state: DisputeState | None = None,
    is_overdue: bool = False,
) -> FoundDisputes:  # fmt: skip
    """is_overdue: only those that are open and should have been answered by now. Raises
    ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    owner = (work.merchant_id,)
    wanted, place = DisputeFilter(state), None
    if is_overdue:
        if state not in (None, DisputeState.OPEN):
            return FoundDisputes((), {}, None)
        configuration = work.merchant.configuration
        within = configuration.disputes.answer_within_days
        opened_before = find_overdue_before(work.now, within, configuration.timezone)
        wanted = DisputeFilter(DisputeState.OPEN, opened_before)
    if cursor is not None:
        written_by, dispute_id = _CURSORS.read(owner, cursor)
        place = DisputePlace(written_by, UUID(bytes=dispute_id))
    async with snapshot(work.tx):
        found = await load_page(
            work.tx, work.merchant_id, limit=limit + 1, place=place, wanted=wanted
        )
        page = found[:limit]
        ids = [each.dispute.dispute_id for each in page]
        files = await load_evidence(work.tx, work.merchant_id, ids)
    if len(found) <= limit:
        return FoundDisputes(page, files, None)
    last = page[-1].place
    next_cursor = _CURSORS.write(owner, last.written_by, last.dispute_id.bytes)
    return FoundDisputes(page, files, next_cursor)
