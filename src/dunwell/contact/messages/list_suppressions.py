"""The list of addresses that a merchant does not contact any more, the newest first."""

from dataclasses import dataclass
from datetime import datetime

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.suppression import SuppressionEntry, SuppressionReason, load_listed
from dunwell.platform.database.listed_table import ListedTable, ListPage
from dunwell.platform.database.lists import list_page
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class SuppressionFilter:
    """All that is given must hold. Suppressed since, inclusive, and until, exclusive."""

    channel: Channel | None = None
    reason: SuppressionReason | None = None
    since: datetime | None = None
    until: datetime | None = None


# The digest differs by channel too.
SUPPRESSIONS: ListedTable[SuppressionFilter, bytes, SuppressionEntry] = ListedTable(
    name="suppressions",
    table="suppressions",
    key="address_digest",
    key_type="bytea",
    index="suppressions_list",
    at="created_at",
    filter=SuppressionFilter,
    filters={"channel": "l.channel = {}", "reason": "l.reason = {}"},
    load=load_listed,
)
NO_FILTER = SuppressionFilter()


async def list_suppressions(
    work: Work, *, limit: int, cursor: str | None = None, wanted: SuppressionFilter = NO_FILTER,
    oldest_first: bool = False,
) -> ListPage[SuppressionEntry]:  # fmt: skip
    """Raises ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    return await list_page(
        work.scope(), SUPPRESSIONS, wanted, limit=limit, cursor=cursor, oldest_first=oldest_first
    )


async def get_suppression(work: Work, channel: Channel, digest: bytes) -> SuppressionEntry:
    """Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    found = (await load_listed(work.tx, work.merchant_id, [digest])).get(digest)
    if found is None or found.channel != channel:
        raise NotFound("This address is not in the list.")
    return found
