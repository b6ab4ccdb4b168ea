"""Reports messages that were accepted and told to fail later: the part a delivery report, a bounce
or the post plays elsewhere.
"""

import asyncio
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.store import load_merchant
from dunwell.adapters.channels.outbox.folder import list_marks
from dunwell.contact.escalation.reports.join_reports import report_failure
from dunwell.contact.notices.settled import report_notice_failure
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.resources import Resources

_REASON = "The outbox was told to fail later."
_STATE = "SELECT state FROM communications WHERE merchant_id = $1 AND communication_id = $2"


async def report_late_failures(resources: Resources) -> int:
    """How many were reported. One whose acceptance is not recorded yet keeps its mark."""
    marks = await asyncio.to_thread(list_marks, resources.settings.data_dir)
    reported = 0
    for mark, merchant_id, communication_id in marks:
        if await _report(resources, merchant_id, communication_id):
            mark.unlink(missing_ok=True)
            reported += 1
    return reported


async def _report(resources: Resources, merchant_id: int, communication_id: UUID) -> bool:
    """Of a contact, else of a notice of this id."""
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, merchant_id)
        if merchant is None:
            return True
        work = Work.open(resources, tx, merchant, SYSTEM)
        state = await tx.fetchval(_STATE, merchant_id, communication_id)
        if state is None:
            return await _report_notice(work, communication_id)
        if state in ("PLANNED", "HANDED_OVER"):
            return False
        await report_failure(work, resources.keys, communication_id, _REASON)
    return True


async def _report_notice(work: Work, notice_id: UUID) -> bool:
    try:
        await report_notice_failure(work, notice_id, _REASON)
    except InvalidState:
        return False
    except NotFound:
        pass
    return True
