"""Archives a claim by hand: its process ends here, uncollected.

The event ARCHIVED is not raised: it tells of a process that ran to its end.
"""

from dunwell.claims.states import Happening, Status
from dunwell.escalation.end_claim import end_by_merchant
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit


async def archive_claim(work: Work, claim_id: int) -> None:
    """Archiving what is archived changes nothing. Raises NotFound, InvalidState."""
    if await end_by_merchant(work, claim_id, Happening.ARCHIVED_BY_HAND, Status.ARCHIVED):
        await save_audit(work, "claim.archive", f"claim:{claim_id}")
