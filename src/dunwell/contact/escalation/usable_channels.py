"""The channels by which debtors can be contacted now: those with an address that is not suppressed.

The suppression list may change afterwards, so the final check looks up suppressions again before
sending.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.escalation.due_claim import list_usable_channels
from dunwell.contact.messages.identities import render_postal_address
from dunwell.contact.messages.suppression import load_suppressed_addresses
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection

Key = TypeVar("Key", bound=Hashable)


class HasAddresses(Protocol):
    """A contact or a debtor, with the addresses by which a message can be sent."""

    @property
    def email(self) -> str | None: ...

    @property
    def mobile_number(self) -> str | None: ...

    @property
    def address(self) -> Mapping[str, Any] | None: ...


@dataclass(frozen=True, slots=True)
class DebtorAddresses:
    """The addresses of a debtor, from a row."""

    email: str | None
    mobile_number: str | None
    address: dict[str, Any] | None


async def load_usable_channels(
    tx: Connection, keys: KeyRing, merchant: Merchant, debtors: Mapping[Key, HasAddresses]
) -> dict[Key, frozenset[Channel]]:
    """Load the usable channels of each debtor in one statement."""
    usable = {
        key: list_usable_channels(
            merchant.configuration.channels,
            email=debtor.email,
            mobile_number=debtor.mobile_number,
            address=debtor.address,
        )
        for key, debtor in debtors.items()
    }
    addresses = {
        (key, channel): (channel, address)
        for key, channels in usable.items()
        for channel in channels
        if (address := find_address(debtors[key], channel))
    }
    suppressed = await load_suppressed_addresses(
        tx, keys, merchant.merchant_id, set(addresses.values())
    )
    if not suppressed:
        return usable
    return {
        key: frozenset(each for each in channels if addresses.get((key, each)) not in suppressed)
        for key, channels in usable.items()
    }


def find_address(debtor: HasAddresses, channel: Channel) -> str | None:
    """Return the address as one text, in the form in which the suppression list expects it; None if
    the debtor has none for the channel."""
    if channel == "EMAIL":
        return debtor.email
    if channel == "SMS":
        return debtor.mobile_number
    return render_postal_address(debtor.address) if debtor.address else None
