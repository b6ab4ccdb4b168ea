"""Lets a claim rest after the answer to an objection: without an end as long as a message of it is
under way, then for some quiet days, which begin when a channel has taken it. A message that is
reported not to have arrived begins it anew, also when those days are over: the next way is tried.
"""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.cases.disputes.dispute import Dispute, decide_rest
from dunwell.cases.disputes.store import load_dispute, save_hold_of, save_told
from dunwell.contact.notices.occasions.facts import Told
from dunwell.core.claims.claim_holds import let_stand, lift_hold
from dunwell.core.claims.holds import HoldKind
from dunwell.core.claims.store import end_hold_at

_WHY = "The answer did not arrive; it is told by the next way."


async def rest_after_answer(work: Work, claim_id: int, subject: str, told: Told) -> None:
    """subject: the dispute's id. The claim must be locked. A sandbox's hold has its end already,
    and one that has fallen stays so, unless an answer that was not told is under way."""
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
    if told.is_under_way:
        await _stand_still(work, dispute)
        return
    quiet_days = work.merchant.configuration.disputes.quiet_days_after_answer
    until = decide_rest(dispute.resolved_at, told.at, quiet_days)
    if until > work.now:
        await end_hold_at(
            work.tx, work.merchant_id, claim_id=claim_id, hold_id=dispute.hold_id, until=until
        )
    else:
        # Nobody can be reached, and the days since the answer itself are over.
        await lift_hold(work, claim_id, HoldKind.DISPUTE, hold_id=dispute.hold_id)


async def _stand_still(work: Work, dispute: Dispute) -> None:
    """By the dispute's hold, or by one in its place; what has ended needs none."""
    hold_id = await let_stand(
        work, dispute.claim_id, HoldKind.DISPUTE, hold_id=dispute.hold_id, reason=_WHY
    )
    if hold_id not in (None, dispute.hold_id):
        await save_hold_of(work.tx, work.merchant_id, dispute.dispute_id, hold_id)
