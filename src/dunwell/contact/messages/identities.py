"""The keyed digests of debtors and addresses. Guards and suppressions store digests only, no
addresses.

Spellings that differ only in case, surrounding spaces or Unicode form are one identity. Except for
`digest_installation_address`, digests differ between merchants. After a rotation of the secret key,
new rows use the digest of the current version and lookups use those of all versions. Guards are
stored under all versions, so that workers with different keys count together.
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
# Long enough to exclude collisions; short because guards are read and written with every contact.
_DIGEST_BYTES = 16
_NON_DIGITS = re.compile(r"[^0-9]+")
_NON_WORD_CHARACTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class DebtorPerson:
    """The identifying data of a claim's debtor."""

    claim_id: int
    email: str | None
    mobile_number: str | None
    customer_number: str | None


def list_identities(keys: KeyRing, merchant_id: int, person: DebtorPerson) -> tuple[bytes, ...]:
    """Return the digests of the person's identities, at least one. A person with only a postal
    address is identified by the claim."""
    texts = list(_list_identity_texts(person)) or [("CLAIM", str(person.claim_id))]
    return tuple(
        digest
        for kind, text in texts
        for digest in _digest(keys, _PERSON, f"{merchant_id}\n{kind}\n{text}")
    )


def digest_address(
    keys: KeyRing, merchant_id: int, channel: Channel, address: str
) -> tuple[bytes, ...]:
    """Return the digests of an address for the suppression list; the first is used for new rows."""
    return _digest(
        keys, _ADDRESS, f"{merchant_id}\n{channel}\n{normalize_address(channel, address)}"
    )


def digest_installation_address(keys: KeyRing, channel: Channel, address: str) -> tuple[bytes, ...]:
    """Return the digests of an address for limits across the installation; the first is used for
    new rows."""
    return _digest(keys, _RECIPIENT, f"{channel}\n{normalize_address(channel, address)}")


def normalize_address(channel: Channel, address: str) -> str:
    """Return a normal form that is equal for different spellings of one address."""
    folded = _fold(address)
    if channel == "EMAIL":
        return folded
    if channel == "SMS":
        return _normalize_number(folded)
    return _NON_WORD_CHARACTERS.sub("", folded)


def render_postal_address(address: Mapping[str, Any]) -> str:
    """Return the address on one line for the suppression list: street, address line 2, postal code
    and city, without a name."""
    town = " ".join(filter(None, (address.get("postal_code"), address.get("city"))))
    return ", ".join(filter(None, (address.get("street"), address.get("address_line2"), town)))


def mask_address(channel: Channel, address: str) -> str:
    """Mask an address so that someone who knows it can recognise it."""
    address = address.strip()
    if channel == "EMAIL":
        name, _, domain = address.rpartition("@")
        return f"{name[:1]}***@{domain}"
    if channel == "SMS":
        return f"{address[:3]}***{address[-3:]}"
    street, _, town = address.partition(",")
    return f"{street[:1]}***,{town}"


def _list_identity_texts(person: DebtorPerson) -> Iterator[tuple[str, str]]:
    if person.email:
        yield "EMAIL", _fold(person.email)
    if person.mobile_number:
        yield "NUMBER", _normalize_number(person.mobile_number)
    if person.customer_number and person.customer_number.strip():
        yield "CUSTOMER", _fold(person.customer_number)


def _digest(keys: KeyRing, purpose: str, text: str) -> tuple[bytes, ...]:
    return tuple(digest[:_DIGEST_BYTES] for digest in keys.digests(purpose, text.encode()))


def _fold(text: str) -> str:
    # Most texts are ASCII, which is already normalized.
    form = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return form.strip().casefold()


def _normalize_number(number: str) -> str:
    return "+" + _NON_DIGITS.sub("", number)
