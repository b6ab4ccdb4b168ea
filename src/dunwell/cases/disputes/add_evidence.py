"""Adds a debtor's files to a dispute that waits for its answer."""

from collections.abc import Collection
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.dispute import DisputeState
from dunwell.cases.disputes.end_dispute import lock_dispute
from dunwell.cases.disputes.evidence import check_evidence_space
from dunwell.cases.disputes.evidence_store import count_evidence, save_evidence
from dunwell.platform.errors import InvalidState


async def add_evidence(
    work: Work, claim_id: int, dispute_id: UUID, ticket_ids: Collection[UUID]
) -> None:
    """ticket_ids: uploads of this merchant that nothing else uses.

    Raises NotFound, InvalidState (it was answered or withdrawn) and ValidationError (too many).
    """
    work.need(Right.CHANGE_CLAIMS)
    _, dispute = await lock_dispute(work, claim_id, dispute_id)
    if dispute.state is not DisputeState.OPEN:
        raise InvalidState(
            f"The dispute is {dispute.state} already and takes no more files.",
            state=str(dispute.state),
        )
    key = (work.merchant_id, dispute_id)
    present = await count_evidence(work.tx, *key)
    check_evidence_space(present, len(ticket_ids))
    tickets = {work.ids.new(work.now): ticket_id for ticket_id in ticket_ids}
    await save_evidence(work.tx, key, tickets=tickets, now=work.now, actor=work.actor)
    await save_audit(
        work, "dispute.addFiles", f"claim:{claim_id}",
        before={"files": present}, after={"files": present + len(tickets)},
        disputeId=str(dispute_id), files=len(tickets),
    )  # fmt: skip
