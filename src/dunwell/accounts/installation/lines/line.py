"""What every line has, and what stands in its place where nothing is said. Pure."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Text = Annotated[str, Meta(min_length=1, max_length=255)]
# A name of ours in a merchant file, in addresses and in figures.
LineName = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9-]{0,39}$(?!\n)",
        description="a short name of small letters, digits and -",
    ),
]
# host:port, or a host alone.
Server = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9.\-\[\]:]{1,255}$(?!\n)",
        description='a server as "mail.example.com:587"',
    ),
]
# A path on the machine `dunwell apply` runs on: absolute, or beside the installation file. What it
# holds is sealed into the database; the file is not read again.
SecretFile = Annotated[str, Meta(min_length=1, max_length=1_000)]
# Cents of the merchant's currency for one message (an SMS's part, a letter's sheet), by country as
# ISO 3166-1 alpha-2; "*": any other.
Prices = dict[Annotated[str, Meta(pattern=r"^([A-Z]{2}|\*)$(?!\n)")], Annotated[float, Meta(ge=0)]]
Encryption = Literal["TLS", "STARTTLS", "NONE"]


class LinePart(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True
):
    """A part of a line."""


class Pace(LinePart, frozen=True):
    """How quick a line may be taken. `atOnce`: messages that are with it unanswered at a time, and
    so what may have left unseen when a worker dies."""

    per_second: Annotated[float, Meta(gt=0, le=10_000)] | None = None
    at_once: Annotated[int, Meta(ge=1, le=200)] = 50


class Credentials(LinePart, frozen=True):
    user: Text
    password_file: SecretFile
