"""Values that all payment providers have in common, and their checks: ids, amounts in minor units,
instants, addresses and signatures. They are types of the structs into which answers are decoded.
Pure."""

import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from dunwell.accounts.merchants.configuration import PaymentMeans
from dunwell.cases.payments.provider import PaymentProviderRefused, PaymentProviderUnavailable

# The minor unit of these currencies is a hundredth, in Dunwell and at all providers.
_CURRENCIES = (
    "AUD", "CAD", "CHF", "CZK", "DKK", "EUR", "GBP", "NOK", "NZD", "PLN", "RON", "SEK", "USD",
)  # fmt: skip
_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")

Id = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,255}$(?!\n)")]
Cents = Annotated[int, Meta(ge=0, le=10**12)]
SignedCents = Annotated[int, Meta(ge=-(10**12), le=10**12)]
# Seconds since 1970, up to the year 9999.
Timestamp = Annotated[int, Meta(ge=0, le=253_402_300_799)]
PageUrl = Annotated[str, Meta(pattern=r"^https?://[!-~]{1,2000}$(?!\n)")]


def is_id(text: str) -> bool:
    """Return whether this can be an id of a provider. It can then be part of an address."""
    return _ID.fullmatch(text) is not None


def check_id(provider_id: str) -> str:
    """Return the id unchanged. Raises PaymentProviderUnavailable if it cannot be an id of a
    provider."""
    if not is_id(provider_id):
        raise PaymentProviderUnavailable("The payment provider does not know this id.")
    return provider_id


def check_currency(currency: str) -> None:
    """Check that payments can be opened in this currency. Raises PaymentProviderRefused."""
    if currency not in _CURRENCIES:
        raise PaymentProviderRefused(
            f"Payments in {currency} are not supported through this provider. Use another way to "
            "pay."
        )


def get_means_name(known: Mapping[PaymentMeans, str], means: PaymentMeans) -> str:
    """Return the means of payment in the provider's words. Raises PaymentProviderRefused if the
    provider does not offer it."""
    name = known.get(means)
    if name is None:
        raise PaymentProviderRefused(
            f"This provider does not offer {means}. It offers {', '.join(known)}."
        )
    return name


def is_authentic(secret: bytes, message: bytes, signatures: Sequence[str]) -> bool:
    """Return whether one of the signatures is the message's HMAC-SHA256 in hexadecimal digits."""
    expected = hmac.digest(secret, message, "sha256").hex().encode()
    return any(
        hmac.compare_digest(expected, signature.encode("utf-8", "replace"))
        for signature in signatures
    )


def find_refund_key(metadata: object) -> UUID | None:
    """Return the key with which Dunwell ordered a refund, from the refund's metadata, or None. The
    merchant can change the metadata at the provider, so the key may be missing or wrong."""
    key = metadata.get("dunwell_refund") if isinstance(metadata, dict) else None
    try:
        return UUID(key) if isinstance(key, str) else None
    except ValueError:
        return None


def from_timestamp(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def clean_text(text: str, max_length: int) -> str:
    """Return the text without control characters, cut to `max_length` characters."""
    return "".join(character for character in text if character.isprintable())[:max_length]
