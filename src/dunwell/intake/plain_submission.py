"""The submitted claim once more, for bodies that cannot hold a control character.

In JSON a control character is written with a backslash, but for DEL. A body with neither is read
by these shapes, which leave out the look for them at every text: a third of the time it takes to
read a claim. A field left out here is merely looked at as always. Pure.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from dunwell.claims.item_rules import MAX_ITEMS
from dunwell.intake.submission import AddressSubmission, ClaimSubmission, ItemSubmission

_Text = Annotated[str, Meta(max_length=255)]
_Reference = Annotated[str, Meta(min_length=1, max_length=255)]


class _PlainItem(ItemSubmission, frozen=True):
    reference: _Reference


class _PlainAddress(AddressSubmission, frozen=True):
    street: _Text | None = None
    address_line2: _Text | None = None
    postal_code: _Text | None = None
    city: _Text | None = None


class _PlainClaim(ClaimSubmission, frozen=True):
    reference_number: _Reference
    # Narrower than the lists they stand for, and like them never changed.
    items: Annotated[list[_PlainItem], Meta(min_length=1, max_length=MAX_ITEMS)]  # type: ignore[assignment]
    debtor_name: _Text | None = None
    debtor_last_name: _Text | None = None
    company_name: _Text | None = None
    customer_number: _Text | None = None
    contract_number: _Text | None = None
    address: _PlainAddress | None = None


_decoder = msgspec.json.Decoder(list[_PlainClaim])


def is_plain(body: bytes) -> bool:
    return b"\\" not in body and b"\x7f" not in body


def decode_plain(body: bytes) -> Sequence[ClaimSubmission]:
    """Raises msgspec.DecodeError, as the full shapes would, and UnicodeDecodeError."""
    return _decoder.decode(body)
