"""Looking at a claim from any page: its id in the address, and the note that somebody looked."""

from uuid import UUID

from dunwell.claims.read_claim import ClaimView, read_claim
from dunwell.errors import NotFound
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.rights import Right
from dunwell.portal.web.desk import Desk
from dunwell.portal.web.visit import Visit


def read_claim_id(visit: Visit) -> int:
    """Raises NotFound for what can be no claim's."""
    given = visit.path_params["claim_id"]
    if not (given.isascii() and given.isdigit() and len(given) <= 18):
        raise NotFound("There is no such claim.")
    return int(given)


def read_id(visit: Visit, name: str) -> UUID:
    """Raises NotFound for what can be no id."""
    try:
        return UUID(visit.path_params[name])
    except ValueError:
        raise NotFound("There is no such page.") from None


async def look_at_claim(work: Work, desk: Desk, claim_id: int) -> ClaimView:
    """Kept in the audit log when a merchant's own staff looks. Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    view = await read_claim(work, claim_id)
    if desk.is_outsider:
        await save_audit(work, "claim.look", f"claim:{claim_id}")
    return view
