"""Has channels used or not, as the debtor wants it: addresses are suppressed, or not any more."""

from collections.abc import Collection

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.suppression import (
    KnownSuppressions,
    lift_suppression,
    load_reasons,
    suppress,
)
from dunwell.contact.sending.report import Reference
from dunwell.core.claims.store import lock_claim
from dunwell.interfaces.landing.reaching.store import find_written_address
from dunwell.interfaces.landing.reaching.ways import Chosen, WayToReach, choose_ways
from dunwell.interfaces.landing.session.addresses import digest_addresses, list_addresses
from dunwell.interfaces.landing.session.on_file import OnFile
from dunwell.interfaces.landing.session.store import load_on_file
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import NotFound


async def choose_channels(
    work: Work, keys: KeyRing, claim_id: int, wanted: Collection[str]
) -> Chosen | None:
    """None: nothing was changed, as no way would be left. Raises NotFound.

    The claim's lock lets two choices at once take turns, so that they cannot leave none together.
    """
    work.need(Right.CONTACT_SETTINGS)
    if await lock_claim(work.tx, work.merchant_id, claim_id) is None:
        raise NotFound(f"There is no claim {claim_id}.")
    on_file = await load_on_file(work.tx, work.merchant_id, claim_id)
    chosen = choose_ways(await list_ways(work, keys, on_file), wanted)
    if chosen is None:
        return None
    for way in chosen.suppressed:
        await suppress(work, keys, way.channel, address=way.address, reason="DEBTOR")
    for way in chosen.lifted:
        await lift_suppression(work, keys, way.channel, way.address)
    return chosen


async def unsubscribe(work: Work, keys: KeyRing, reference: Reference) -> bool:
    """One click in a mail program (RFC 8058), which whoever holds the message may make: the address
    that it went to gets no more e-mails from this merchant; a second click
    changes nothing. False: the message is gone.

    Unlike the page of preferences it takes off the last way too: a mail program cannot be asked
    which other is wanted, and shows no answer."""
    work.need(Right.CONTACT_SETTINGS)
    address = await find_written_address(work.tx, work.merchant_id, reference.communication_id)
    if address is None:
        return False
    await suppress(work, keys, "EMAIL", address=address, reason="DEBTOR")
    return True


async def list_ways(work: Work, keys: KeyRing, on_file: OnFile) -> list[WayToReach]:
    """E-mail, mobile number and postal address, as far as they are there and used."""
    work.need(Right.READ_CLAIMS)
    addresses = list_addresses(on_file, work.merchant.configuration.channels)
    reasons = await load_reasons(work.tx, keys, work.merchant_id, list(addresses.items()))
    return [
        WayToReach(channel, address, reasons.get((channel, address)))
        for channel, address in addresses.items()
    ]


def read_ways(
    keys: KeyRing, merchant: Merchant, on_file: OnFile, suppressions: KnownSuppressions | None
) -> list[WayToReach] | None:
    """The same of what a page has read already. None: an address is not among what was asked
    for."""
    addresses = list_addresses(on_file, merchant.configuration.channels)
    digests = digest_addresses(keys, merchant.merchant_id, addresses)
    if suppressions is None or not all(map(suppressions.covers, digests.values())):
        return None
    return [
        WayToReach(channel, address, suppressions.find_reason(digests[channel]))
        for channel, address in addresses.items()
    ]
