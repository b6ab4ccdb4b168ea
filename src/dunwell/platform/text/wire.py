"""Conventions that all wire types share: camelCase names, permitted characters, formats."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, overload

import msgspec
from msgspec import Meta

# "(?!\n)" because "$" alone would let one line break pass at the end.
LINE = r"^[^\x00-\x1f\x7f-\x9f]*$(?!\n)"
LINES = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
PLAIN_TEXT = "a text without control characters"
PLAIN_LINES = "a text without control characters other than line breaks and tabs"
# What a fault says was expected, by the pattern (`platform.text.shape`).
WORDS = {LINE: PLAIN_TEXT, LINES: PLAIN_LINES}
LINE_BREAKS = "\n\r\t"
# What `LINES` refuses, and half a surrogate pair, which UTF-8 cannot hold and no JSON body brings.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class Wire(msgspec.Struct, frozen=True, rename="camel"):
    """A shape we answer. Fields may be added later; clients ignore those they do not know."""


class WireInput(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A shape we are sent. An unknown field is refused: a typo must not pass in silence."""


_INSTANT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$"

# An instant we answer, and one we are sent.
Instant = Annotated[
    str,
    Meta(
        description="ISO 8601 with milliseconds, UTC.",
        examples=["2026-03-02T09:00:00.000Z"],
        pattern=_INSTANT,
        extra_json_schema={"format": "date-time"},
    ),
]
GivenInstant = Annotated[
    str,
    Meta(
        description="ISO 8601 with a zone.",
        examples=["2026-03-02T09:00:00Z"],
        max_length=40,
        pattern=LINE,
        extra_json_schema={"format": "date-time"},
    ),
]
Day = Annotated[
    str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", extra_json_schema={"format": "date"})
]
Cents = Annotated[
    str,
    Meta(description="Minor units, as a string of digits.", pattern=r"^(0|[1-9][0-9]*)$"),
]
Uuid = Annotated[
    str,
    Meta(
        pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$(?!\n)",
        extra_json_schema={"format": "uuid"},
    ),
]
Currency = Annotated[
    str, Meta(description="ISO 4217, upper case.", examples=["EUR"], pattern=r"^[A-Z]{3}$(?!\n)")
]


@overload
def write_instant(instant: datetime) -> str: ...
@overload
def write_instant(instant: datetime | None) -> str | None: ...
def write_instant(instant: datetime | None) -> str | None:
    """ISO 8601 with milliseconds and Z."""
    if instant is None:
        return None
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_as_json(shown: Wire) -> Any:
    """What a client makes of it."""
    return msgspec.json.decode(msgspec.json.encode(shown))
