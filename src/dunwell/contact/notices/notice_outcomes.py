"""What becomes of settled notices: failures are counted, those too that are reported later (a
bounce, a delivery report), and some days on their addresses and contents are taken out. What an
answer says is kept longer: it may come back later than that, and is then told by the next way.

Nothing is sent instead of one that was asked for: the page that waits for it says so, and what to
do. An occasion is told by the next way (`interfaces.landing.telling`). That one was sent, of which
kind, when
and with which outcome, stays with the claim. Figures are counts by kind and channel, no personal
data.
"""

from datetime import timedelta
from typing import Literal
from uuid import UUID

from prometheus_client import Counter

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.contact.notices.notice import NoticeChannel, NoticeKind
from dunwell.contact.notices.occasions.store import empty_occasions, reopen_occasion
from dunwell.contact.notices.store import empty_notices, lock_notice, save_failed
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.metrics import REGISTRY
from dunwell.platform.resources import Resources

KEPT_FOR = timedelta(days=7)
# Of what is told by letter at last: it may come back after weeks, and is told by the next way then.
ANSWERS_KEPT_FOR = timedelta(days=30)
_ROWS_AT_ONCE = 5000

# FAILED: its channel refused it. FAILED_LATER: it did not arrive, as was reported. UNKNOWN: it may
# have left.
Outcome = Literal["FAILED", "FAILED_LATER", "UNKNOWN"]

_UNSENT = Counter(
    "dunwell_notices_unsent",
    "Messages a debtor asked for that were not sent, did not arrive, or may not have left.",
    ["kind", "channel", "outcome"],
    registry=REGISTRY,
)


def count_unsent(kind: NoticeKind, channel: NoticeChannel, outcome: Outcome) -> None:
    _UNSENT.labels(kind.value, channel, outcome).inc()


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
    await save_failed(
        work.tx, work.merchant_id, notice_id=notice_id, reason=reason, now=work.real_now
    )
    await reopen_occasion(work.tx, work.merchant_id, notice_id, work.real_now)
    await save_audit(
        work, "notice.fail", f"claim:{notice.claim_id}",
        noticeId=str(notice_id), kind=notice.kind, channel=notice.channel,
    )  # fmt: skip
    count_unsent(notice.kind, notice.channel, "FAILED_LATER")


async def sweep_notices(resources: Resources) -> int:
    """Notices and occasions emptied; 0 when nothing was left."""
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        emptied = await empty_occasions(
            tx, now - KEPT_FOR, answers_before=now - ANSWERS_KEPT_FOR, limit=_ROWS_AT_ONCE
        )
        return emptied + await empty_notices(tx, now - KEPT_FOR, _ROWS_AT_ONCE)
