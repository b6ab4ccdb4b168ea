"""Whom a contact goes to, as keyed digests: neither guards nor suppressions keep an address.

One person is written in many ways; what differs by case, outer blanks or Unicode form alone is one
identity. Digests of one merchant never equal another's, but for
`digest_recipient`. Of several versions of the secret key a new row bears the digest under the one
in use, and whoever looks for a row asks with all of them; but guards are raised under all, so that
no two processes count apart.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dunwell.accounts.merchants.configuration import Channel
from dunwell.platform.crypto import KeyRing

_PERSON, _ADDRESS = "guard.identity", "suppression.address"
_RECIPIENT = "notice.recipient"
# Enough that no two ever meet; guards are looked up and written with every contact.
_DIGEST_BYTES = 16
_NO_DIGIT = re.compile(r"[^0-9]+")
_NO_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class DebtorPerson:
    """What is known of who is behind a claim."""

    claim_id: int
    email: str | None
    mobile_number: str | None
    customer_number: str | None


def identify(keys: KeyRing, merchant_id: int, person: DebtorPerson) -> tuple[bytes, ...]:
    """One or more. Somebody of whom nothing is known but a postal address is known by the claim."""
    found = list(_find_identities(person)) or [("CLAIM", str(person.claim_id))]
    return tuple(
        digest
        for kind, text in found
        for digest in _digest(keys, _PERSON, f"{merchant_id}\n{kind}\n{text}")
    )


def digest_address(
    keys: KeyRing, merchant_id: int, channel: Channel, address: str
) -> tuple[bytes, ...]:
    """What suppressions know an address by; the first is a new row's."""
    return _digest(
        keys, _ADDRESS, f"{merchant_id}\n{channel}\n{normalize_address(channel, address)}"
    )


def digest_recipient(keys: KeyRing, channel: Channel, address: str) -> tuple[bytes, ...]:
    """What the whole installation knows an address by, to count what is asked for there; the first
    is a new row's."""
    return _digest(keys, _RECIPIENT, f"{channel}\n{normalize_address(channel, address)}")


def normalize_address(channel: Channel, address: str) -> str:
    """Equal for two ways of writing one address."""
    folded = _fold(address)
    if channel == "EMAIL":
        return folded
    if channel == "SMS":
        return _normalize_number(folded)
    return _NO_WORD.sub("", folded)


def render_postal_address(address: Mapping[str, Any]) -> str:
    """On one line, as it is suppressed: street, second line, postal code and city; no name."""
    town = " ".join(filter(None, (address.get("postal_code"), address.get("city"))))
    return ", ".join(filter(None, (address.get("street"), address.get("address_line2"), town)))


def mask_address(channel: Channel, address: str) -> str:
    """Enough for somebody who knows the address to know it again."""
    address = address.strip()
    if channel == "EMAIL":
        name, _, domain = address.rpartition("@")
        return f"{name[:1]}***@{domain}"
    if channel == "SMS":
        return f"{address[:3]}***{address[-3:]}"
    street, _, town = address.partition(",")
    return f"{street[:1]}***,{town}"


def _find_identities(person: DebtorPerson) -> Iterator[tuple[str, str]]:
    if person.email:
        yield "EMAIL", _fold(person.email)
    if person.mobile_number:
        yield "NUMBER", _normalize_number(person.mobile_number)
    if person.customer_number and person.customer_number.strip():
        yield "CUSTOMER", _fold(person.customer_number)


def _digest(keys: KeyRing, purpose: str, text: str) -> tuple[bytes, ...]:
    return tuple(digest[:_DIGEST_BYTES] for digest in keys.digests(purpose, text.encode()))


def _fold(text: str) -> str:
    # Most are ASCII, which has one form alone.
    form = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return form.strip().casefold()


def _normalize_number(number: str) -> str:
    return "+" + _NO_DIGIT.sub("", number)
