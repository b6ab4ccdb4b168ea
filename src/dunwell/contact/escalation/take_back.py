"""Takes back the mark of contacts whose hand-over was broken off before their channel was called.

When the answer to a COMMIT is lost, the contacts may or may not be marked as handed over. The
worker that asked for it knows that it has called no channel for them, and no other knows: once it
has died or their lease has run out, they count as messages that may have left (CONTRACT 13).

That transaction may still be under way at the server. It holds the rows' locks until it has ended,
so the transaction here, which locks the same rows, sees how it ended.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import structlog

from dunwell.contact.escalation.handed_over import HandedOverContacts, LeasedCalls
from dunwell.contact.escalation.letterhead import Letterhead
from dunwell.contact.messages.contact import Contact
from dunwell.contact.messages.letters.letter_files import LetterFiles
from dunwell.contact.sending.channel import Uncalled
from dunwell.contact.sending.file_memory import FileMemory
from dunwell.contact.sending.persist import persist, persist_for_a_moment
from dunwell.platform.database.leases import Lease
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

log = structlog.get_logger(__name__)


@asynccontextmanager
async def taking_back_when_broken_off(
    resources: Resources, letters: LetterFiles, head: Letterhead, lease: Lease,
    contacts: Sequence[Contact],
) -> AsyncIterator[None]:  # fmt: skip
    """Around the transaction that marks the contacts; within it no channel is called."""
    handed_over = HandedOverContacts(
        resources, letters, head, leased=LeasedCalls(lease), memory=FileMemory()
    )

    async def take_back() -> None:
        async with resources.database.transaction() as tx:
            count = await handed_over.settle(tx, [(contact, Uncalled()) for contact in contacts])
        merchant_id = head.merchant.merchant_id
        log.warning("hand-over broken off", merchant_id=merchant_id, taken_back=count)

    try:
        yield
    except Unavailable:
        await persist(take_back)
        raise
    except asyncio.CancelledError:
        await persist_for_a_moment(take_back)
        raise
