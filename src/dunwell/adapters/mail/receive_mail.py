"""Read a received e-mail in a confined child process and store it."""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec
import structlog

from dunwell.accounts.installation.delivery_providers import Line, SmtpLine
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.store import load_merchant
from dunwell.adapters.channels.smtp.return_addresses import ReturnAddress
from dunwell.adapters.mail.incoming import (
    Envelope,
    ReadMail,
    WantedMail,
    find_return_address,
    is_readable,
    make_mail,
    wrap_unreadable_mail,
)
from dunwell.cases.replies.receive_reply import ReplyOutcome, receive_reply
from dunwell.cases.replies.reply import NewReply
from dunwell.contact.sending.report import Report
from dunwell.contact.sending.store import count_reports, count_strange, save_report
from dunwell.platform.children.child_pool import ChildLost, ChildPool
from dunwell.platform.children.fair_queue import QueueLimits
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import RateLimited, Unavailable
from dunwell.platform.resources import Resources

_CHILD = "dunwell.adapters.mail.mail_child"
_MAX_ANSWER_BYTES = 1024 * 1024
# Wall time, with a child's start in it; the child limits its own processor time to less.
_PATIENCE_SECONDS = 15.0
# Two at once, one of which stays free for others. Whoever brings mail waits for half a minute at
# most and then brings it again; connections bound how many wait.
_READ_AT_ONCE = 2
_LIMITS = QueueLimits(slots_per_key=1, waiting_per_key=50, waiting=100, wait_seconds=30.0)


class MailReader:
    """Opened once in a process and closed at its end; children start when first needed."""

    def __init__(self, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._children = ChildPool(
            _CHILD, size=_READ_AT_ONCE, patience_seconds=patience_seconds,
            max_answer_bytes=_MAX_ANSWER_BYTES, limits=_LIMITS,
        )  # fmt: skip

    async def read(self, keys: KeyRing, envelope: Envelope) -> Report | NewReply:
        """Raises Unavailable: bring it again later."""
        address = await asyncio.to_thread(find_return_address, keys, envelope)
        if envelope.is_cut or not is_readable(envelope.content):
            return wrap_unreadable_mail(envelope, address)
        try:
            read = await self._ask(envelope, address)
        except (ChildLost, msgspec.MsgspecError):
            return wrap_unreadable_mail(envelope, address)
        except (OSError, RateLimited) as error:
            raise Unavailable("Mail cannot be read just now. Bring it again later.") from error
        return (
            make_mail(envelope, address, read)
            if read.is_read
            else wrap_unreadable_mail(envelope, address)
        )

    async def close(self) -> None:
        """End the children, each after its message, and take no more messages."""
        await self._children.close()

    async def _ask(self, envelope: Envelope, address: ReturnAddress | None) -> ReadMail:
        wanted = msgspec.msgpack.encode(WantedMail(envelope.content, envelope.sender))
        # What answers a message of ours comes from a debtor of a merchant; all else is one key.
        key = "strangers" if address is None else address.reference.merchant_id
        answer = await self._children.ask(wanted, key=key, size_bytes=len(wanted))
        return msgspec.msgpack.decode(answer, type=ReadMail)


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


async def receive_mail(
    resources: Resources, reader: MailReader, envelope: Envelope
) -> ReplyOutcome:
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
            return ReplyOutcome.TOO_MANY
        is_new = await save_report(tx, read, real_now=now, ids=resources.ids)
    log.info("report received", line=envelope.line, state=read.state, reason=read.reason)
    return ReplyOutcome.NEW if is_new else ReplyOutcome.KNOWN


async def _are_too_many(tx: Connection, report: Report, now: datetime) -> bool:
    """Anybody may bring them: of one message, and of none, only so many are kept."""
    if report.reference is not None:
        known = await count_reports(tx, [report.reference])
        return known[report.reference] >= _MOST_OF_MESSAGE
    return await count_strange(tx, now - _DAY, _MOST_STRANGE) >= _MOST_STRANGE


async def _take(resources: Resources, reply: NewReply) -> ReplyOutcome:
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, reply.reference.merchant_id)
        if merchant is None:
            return ReplyOutcome.GONE
        work = Work.open(resources, tx, merchant, SYSTEM)
        return await receive_reply(work, resources.keys, reply)
