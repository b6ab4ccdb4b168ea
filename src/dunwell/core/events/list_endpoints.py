"""Finds a merchant's webhook endpoints with their health, the newest first, page by page."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.webhooks.endpoint import EndpointHealth, EndpointState
from dunwell.core.events.webhooks.health.store import load_health
from dunwell.platform.database.listed_table import ListedTable, ListPage
from dunwell.platform.database.lists import list_page

# As EndpointHealth has it.
_STATES: dict[EndpointState, str] = {
    EndpointState.WORKING: "l.disabled_at IS NULL AND l.first_failure_at IS NULL",
    EndpointState.FAILING: "l.disabled_at IS NULL AND l.first_failure_at IS NOT NULL",
    EndpointState.SWITCHED_OFF: "l.disabled_at IS NOT NULL",
}


@dataclass(frozen=True, slots=True)
class EndpointFilter:
    """All that is given must hold. Added since, inclusive, and until, exclusive."""

    state: EndpointState | None = None
    is_working: bool | None = None
    since: datetime | None = None
    until: datetime | None = None


ENDPOINTS: ListedTable[EndpointFilter, UUID, EndpointHealth] = ListedTable(
    name="endpoints",
    table="webhook_endpoints",
    key="endpoint_id",
    key_type="uuid",
    index="webhook_endpoints_list",
    where="l.removed_at IS NULL",
    at="created_at",
    filter=EndpointFilter,
    filters={
        "state": lambda state, _: [(_STATES[state], ())],
        "is_working": "(l.disabled_at IS NULL AND l.first_failure_at IS NULL) = {}",
    },
    load=load_health,
)
EVERY_ENDPOINT = EndpointFilter()


async def list_endpoints(
    work: Work, *, limit: int, cursor: str | None = None, wanted: EndpointFilter = EVERY_ENDPOINT
) -> ListPage[EndpointHealth]:
    """Whoever may not configure the merchant is shown only the origin of each address. Raises
    ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    page = await list_page(work.scope(), ENDPOINTS, wanted, limit=limit, cursor=cursor)
    return page if Right.CONFIGURE in work.actor.rights else page.map(EndpointHealth.without_path)
