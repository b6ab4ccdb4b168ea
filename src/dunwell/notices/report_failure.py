"""Records that a notice a channel had accepted did not arrive: a bounce, a delivery report.

Nothing is sent instead. The page that waits for it says so, and what to do.
"""

from uuid import UUID

from dunwell.errors import InvalidState, NotFound
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.notices.figures import count_unsent
from dunwell.notices.store import lock_notice, save_failed


async def report_notice_failure(work: Work, notice_id: UUID, reason: str) -> None:
    """One that has failed already stays as it is: reports may come twice, and late.

    Raises NotFound, and InvalidState for one that is still to be settled: the report is to come
    again.
    """
    notice = await lock_notice(work.tx, work.merchant_id, notice_id)
    if notice is None:
        raise NotFound(f"There is no notice {notice_id}.")
    if notice.state in ("PLANNED", "HANDED_OVER"):
        raise InvalidState("The channel's own answer is not recorded yet.", state=notice.state)
    if notice.state == "FAILED":
        return
    await save_failed(work.tx, work.merchant_id, notice_id, reason, work.real_now)
    await save_audit(
        work, "notice.fail", f"claim:{notice.claim_id}",
        noticeId=str(notice_id), kind=notice.kind, channel=notice.channel,
    )  # fmt: skip
    count_unsent(notice.kind, notice.channel, "FAILED_LATER")
