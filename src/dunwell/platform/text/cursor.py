"""Opaque places in lists, as handed out and taken back.

A cursor bears the mark of its list and its owner, so that one of another list, another merchant or
nobody's making is told from a good one. It holds no secret: whoever forges one reads on in a list
of his own. Pure.
"""

import base64
import binascii
import struct
from typing import Any

from dunwell.platform.errors import Fault, ValidationError

_MARK_BYTES = 4


class CursorForm:
    """The cursors of one list. `mark`: four bytes of its own; `layout`: a place, as struct has it
    ("q" for what PostgreSQL keeps as bigint, and never below 0); `owner`: what tells whose list it
    is, the merchant's id first."""

    def __init__(self, mark: bytes, layout: str, owner_layout: str = "I") -> None:
        if len(mark) != _MARK_BYTES:
            raise ValueError("a mark has four bytes")
        self._mark = mark
        self._layout = struct.Struct(f">{_MARK_BYTES}s{owner_layout}{layout}")

    def write(self, owner: tuple[int, ...], *place: Any) -> str:
        packed = self._layout.pack(self._mark, *owner, *place)
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")

    def read(self, owner: tuple[int, ...], cursor: str) -> tuple[Any, ...]:
        """The place. Raises ValidationError for any text but this owner's cursors of this list."""
        try:
            padded = cursor + "=" * (-len(cursor) % 4)
            packed = base64.b64decode(padded, altchars=b"-_", validate=True)
            mark, *values = self._layout.unpack(packed)
        except (binascii.Error, ValueError, struct.error):
            raise refuse_cursor() from None
        place = tuple(values[len(owner) :])
        is_owners = mark == self._mark and tuple(values[: len(owner)]) == owner
        if not is_owners or any(isinstance(each, int) and each < 0 for each in place):
            raise refuse_cursor()
        return place


def refuse_cursor() -> ValidationError:
    message = "This is no cursor of this list. Use nextCursor as it was answered, or leave it out."
    return ValidationError([Fault("/cursor", message, "WRONG_FORMAT")])
