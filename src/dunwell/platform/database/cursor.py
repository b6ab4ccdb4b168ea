"""Opaque cursors of lists, as they are handed out and taken back.

A cursor names its list and its owner, so that a cursor of another list or of another merchant is
refused. It holds no secret: a forged cursor only continues a list that its owner may read. Pure.
"""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec

from dunwell.platform.errors import Fault, ValidationError

# What PostgreSQL's bigint can hold; none of our numbers is negative.
_Number = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
# PostgreSQL's text cannot hold a NUL.
_Text = Annotated[str, msgspec.Meta(pattern=r"^[^\x00]*\Z")]
_Instant = Annotated[datetime, msgspec.Meta(tz=True)]
_ENCODER = msgspec.msgpack.Encoder(uuid_format="bytes")
_WIRE_TYPES: dict[type, Any] = {
    int: _Number, str: _Text, UUID: UUID, bytes: bytes, datetime: _Instant,
}  # fmt: skip


class CursorForm:
    """The cursors of one list.

    name: of the list, such as "payments"; no two lists share one.
    owner: the types of what tells whose list it is, the merchant's id first.
    place: the types of the values that tell where the next page begins.
    """

    def __init__(self, name: str, *, owner: Sequence[type], place: Sequence[type]) -> None:
        self._name = name
        types: Any = tuple[(str, *(_WIRE_TYPES[each] for each in (*owner, *place)))]  # type: ignore[misc]
        self._decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(types)

    def render(self, owner: Sequence[object], place: Sequence[object]) -> str:
        packed = _ENCODER.encode((self._name, *owner, *place))
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")

    def parse(self, owner: Sequence[object], cursor: str) -> tuple[Any, ...]:
        """Return the place. Raises ValidationError for anything but a cursor of this list and
        this owner."""
        try:
            padded = cursor + "=" * (-len(cursor) % 4)
            packed = base64.b64decode(padded, altchars=b"-_", validate=True)
            values = self._decoder.decode(packed)
        except (binascii.Error, ValueError, msgspec.MsgspecError):
            raise refuse_cursor() from None
        place: tuple[Any, ...] = values[1 + len(owner) :]
        if values[: 1 + len(owner)] != (self._name, *owner) or not all(map(_is_plain, place)):
            raise refuse_cursor()
        return place


def _is_plain(value: object) -> bool:
    """False for an instant with an offset: we write UTC, and not every offset can be converted."""
    return not isinstance(value, datetime) or not value.utcoffset()


def refuse_cursor() -> ValidationError:
    message = "This is no cursor of this list. Use nextCursor as it was answered, or leave it out."
    return ValidationError([Fault("/cursor", message, "WRONG_FORMAT")])
