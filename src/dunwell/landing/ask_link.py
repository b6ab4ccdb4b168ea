"""Sends a new link to somebody who knows a claim's reference and the address on file.

Nobody learns here whether there is such a claim: the caller answers the same whatever was found.
"""

from dataclasses import dataclass
from datetime import datetime

from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Connection
from dunwell.landing.contacts import find_contact
from dunwell.landing.lookup import find_references
from dunwell.landing.tries import Locked
from dunwell.landing.visitors import admit_visitor, count_visitors_request
from dunwell.merchants.account import Merchant, Work
from dunwell.merchants.store import load_merchant
from dunwell.notices.notice import Notice, NoticeChannel
from dunwell.notices.send_notice import send_notice

# A reference is one merchant's, but two may have thought of the same one.
_MOST_ASKERS = 5


@dataclass(frozen=True, slots=True)
class Asker:
    """A claim of that reference, and the address on file that was typed."""

    merchant: Merchant
    claim_id: int
    channel: NoticeChannel
    address: str
    language: str | None


async def admit_request(tx: Connection, visitor: bytes, now: datetime) -> Locked | None:
    """None: this visitor may ask once more, which is counted."""
    known = await admit_visitor(tx, visitor, now)
    if isinstance(known, Locked):
        return known
    await count_visitors_request(tx, visitor, now)
    return None


async def find_askers(tx: Connection, reference: str, contact: str) -> list[Asker]:
    """Of all merchants; `contact`: an e-mail address or a mobile number as somebody typed it."""
    askers: list[Asker] = []
    for claim in await find_references(tx, reference):
        channel = find_contact(contact, claim.addresses)
        if channel is None or len(askers) == _MOST_ASKERS:
            continue
        merchant = await load_merchant(tx, claim.merchant_id)
        assert merchant is not None
        address = claim.addresses[channel]
        askers.append(Asker(merchant, claim.claim_id, channel, address, claim.language))
    return askers


async def send_link(work: Work, keys: KeyRing, notice: Notice, real_now: datetime) -> None:
    """Unless there were enough links for this claim, or the merchant has no such channel."""
    await send_notice(work, keys, notice, real_now)
