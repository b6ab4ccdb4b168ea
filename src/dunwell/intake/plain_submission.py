"""The submitted claim once more, for bodies that cannot hold a control character.

In JSON a control character is written with a backslash, but for DEL. A body with neither is read
by these shapes, which leave out the look for them at every text: a third of the time it takes to
read a claim. A field left out here is merely looked at as always. Pure.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from dunwell.claims.fields import ADDRESS_FIELDS, FIELDS, AddressSubmission, Field, Text
from dunwell.claims.item_rules import MAX_ITEMS
from dunwell.intake.submission import ClaimSubmission, ItemSubmission

_Text = Annotated[str, Meta(max_length=255)]
_Reference = Annotated[str, Meta(min_length=1, max_length=255)]


def _plain_texts(fields: Iterable[Field]) -> list[tuple[str, Any, Any]]:
    return [
        (each.name, _Text | None, msgspec.field(default=None, name=each.wire_name))
        for each in fields
        if each.given == Text
    ]


class _PlainItem(ItemSubmission, frozen=True):
    reference: _Reference


_PlainAddress: Any = msgspec.defstruct(
    "_PlainAddress", _plain_texts(ADDRESS_FIELDS), bases=(AddressSubmission,), frozen=True
)
_PlainClaim: Any = msgspec.defstruct(
    "_PlainClaim",
    [
        ("reference_number", _Reference),
        ("items", Annotated[list[_PlainItem], Meta(min_length=1, max_length=MAX_ITEMS)]),
        *_plain_texts(FIELDS),
        ("address", _PlainAddress | None, None),
    ],
    bases=(ClaimSubmission,),
    frozen=True,
    kw_only=True,
)
_decoder = msgspec.json.Decoder(list[_PlainClaim])


def is_plain(body: bytes) -> bool:
    return b"\\" not in body and b"\x7f" not in body


def decode_plain(body: bytes) -> Sequence[ClaimSubmission]:
    """Raises msgspec.DecodeError, as the full shapes would, and UnicodeDecodeError."""
    return _decoder.decode(body)
