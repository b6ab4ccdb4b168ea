"""The opaque place in a merchant's list of events. Pure."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.platform.text.cursor import CursorForm

_FORM = CursorForm(b"evt1", "Q16s")


@dataclass(frozen=True, slots=True)
class Position:
    """Behind the event that this transaction wrote under this id."""

    written_by: int
    event_id: UUID


def encode_cursor(merchant_id: int, position: Position) -> str:
    return _FORM.write((merchant_id,), position.written_by, position.event_id.bytes)


def decode_cursor(merchant_id: int, cursor: str) -> Position:
    """Read a cursor of this merchant's events. Raises ValidationError for any other text."""
    written_by, event_id = _FORM.read((merchant_id,), cursor)
    return Position(written_by, UUID(bytes=event_id))
