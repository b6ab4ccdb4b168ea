"""By which channels a debtor can be contacted: the merchant's channels with an address. Pure."""

from collections.abc import Collection, Mapping
from typing import Any

from dunwell.accounts.merchants.configuration import Channel


def find_usable_channels(
    configured: Collection[Channel],
    *,
    email: str | None,
    mobile_number: str | None,
    address: Mapping[str, Any] | None,
) -> frozenset[Channel]:
    return frozenset(
        channel
        for channel in configured
        if (channel == "EMAIL" and email)
        or (channel == "SMS" and mobile_number)
        or (channel == "LETTER" and has_postal_address(address))
    )


def has_postal_address(address: Mapping[str, Any] | None) -> bool:
    return bool(address and address.get("street") and address.get("city"))
