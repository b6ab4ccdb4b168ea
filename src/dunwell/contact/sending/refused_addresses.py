"""What a channel's refusal says beside that the message did not leave: an address where nobody is
reached is suppressed at once, as one of which that is reported later; what is about us is told to
the operator.
"""

from collections.abc import Iterable
from contextlib import suppress as passing_over

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
    """refused: channel, recipient and answer. The claims are locked before."""
    work.need(Right.CONTACT_SETTINGS)
    nobody: set[tuple[Channel, str]] = set()
    for channel, recipient, answer in refused:
        if answer.cause == "ADDRESS":
            nobody.add((channel, recipient))
        if answer.cause == "ABOUT_US":
            log.error("refused by the receiver", channel=channel, reason=answer.reason)
    # In one order, as others may suppress the same.
    for channel, recipient in sorted(nobody):
        # One that no list can name is refused each time it is tried.
        with passing_over(ValidationError):
            await suppress(work, keys, channel=channel, address=recipient, reason="BOUNCE")
