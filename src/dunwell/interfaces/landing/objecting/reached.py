"""Finds the address at which a message has reached whoever has opened a claim's page."""

from dunwell.cases.disputes.withheld import ReachedAddress
from dunwell.interfaces.landing.objecting.store import load_recipient
from dunwell.interfaces.landing.session.addresses import CHANNELS, digest_addresses, list_addresses
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection


async def find_reached_address(
    tx: Connection, keys: KeyRing, opened: OpenedClaim
) -> ReachedAddress | None:
    """Where the opened message went, which may not be on file any more; of what is too old to say,
    the address that is on file for its channel. None: there is no such address."""
    session, merchant_id = opened.session, opened.merchant.merchant_id
    addresses = list_addresses(opened.facts.on_file, CHANNELS)
    if session.channel is None and session.level.reaches(Level.CODE):
        # Opened beside another claim, by what a sent code has proven of an address.
        digests = digest_addresses(keys, merchant_id, addresses)
        proven = (
            ReachedAddress(channel, addresses[channel])
            for channel, known in digests.items()
            if not set(known).isdisjoint(session.proven_digests)
        )
        return next(proven, None)
    # Only the code of a letter names no channel.
    channel = session.channel or "LETTER"
    address = addresses.get(channel)
    if channel != "LETTER" and session.communication_id is not None:
        written = await load_recipient(tx, merchant_id, session.communication_id)
        address = written or address
    return None if address is None else ReachedAddress(channel, address)
