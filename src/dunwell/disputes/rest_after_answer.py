"""Lets a claim rest after the answer to an objection: without an end as long as a message of it is
under way, then for some quiet days, which begin when a channel has taken it.
"""

from uuid import UUID

from dunwell.claims.store_holds import end_hold_at
from dunwell.disputes.dispute import decide_rest
from dunwell.disputes.store import load_dispute, save_told
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.notices.told import Told


async def rest_after_answer(work: Work, claim_id: int, subject: str, told: Told) -> None:
    """subject: the dispute's id. The claim must be locked. A hold that has fallen stays so; a
    sandbox's has its end already."""
    dispute = await load_dispute(work.tx, work.merchant_id, claim_id, UUID(subject))
    if dispute is None or dispute.resolved_at is None:
        return
    await save_told(work.tx, work.merchant_id, dispute.dispute_id, told.at)
    if not told.is_under_way:
        await save_audit(
            work, "dispute.tell", f"claim:{claim_id}",
            disputeId=subject, isTold=told.at is not None,
        )  # fmt: skip
    if work.merchant.is_sandbox:
        return
    quiet_days = work.merchant.configuration.disputes.quiet_days_after_answer
    ends = decide_rest(dispute.resolved_at, told.at, quiet_days)
    until = None if told.is_under_way else ends
    await end_hold_at(work.tx, work.merchant_id, claim_id, dispute.hold_id, until)
