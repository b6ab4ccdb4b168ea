"""Asks channels that can be asked what became of sends nobody knows the end of, and settles those
by what they say (CONTRACT 13): sent, or not. What a channel knows nothing of waits for a person.
"""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.contact.escalation.contacts.outcomes.settle_contacts import resolve_unknown_contact
from dunwell.contact.escalation.reports.store import find_merchants_with_unknown, load_unknown
from dunwell.contact.sending.adapters import Adapters
from dunwell.contact.sending.channel import AskableChannel
from dunwell.platform.errors import InvalidState, Unavailable
from dunwell.platform.resources import Resources

ASK_SECONDS = 30.0
# Who called it may still be about to hear.
_OLD_ENOUGH = timedelta(minutes=2)
_PAGE = 200

log = structlog.get_logger(__name__)


async def ask_channels(resources: Resources, adapters: Adapters) -> int:
    """How many were settled."""
    async with resources.database.connection() as connection:
        merchant_ids = await find_merchants_with_unknown(connection)
    settled = 0
    for merchant_id in merchant_ids:
        async with resources.database.connection() as connection:
            merchant = await load_merchant(connection, merchant_id)
        if merchant is not None:
            for channel, askable in adapters.list_askable(merchant).items():
                settled += await _ask(resources, merchant, channel, askable)
    return settled


async def _ask(
    resources: Resources, merchant: Merchant, channel: Channel, askable: AskableChannel
) -> int:
    waiting = await _list_waiting(resources, merchant, channel)
    if not waiting:
        return 0
    try:
        known = await askable.what_became_of(waiting)
    except (OSError, Unavailable) as error:
        log.warning("cannot be asked", channel=channel, error=type(error).__name__)
        return 0
    for communication_id, was_sent in known.items():
        async with resources.database.transaction() as tx:
            work = Work.open(resources, tx, merchant, SYSTEM)
            try:
                await resolve_unknown_contact(work, communication_id, was_sent=was_sent)
            except InvalidState:
                log.info("settled meanwhile", communication_id=str(communication_id))
    return len(known)


async def _list_waiting(
    resources: Resources, merchant: Merchant, channel: Channel
) -> Sequence[UUID]:
    """A page of the channel's, the oldest planned first."""
    before = merchant.now(resources.clock) - _OLD_ENOUGH
    async with resources.database.connection() as connection:
        return await load_unknown(
            connection, merchant.merchant_id, channel=channel, before=before, limit=_PAGE
        )
