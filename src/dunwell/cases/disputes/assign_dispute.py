"""Who answers a dispute: somebody takes it on, gives it to a colleague, or to nobody.

The claim is locked first, and whose it is compared with what was seen, so that of two who give it
away at once the second is told.
"""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.assignee import Assignee, check_assignment, no_colleague
from dunwell.accounts.users.store import find_assignees
from dunwell.cases.disputes.dispute import DisputeState
from dunwell.cases.disputes.end_dispute import lock_dispute
from dunwell.cases.disputes.store import load_assignee, save_assignee
from dunwell.platform.errors import InvalidState


async def assign_dispute(
    work: Work, claim_id: int, dispute_id: UUID, assignee_id: UUID | None, *, known: UUID | None
) -> None:
    """known: whose it was when it was looked at. Giving it to whose it is changes nothing.

    Raises NotFound, InvalidState (it has ended), EditConflict, and ValidationError for who may
    not answer here.
    """
    work.need(Right.ANSWER)
    _, dispute = await lock_dispute(work, claim_id, dispute_id)
    if dispute.state is not DisputeState.OPEN:
        raise InvalidState("The dispute has ended already.", state=str(dispute.state))
    wanted = None
    if assignee_id is not None:
        wanted = (await find_assignees(work.tx, work.merchant_id, [assignee_id])).get(assignee_id)
        if wanted is None:
            raise no_colleague()
    present = await load_assignee(work.tx, work.merchant_id, dispute_id)
    if not check_assignment(present, known, wanted):
        return
    await save_assignee(work.tx, work.merchant_id, dispute_id, assignee_id)
    await save_audit(
        work, "dispute.assign", f"claim:{claim_id}",
        before={"assignee": present and str(present)},
        after={"assignee": assignee_id and str(assignee_id)},
        disputeId=str(dispute_id),
    )  # fmt: skip


async def read_assignee(work: Work, dispute_id: UUID) -> Assignee | None:
    """None: it is nobody's, or there is no such dispute."""
    work.need(Right.READ_CLAIMS)
    assignee_id = await load_assignee(work.tx, work.merchant_id, dispute_id)
    if assignee_id is None:
        return None
    return (await find_assignees(work.tx, work.merchant_id, [assignee_id]))[assignee_id]
