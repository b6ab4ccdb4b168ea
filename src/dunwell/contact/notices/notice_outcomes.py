"""What follows the outcome of a notice: failures are counted, including those reported later (a
bounce, a delivery report), and after some days addresses and contents are erased. The facts of
occasions that can be sent as a letter are kept longer, because a letter may be returned later.

A requested notice is not sent by another channel: the page that waits for it shows the failure and
what to do. An occasion is sent by the next channel (`landing.notifications`). The claim keeps
the kind, time and outcome of its notices. Metrics are counts by kind and channel, without personal
data.
"""

from datetime import timedelta
from typing import Literal
from uuid import UUID

from prometheus_client import Counter

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.contact.notices.notice import NoticeChannel, NoticeKind
from dunwell.contact.notices.occasions.store import erase_occasions, reopen_occasion
from dunwell.contact.notices.store import erase_notices, lock_notice, save_notice_failure
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.metrics import REGISTRY
from dunwell.platform.resources import Resources

NOTICES_KEPT_FOR = timedelta(days=7)
# For occasions that can be sent as a letter: a returned letter is reported after weeks, and the
# occasion is then open again.
ANSWERS_KEPT_FOR = timedelta(days=30)
_ROWS_AT_ONCE = 5000

# FAILED: refused by the channel. FAILED_LATER: reported as not delivered. UNKNOWN: may have been
# sent.
UnsentOutcome = Literal["FAILED", "FAILED_LATER", "UNKNOWN"]

_UNSENT = Counter(
    "dunwell_notices_unsent",
    "Messages that a debtor asked for and that were not sent or delivered, or may not have been "
    "sent.",
    ["kind", "channel", "outcome"],
    registry=REGISTRY,
)


def increment_unsent(kind: NoticeKind, channel: NoticeChannel, outcome: UnsentOutcome) -> None:
    _UNSENT.labels(kind.value, channel, outcome).inc()


async def report_notice_failure(work: Work, notice_id: UUID, reason: str) -> None:
    """Record that a notice did not arrive. A notice that has already failed stays unchanged,
    because reports can be duplicated or late.

    Raises NotFound; InvalidState while the notice has no outcome yet, so that the report is
    processed again later.
    """
    notice = await lock_notice(work.tx, work.merchant_id, notice_id)
    if notice is None:
        raise NotFound(f"There is no notice {notice_id}.")
    if notice.state in ("PLANNED", "HANDED_OVER"):
        raise InvalidState("The channel's own answer is not recorded yet.", state=notice.state)
    if notice.state == "FAILED":
        return
    await save_notice_failure(
        work.tx, work.merchant_id, notice_id=notice_id, reason=reason, now=work.real_now
    )
    await reopen_occasion(work.tx, work.merchant_id, notice_id, work.real_now)
    await save_audit(
        work, "notice.fail", f"claim:{notice.claim_id}",
        noticeId=str(notice_id), kind=notice.kind, channel=notice.channel,
    )  # fmt: skip
    increment_unsent(notice.kind, notice.channel, "FAILED_LATER")


async def sweep_notices(resources: Resources) -> int:
    """Erase the contents of old notices and occasions. Return their number, 0 if none are left."""
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        erased = await erase_occasions(
            tx, now - NOTICES_KEPT_FOR, answers_before=now - ANSWERS_KEPT_FOR, limit=_ROWS_AT_ONCE
        )
        return erased + await erase_notices(tx, now - NOTICES_KEPT_FOR, _ROWS_AT_ONCE)
