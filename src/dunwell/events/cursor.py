"""The opaque place in a merchant's list of events, as handed out and taken back. Pure."""

import base64
import binascii
import struct
from dataclasses import dataclass
from uuid import UUID

from dunwell.errors import Fault, ValidationError

_LAYOUT = struct.Struct(">4sIQ16s")
_MARK = b"evt1"


@dataclass(frozen=True, slots=True)
class Position:
    """Behind the event that this transaction wrote under this id."""

    written_by: int
    event_id: UUID


def encode_cursor(merchant_id: int, position: Position) -> str:
    packed = _LAYOUT.pack(_MARK, merchant_id, position.written_by, position.event_id.bytes)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decode_cursor(merchant_id: int, cursor: str) -> Position:
    """Read a cursor of this merchant's events. Raises ValidationError for any other text."""
    try:
        packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        mark, owner_id, written_by, event_id = _LAYOUT.unpack(packed)
    except (binascii.Error, ValueError, struct.error):
        raise _refusal() from None
    if mark != _MARK or owner_id != merchant_id:
        raise _refusal()
    return Position(written_by, UUID(bytes=event_id))


def _refusal() -> ValidationError:
    message = "This is no cursor of this list. Use nextCursor as it was answered, or leave it out."
    return ValidationError([Fault("/cursor", message, "WRONG_FORMAT")])
