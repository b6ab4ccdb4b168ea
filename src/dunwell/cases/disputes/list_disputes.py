"""List disputes: all of a merchant's or those of one claim, newest first; the open ones, oldest
first; one dispute and one of its files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.answer_days import compute_overdue_before
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.assignee import ANY_ASSIGNEE, AssigneeFilter
from dunwell.accounts.users.store import list_assignee_tests
from dunwell.cases.disputes.dispute import ClaimDispute, DisputeState, EvidenceFile
from dunwell.cases.disputes.store import (
    ListedDispute,
    UnresolvedDispute,
    find_dispute,
    find_evidence_file,
    list_evidence_files,
    load_listed_disputes,
    load_unresolved_disputes,
)
from dunwell.core.claims.access import check_claim_exists
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.listed_table import (
    Count,
    ListedTable,
    ListPage,
    NarrowIndex,
    Order,
)
from dunwell.platform.database.lists import count_listed, list_page
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class DisputeFilter:
    """All given conditions must match. `until` (exclusive) applies to the time of opening."""

    state: DisputeState | None = None
    whose: AssigneeFilter = ANY_ASSIGNEE
    until: datetime | None = None


def _match_ended(wanted: DisputeFilter) -> Sequence[object] | None:
    return None if wanted.state in (None, DisputeState.OPEN) else (wanted.state,)


DISPUTES: ListedTable[DisputeFilter, UUID, ListedDispute] = ListedTable(
    name="disputes",
    table="disputes",
    key="dispute_id",
    key_type="uuid",
    index="disputes_list",
    narrow_indexes=(
        NarrowIndex(
            "disputes_open_list",
            "l.state = 'OPEN'",
            lambda wanted: () if wanted.state is DisputeState.OPEN else None,
            covers=("state",),
        ),
        NarrowIndex(
            "disputes_by_state",
            "l.state = {} AND l.state <> 'OPEN'",
            _match_ended,
            covers=("state",),
        ),
    ),
    at="opened_at",
    filter=DisputeFilter,
    filters={"state": "l.state = {}", "whose": list_assignee_tests},
    load=load_listed_disputes,
)
_OF_CLAIM = DISPUTES.within(
    "claim_id",
    name="claim disputes",
    index="disputes_claim",
    order=Order("opened_at", "timestamptz"),
)
_UNRESOLVED = DISPUTES.showing(name="waiting disputes", load=load_unresolved_disputes)
OPEN_DISPUTES = DisputeFilter(DisputeState.OPEN)


async def list_disputes(
    work: Work, *, limit: int, cursor: str | None = None, state: DisputeState | None = None,
    is_overdue: bool = False,
) -> ListPage[ListedDispute]:  # fmt: skip
    """List the merchant's disputes. With `is_overdue`, only those that are open and past the
    response deadline.

    Raises ValidationError for an invalid cursor.
    """
    work.require(Right.READ_CLAIMS)
    wanted = DisputeFilter(state)
    if is_overdue:
        if state not in (None, DisputeState.OPEN):
            return ListPage((), None)
        wanted = build_overdue_filter(work)
    return await list_page(work.scope(), DISPUTES, wanted, limit=limit, cursor=cursor)


def build_overdue_filter(work: Work) -> DisputeFilter:
    """Return the filter for open disputes that are past the response deadline."""
    configuration = work.merchant.configuration
    within = configuration.disputes.answer_within_days
    until = compute_overdue_before(work.now, within, configuration.timezone)
    return replace(OPEN_DISPUTES, until=until)


async def list_unresolved_disputes(
    work: Work, *, limit: int, cursor: str | None = None, whose: AssigneeFilter = ANY_ASSIGNEE
) -> ListPage[UnresolvedDispute]:
    """List the open disputes, oldest first. Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    wanted = replace(OPEN_DISPUTES, whose=whose)
    return await list_page(
        work.scope(), _UNRESOLVED, wanted, limit=limit, cursor=cursor, oldest_first=True
    )


async def count_unresolved_disputes(work: Work) -> Count:
    """Count the open disputes, up to the limit of cheap counting."""
    work.require(Right.READ_CLAIMS)
    return await count_listed(work.scope(), DISPUTES, OPEN_DISPUTES)


async def list_claim_disputes(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> ListPage[ListedDispute]:
    """Return a page of the claim's disputes. Raises NotFound, and ValidationError for an invalid
    cursor."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        scope = work.scope(claim_id)
        return await list_page(scope, _OF_CLAIM, DisputeFilter(), limit=limit, cursor=cursor)


async def get_dispute(
    work: Work, claim_id: int, dispute_id: UUID
) -> tuple[ClaimDispute, Sequence[EvidenceFile]]:
    """Return the dispute and its files. Raises NotFound. If both are missing, the message names the
    claim."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        dispute = await find_dispute(work.tx, work.merchant_id, claim_id, dispute_id)
        if dispute is None:
            raise NotFound(f"There is no dispute {dispute_id}.")
        files = await list_evidence_files(work.tx, work.merchant_id, [dispute_id])
    return dispute, files.get(dispute_id, ())


async def get_evidence(work: Work, claim_id: int, dispute_id: UUID, file_id: UUID) -> EvidenceFile:
    """Return one file of a dispute. Raises NotFound, which names the first missing object of claim,
    dispute and file."""
    work.require(Right.READ_CLAIMS)
    file = await find_evidence_file(
        work.tx, work.merchant_id, claim_id, dispute_id=dispute_id, file_id=file_id
    )
    if file is not None:
        return file
    await check_claim_exists(work, claim_id)
    if await find_dispute(work.tx, work.merchant_id, claim_id, dispute_id) is None:
        raise NotFound(f"There is no dispute {dispute_id}.")
    raise NotFound(f"There is no file {file_id}.")
