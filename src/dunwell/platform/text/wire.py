"""What all wire shapes share: camelCase names, how values are written, and words for the reference.
Pure.
"""

from datetime import UTC, datetime
from typing import Annotated, Any, overload

import msgspec
from msgspec import Meta

from dunwell.platform.text.plain_text import LINE


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
