"""The opaque place in a list of what belongs to one claim, newest first.

A cursor holds which list, merchant and claim it is of, and is refused for any other. Pure.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from dunwell.platform.text.cursor import CursorForm, refuse_cursor

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class PartList:
    """`mark`: four letters that tell the lists apart."""

    mark: bytes
    merchant_id: int
    claim_id: int

    @property
    def form(self) -> CursorForm:
        return CursorForm(self.mark, "Q16s", owner_layout="IQ")

    @property
    def owner(self) -> tuple[int, int]:
        return self.merchant_id, self.claim_id


@dataclass(frozen=True, slots=True)
class Place:
    """Behind what is of this instant under this id."""

    at: datetime
    part_id: UUID


def encode_cursor(listed: PartList, place: Place) -> str:
    at = (place.at - _EPOCH) // _MICROSECOND
    return listed.form.write(listed.owner, at, place.part_id.bytes)


def decode_cursor(listed: PartList, cursor: str) -> Place:
    """Read a cursor of this list. Raises ValidationError for any other text."""
    at, part_id = listed.form.read(listed.owner, cursor)
    try:
        return Place(_EPOCH + at * _MICROSECOND, UUID(bytes=part_id))
    except OverflowError:
        raise refuse_cursor() from None
