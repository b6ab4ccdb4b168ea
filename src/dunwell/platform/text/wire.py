"""Conventions that all wire types share: camelCase names, permitted characters, formats.

Texts must not contain control characters, which are those of Unicode's category Cc: U+0000 to
U+001F and U+007F to U+009F. They cannot be shown, and a printer, a mail program or a terminal may
interpret them. A text of several lines may contain line breaks and tabs. Pure.
"""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, overload

import msgspec
from msgspec import Meta

# "(?!\n)", because "$" alone would permit a line break at the end.
LINE = r"^[^\x00-\x1f\x7f-\x9f]*$(?!\n)"
LINES = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
PLAIN_TEXT = "a text without control characters"
PLAIN_LINES = "a text without control characters other than line breaks and tabs"
# What a fault names as expected, by the pattern (see `platform.text.shape`).
DESCRIPTIONS = {LINE: PLAIN_TEXT, LINES: PLAIN_LINES}
LINE_BREAKS_AND_TAB = "\n\r\t"
# The characters that `LINES` forbids, and half a surrogate pair, which UTF-8 cannot encode and no
# JSON body contains.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class Wire(msgspec.Struct, frozen=True, rename="camel"):
    """The type of a response. Fields may be added later; clients ignore fields that they do not
    know."""


class WireInput(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The type of a request. Unknown fields are refused, so that a misspelt name is noticed."""


_INSTANT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$"

# An instant in a response, and one in a request.
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
def render_instant(instant: datetime) -> str: ...
@overload
def render_instant(instant: datetime | None) -> str | None: ...
def render_instant(instant: datetime | None) -> str | None:
    """Return the instant as ISO 8601 with milliseconds and Z."""
    if instant is None:
        return None
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def convert_to_json(shown: Wire) -> Any:
    """Return the response's JSON value, as a client parses it."""
    return msgspec.json.decode(msgspec.json.encode(shown))
