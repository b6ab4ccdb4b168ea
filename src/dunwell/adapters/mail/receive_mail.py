"""Takes a message that came back, whoever brought it: when this returns, it is kept for good."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import structlog

from dunwell.accounts.installation.delivery_providers import Line, SmtpLine
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.store import load_merchant
from dunwell.adapters.mail.incoming import Envelope
from dunwell.adapters.mail.mail_reader import MailReader
from dunwell.cases.replies.receive_reply import TakenReply, receive_reply
from dunwell.cases.replies.reply import NewReply
from dunwell.contact.sending.report import Report
from dunwell.contact.sending.store import count_reports, count_strange, save_report
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

_DAY = timedelta(days=1)
# Of one message: delays, and the end of them.
_MOST_OF_MESSAGE = 40
# In a day, over all lines, of nothing that we wrote.
_MOST_STRANGE = 1_000

log = structlog.get_logger(__name__)


def find_return_domains(lines: Mapping[str, Line]) -> dict[str, str]:
    """By the domain, the line whose messages come back there."""
    return {
        line.return_domain: name
        for name, line in lines.items()
        if isinstance(line, SmtpLine) and line.return_domain is not None
    }


async def receive_mail(resources: Resources, reader: MailReader, envelope: Envelope) -> TakenReply:
    """Raises Unavailable while the database is away, or while too much is being read: then it was
    not taken."""
    read = await reader.read(resources.keys, envelope)
    if isinstance(read, NewReply):
        taken = await _take(resources, read)
        log.info("answer received", line=envelope.line, outcome=taken.value)
        return taken
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        if await _are_too_many(tx, read, now):
            log.warning("too many reports", line=envelope.line)
            return TakenReply.TOO_MANY
        is_new = await save_report(tx, read, real_now=now, ids=resources.ids)
    log.info("report received", line=envelope.line, state=read.state, reason=read.reason)
    return TakenReply.NEW if is_new else TakenReply.KNOWN


async def _are_too_many(tx: Connection, report: Report, now: datetime) -> bool:
    """Anybody may bring them: of one message, and of none, only so many are kept."""
    if report.reference is not None:
        known = await count_reports(tx, [report.reference])
        return known[report.reference] >= _MOST_OF_MESSAGE
    return await count_strange(tx, now - _DAY, _MOST_STRANGE) >= _MOST_STRANGE


async def _take(resources: Resources, reply: NewReply) -> TakenReply:
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, reply.reference.merchant_id)
        if merchant is None:
            return TakenReply.GONE
        work = Work.open(resources, tx, merchant, SYSTEM)
        return await receive_reply(work, resources.keys, reply)
