"""Undo matches of transactions, from the pages of statements and of open entries."""

from collections.abc import Sequence
from uuid import UUID

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.statements.matches.assign_transactions import undo_match
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.platform.errors import InvalidState, NotFound

_MAX_MATCHES = 100


def parse_match_ids(texts: Sequence[str]) -> list[UUID]:
    """Return the ids of a form or a URL. Raises NotFound if one is not valid."""
    try:
        return [UUID(each) for each in texts[:_MAX_MATCHES]]
    except ValueError:
        raise NotFound("There is no such match.") from None


async def undo_matches(site: PortalSite, access: MerchantAccess, texts: Sequence[str]) -> str:
    """Undo all these matches, or none. Return the code of the result."""
    try:
        async with site.open_work(access) as work:
            work.require(Right.RECORD_MONEY)
            for match_id in parse_match_ids(texts):
                await undo_match(work, match_id)
    except InvalidState as refusal:
        return "undone_before" if refusal.details.get("state") == "UNDONE" else "not_undone"
    return "undone"
