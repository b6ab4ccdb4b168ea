"""Read a received e-mail and store it, whether it came by SMTP, LMTP or IMAP.

A small pool of confined child processes parses untrusted e-mails, so that a hostile one costs a
child a few seconds and delays no others. A message that cannot be parsed within the limits is
stored unparsed for a clerk to look at.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec
import structlog

from dunwell.accounts.installation.delivery_providers import DeliveryProvider, SmtpProvider
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.store import load_merchant
from dunwell.adapters.channels.smtp.return_addresses import ReturnAddress
from dunwell.adapters.mail.incoming import (
    Envelope,
    MailRequest,
    ParsedMail,
    build_unreadable_mail,
    classify_mail,
    find_return_address,
    is_readable,
)
from dunwell.cases.replies.receive_reply import ReplyOutcome, receive_reply
from dunwell.cases.replies.reply import NewReply
from dunwell.contact.sending.report import Report
from dunwell.contact.sending.store import count_reports, count_unmatched_reports, save_report
from dunwell.platform.children.child_pool import ChildLost, ChildPool
from dunwell.platform.children.fair_queue import QueueLimits
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import RateLimited, Unavailable
from dunwell.platform.resources import Resources

_CHILD = "dunwell.adapters.mail.mail_child"
_MAX_ANSWER_BYTES = 1024 * 1024
# Wall time, which includes starting the child. The child's own limit on processor time is lower.
_PARSE_SECONDS = 15.0
# At most two messages are parsed at a time, and at most one of them for the same merchant or from
# strangers (see `_parse_in_child`). A client waits up to half a minute and then tries again. The
# number of connections limits how many wait.
_PARSED_AT_ONCE = 2
_LIMITS = QueueLimits(slots_per_key=1, waiting_per_key=50, waiting=100, wait_seconds=30.0)


class MailParser:
    """A pool that is opened once in a process and closed at its end. Children start when they are
    first needed."""

    def __init__(self, timeout_seconds: float = _PARSE_SECONDS) -> None:
        self._children = ChildPool(
            _CHILD, size=_PARSED_AT_ONCE, timeout_seconds=timeout_seconds,
            max_answer_bytes=_MAX_ANSWER_BYTES, limits=_LIMITS,
        )  # fmt: skip

    async def classify(self, keys: KeyRing, envelope: Envelope) -> Report | NewReply:
        """Return what the message is. Raises Unavailable if the client has to try again later."""
        address = await asyncio.to_thread(find_return_address, keys, envelope)
        if envelope.is_cut or not is_readable(envelope.content):
            return build_unreadable_mail(envelope, address)
        try:
            parsed = await self._parse_in_child(envelope, address)
        except (ChildLost, msgspec.MsgspecError):
            return build_unreadable_mail(envelope, address)
        except (OSError, RateLimited) as error:
            raise Unavailable(
                "The e-mail cannot be processed at the moment. Deliver it again later."
            ) from error
        return (
            classify_mail(envelope, address, parsed)
            if parsed.is_parsed
            else build_unreadable_mail(envelope, address)
        )

    async def close(self) -> None:
        """Let each child finish its message, end the children and accept no more messages."""
        await self._children.close()

    async def _parse_in_child(
        self, envelope: Envelope, address: ReturnAddress | None
    ) -> ParsedMail:
        request = msgspec.msgpack.encode(MailRequest(envelope.content, envelope.sender))
        # A message that contains one of our return addresses counts for that merchant. All others
        # share one key.
        key = "strangers" if address is None else address.reference.merchant_id
        answer_bytes = await self._children.ask(request, key=key, size_bytes=len(request))
        return msgspec.msgpack.decode(answer_bytes, type=ParsedMail)


_DAY = timedelta(days=1)
# The largest number of reports that are stored for one of our messages: delays and a final state.
_MAX_REPORTS_PER_MESSAGE = 40
# The largest number of reports per day, over all delivery providers, that belong to none of our
# messages.
_MAX_UNRELATED_PER_DAY = 1_000

log = structlog.get_logger(__name__)


def list_return_domains(providers: Mapping[str, DeliveryProvider]) -> dict[str, str]:
    """Return the delivery providers by their return domains."""
    return {
        provider.return_domain: name
        for name, provider in providers.items()
        if isinstance(provider, SmtpProvider) and provider.return_domain is not None
    }


async def receive_mail(
    resources: Resources, parser: MailParser, envelope: Envelope
) -> ReplyOutcome:
    """Store a message and return what became of it. Raises Unavailable while the database is
    unavailable or too many messages are being read; the message is then not stored."""
    mail = await parser.classify(resources.keys, envelope)
    if isinstance(mail, NewReply):
        outcome = await _store_reply(resources, mail)
        log.info("answer received", provider=envelope.provider, outcome=outcome.value)
        return outcome
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        if await _is_over_limit(tx, mail, now):
            log.warning("too many reports", provider=envelope.provider)
            return ReplyOutcome.TOO_MANY
        is_new = await save_report(tx, mail, real_now=now, ids=resources.ids)
    log.info("report received", provider=envelope.provider, state=mail.state, reason=mail.reason)
    return ReplyOutcome.NEW if is_new else ReplyOutcome.KNOWN


async def _is_over_limit(tx: Connection, report: Report, now: datetime) -> bool:
    """Return whether too many reports were stored: for the message that the report names or, if it
    names none, within a day. Anyone can send reports."""
    if report.reference is not None:
        report_counts = await count_reports(tx, [report.reference])
        return report_counts[report.reference] >= _MAX_REPORTS_PER_MESSAGE
    return (
        await count_unmatched_reports(tx, now - _DAY, _MAX_UNRELATED_PER_DAY)
        >= _MAX_UNRELATED_PER_DAY
    )


async def _store_reply(resources: Resources, reply: NewReply) -> ReplyOutcome:
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, reply.reference.merchant_id)
        if merchant is None:
            return ReplyOutcome.GONE
        work = Work.open(resources, tx, merchant, SYSTEM)
        return await receive_reply(work, resources.keys, reply)
