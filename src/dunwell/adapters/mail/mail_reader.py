"""A small pool of confined children that read e-mails of strangers, so that a hostile one costs its
child a few seconds and holds up no other. What cannot be read within the bounds is unreadable: it
is kept as it came, for a person to look at.
"""

import asyncio

import msgspec

from dunwell.adapters.channels.smtp.addresses import ReturnAddress
from dunwell.adapters.mail.incoming import (
    Envelope,
    ReadMail,
    WantedMail,
    find_return_address,
    is_readable,
    make_mail,
    wrap_unreadable_mail,
)
from dunwell.cases.replies.reply import NewReply
from dunwell.contact.sending.report import Report
from dunwell.platform.children.child_pool import ChildLost, ChildPool
from dunwell.platform.children.fair_queue import QueueLimits
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import RateLimited, Unavailable

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
