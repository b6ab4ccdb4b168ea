"""Act on the cause of a permanent refusal: an unreachable address is suppressed at once, like one
whose failure is reported later; a refusal of our own sender is logged for the operator."""

from collections.abc import Iterable
from contextlib import suppress as ignoring

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.suppression import suppress
from dunwell.contact.sending.channel import Permanent
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import ValidationError

log = structlog.get_logger(__name__)


async def suppress_refused_addresses(
    work: Work, keys: KeyRing, refused: Iterable[tuple[Channel, str, Permanent]]
) -> None:
    """Suppress the unreachable addresses, and log refusals of our sender. The claims must be
    locked.

    `refused` has channel, recipient and answer.
    """
    work.require(Right.CONTACT_SETTINGS)
    unreachable: set[tuple[Channel, str]] = set()
    for channel, recipient, answer in refused:
        if answer.cause == "ADDRESS":
            unreachable.add((channel, recipient))
        if answer.cause == "ABOUT_US":
            log.error("sender refused by receiver", channel=channel, reason=answer.reason)
    # Sorted, to avoid deadlocks with transactions that suppress the same addresses.
    for channel, recipient in sorted(unreachable):
        # An invalid address cannot be on the suppression list; it is refused at each attempt.
        with ignoring(ValidationError):
            await suppress(work, keys, channel=channel, address=recipient, reason="BOUNCE")
