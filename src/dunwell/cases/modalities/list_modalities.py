"""List payment modalities, newest first: those of one claim, or all of a merchant's."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.assignee import ANY_ASSIGNEE, AssigneeFilter
from dunwell.accounts.users.store import list_assignee_tests
from dunwell.cases.modalities.modality import Modality, ModalityState, ModalityType
from dunwell.cases.modalities.store import ListedModality, find_modality, load_listed_modalities
from dunwell.core.claims.access import check_claim_exists
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.listed_table import ListedTable, ListPage, NarrowIndex, Order
from dunwell.platform.database.lists import list_page
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class ModalityFilter:
    """All given conditions must match. `is_live` selects modalities that have not ended. `since`
    (inclusive) and `until` (exclusive) apply to the time of the request."""

    state: ModalityState | None = None
    type: ModalityType | None = None
    is_live: bool | None = None
    since: datetime | None = None
    until: datetime | None = None
    whose: AssigneeFilter = ANY_ASSIGNEE


def _match_requested(wanted: ModalityFilter) -> tuple[()] | None:
    is_open_request = wanted.state is ModalityState.REQUESTED and wanted.is_live is True
    return () if is_open_request else None


MODALITIES: ListedTable[ModalityFilter, UUID, ListedModality] = ListedTable(
    name="modalities",
    table="payment_modalities",
    key="modality_id",
    key_type="uuid",
    index="payment_modalities_list",
    narrow_indexes=(
        NarrowIndex(
            "payment_modalities_requested",
            "l.state = 'REQUESTED' AND l.ended_at IS NULL",
            _match_requested,
            covers=("state", "is_live"),
        ),
    ),
    at="requested_at",
    filter=ModalityFilter,
    filters={
        "state": "l.state = {}",
        "type": "l.type = {}",
        "is_live": "(l.ended_at IS NULL) = {}",
        "whose": list_assignee_tests,
    },
    load=load_listed_modalities,
)
_OF_CLAIM = MODALITIES.within(
    "claim_id",
    name="claim modalities",
    index="payment_modalities_claim",
    order=Order("requested_at", "timestamptz"),
)
NO_FILTER = ModalityFilter()


async def list_modalities(
    work: Work, *, limit: int, cursor: str | None = None, wanted: ModalityFilter = NO_FILTER,
    oldest_first: bool = False,
) -> ListPage[ListedModality]:  # fmt: skip
    """Return a page of the merchant's modalities. Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    return await list_page(
        work.scope(), MODALITIES, wanted, limit=limit, cursor=cursor, oldest_first=oldest_first
    )


async def list_claim_modalities(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> ListPage[ListedModality]:
    """Return a page of the claim's modalities. Raises NotFound, and ValidationError for an invalid
    cursor."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        scope = work.scope(claim_id)
        return await list_page(scope, _OF_CLAIM, NO_FILTER, limit=limit, cursor=cursor)


async def get_modality(work: Work, claim_id: int, modality_id: UUID) -> Modality:
    """Return one modality of the claim. Raises NotFound. If both are missing, the message names the
    claim."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        modality = await find_modality(work.tx, work.merchant_id, claim_id, modality_id)
    if modality is None:
        raise NotFound(f"There is no payment modality {modality_id}.")
    return modality
