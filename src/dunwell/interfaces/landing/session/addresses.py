"""Where a debtor is reached by each channel, as suppressions know it."""

from collections.abc import Collection, Mapping

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.messages.identities import digest_address, render_postal_address
from dunwell.interfaces.landing.session.facts import OnFile
from dunwell.platform.crypto import KeyRing

CHANNELS: tuple[Channel, ...] = ("EMAIL", "SMS", "LETTER")


def list_addresses(on_file: OnFile, configured: Collection[Channel]) -> dict[Channel, str]:
    """By channel, as suppressions know them; those of the merchant's channels alone."""
    postal, line = on_file.postal_address or {}, None
    if postal.get("street") and postal.get("city"):
        line = render_postal_address(postal)
    given = {"EMAIL": on_file.email, "SMS": on_file.mobile_number, "LETTER": line}
    return {each: address for each in CHANNELS if each in configured and (address := given[each])}


def digest_addresses(
    keys: KeyRing, merchant_id: int, addresses: Mapping[Channel, str]
) -> dict[Channel, tuple[bytes, ...]]:
    """addresses: `list_addresses`'s. As suppressions know them."""
    return {
        channel: digest_address(keys, merchant_id, channel, address)
        for channel, address in addresses.items()
    }
