"""List the communications of a merchant or of one claim, the newest planned first, and get a single
one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from msgspec.structs import replace

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.communications.communication import (
    Communication,
    CommunicationState,
    FoundCommunication,
)
from dunwell.contact.messages.communications.store import (
    find_communication,
    load_communications,
    load_found_communications,
)
from dunwell.core.claims.store import has_claim
from dunwell.platform.database.database import Connection, snapshot
from dunwell.platform.database.listed_table import (
    ListedTable,
    ListPage,
    NarrowIndex,
    NoFilter,
    Order,
)
from dunwell.platform.database.lists import list_page
from dunwell.platform.errors import NotFound

AnyCommunication = TypeVar("AnyCommunication", bound=Communication)


@dataclass(frozen=True, slots=True)
class CommunicationFilter:
    """Filters for communications; all that are given apply. `since` and `until` limit the planning
    time; `until` is exclusive."""

    state: CommunicationState | None = None
    channel: Channel | None = None
    step_id: int | None = None
    since: datetime | None = None
    until: datetime | None = None


def _build_state_index(state: CommunicationState, name: str) -> NarrowIndex:
    return NarrowIndex(
        name,
        f"l.state = '{state}'",
        lambda wanted: () if wanted.state == state else None,
        covers=("state",),
    )


async def _load_of_claim(
    tx: Connection, merchant_id: int, _: int, communication_ids: Sequence[UUID]
) -> Mapping[UUID, Communication]:
    return await load_communications(tx, merchant_id, communication_ids)


COMMUNICATIONS: ListedTable[CommunicationFilter, UUID, FoundCommunication] = ListedTable(
    name="communications",
    table="communications",
    key="communication_id",
    key_type="uuid",
    index="communications_list",
    narrow_indexes=(
        _build_state_index("UNKNOWN", "communications_unknown_list"),
        _build_state_index("FAILED", "communications_failed_list"),
    ),
    at="planned_at",
    filter=CommunicationFilter,
    filters={"state": "l.state = {}", "channel": "l.channel = {}", "step_id": "l.step_id = {}"},
    load=load_found_communications,
)
# A claim has few communications, so they are found by the key of the claim and sorted in memory.
_OF_CLAIM: ListedTable[NoFilter, UUID, Communication] = ListedTable(
    name="claim communications",
    table="communications",
    scope=("merchant_id", "claim_id"),
    key="communication_id",
    key_type="uuid",
    order=Order("planned_at", "timestamptz"),
    index="communications_merchant_id_claim_id_run_step_id_place_key",
    filter=NoFilter,
    load=_load_of_claim,
)
NO_FILTER = CommunicationFilter()


async def list_communications(
    work: Work, *, limit: int, cursor: str | None = None, wanted: CommunicationFilter = NO_FILTER,
    oldest_first: bool = False,
) -> ListPage[FoundCommunication]:  # fmt: skip
    """List the communications of all claims. Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    page = await list_page(
        work.scope(), COMMUNICATIONS, wanted, limit=limit, cursor=cursor, oldest_first=oldest_first
    )
    return page.map(lambda each: _hide_version(work.merchant, each))


async def list_claim_communications(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> ListPage[Communication]:
    """List the communications of one claim. Raises NotFound; ValidationError for an invalid
    cursor.
    """
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        if not await has_claim(work.tx, work.merchant_id, claim_id):
            raise NotFound(f"There is no claim {claim_id}.")
        scope = work.scope(claim_id)
        page = await list_page(scope, _OF_CLAIM, NoFilter(), limit=limit, cursor=cursor)
    return page.map(lambda each: _hide_version(work.merchant, each))


async def get_communication(work: Work, reference: UUID) -> Communication:
    """Return the communication that an ESCALATED event names. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    communication = await find_communication(work.tx, work.merchant_id, reference)
    if communication is None:
        raise NotFound(f"There is no communication {reference}.")
    return _hide_version(work.merchant, communication)


def _hide_version(merchant: Merchant, communication: AnyCommunication) -> AnyCommunication:
    """Remove the version for merchants that use scenarios, which have none."""
    if merchant.switched_to_workflows:
        return communication
    return replace(communication, version=None)
