"""The submitted claim once more, for bodies that cannot hold a control character.

In JSON a control character is written with a backslash, but for U+007F to U+009F, which in UTF-8
are the byte 7F, or C2 and one of 80 to 9F. A body with none of these is read by shapes that leave
out the look for them at every text: a third of the time it takes to read a claim. A field left out
here is merely looked at as always. Pure.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from dunwell.cases.intake.submission import ClaimSubmission, ItemSubmission
from dunwell.core.claims.balance import MAX_ITEMS
from dunwell.core.claims.fields import ADDRESS_FIELDS, FIELDS, AddressSubmission, Field, Text

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


_HIGH_CONTROL = re.compile(rb"\xc2[\x80-\x9f]")


def is_plain(body: bytes) -> bool:
    if b"\\" in body or b"\x7f" in body:
        return False
    # Few bodies have the first byte at all, and whether it is there is found far more quickly.
    return b"\xc2" not in body or _HIGH_CONTROL.search(body) is None


def decode_plain(body: bytes) -> Sequence[ClaimSubmission]:
    """Raises msgspec.DecodeError, as the full shapes would, and UnicodeDecodeError."""
    return _decoder.decode(body)
