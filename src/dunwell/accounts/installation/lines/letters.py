"""Lines for letters: a folder, or a print service's SFTP. Pure."""

from typing import Annotated, Literal

from msgspec import Meta, field

from dunwell.accounts.installation.lines.line import (
    LinePart,
    Pace,
    Prices,
    SecretFile,
    Server,
    Text,
)

Path = Annotated[str, Meta(min_length=1, max_length=1_000)]


class Batch(LinePart, frozen=True):
    """Letters are handed over at once and released in batches, by a manifest."""

    every_minutes: Annotated[int, Meta(ge=1, le=1_440)] = 60
    most: Annotated[int, Meta(ge=1, le=10_000)] = 1_000


# Beside the letter as files of their own, or behind it in one PDF.
Enclosures = Literal["BESIDE", "APPENDED"]
# How the print service writes its status files: a file of `contact/sending/batches/formats`.
StatusFormatName = Literal["dunwell"]
LayoutName = Literal["din-5008-a", "din-5008-b", "c5-6", "print-service"]


class FolderLine(LinePart, frozen=True, tag_field="adapter", tag="folder"):
    channel: Literal["LETTER"]
    # On the workers' machine.
    folder: Path
    batch: Batch = field(default_factory=Batch)
    # Where on the sheet what stands: a file of `contact/messages/letters/layouts`.
    layout: LayoutName = "din-5008-b"
    # Pages of one letter with its enclosures; more go by the next channel.
    most_pages: Annotated[int, Meta(ge=1, le=100)] = 20
    enclosures: Enclosures = "APPENDED"
    status_format: StatusFormatName = "dunwell"
    pace: Pace = field(default_factory=Pace)
    prices: Prices = field(default_factory=dict)


class SftpLine(LinePart, frozen=True, tag_field="adapter", tag="sftp"):
    channel: Literal["LETTER"]
    server: Server
    # The server's own key, as in known_hosts: "ssh-ed25519 AAAA...". No other is spoken to.
    host_key: Annotated[str, Meta(min_length=20, max_length=2_000)]
    user: Text
    # One of the two.
    key_file: SecretFile | None = None
    password_file: SecretFile | None = None
    # On the server.
    folder: Path = "."
    batch: Batch = field(default_factory=Batch)
    layout: LayoutName = "din-5008-b"
    most_pages: Annotated[int, Meta(ge=1, le=100)] = 20
    enclosures: Enclosures = "APPENDED"
    status_format: StatusFormatName = "dunwell"
    pace: Pace = field(default_factory=Pace)
    prices: Prices = field(default_factory=dict)


def locate(line: FolderLine | SftpLine) -> dict[str, str]:
    """Where its letters lie, as the installation file says it."""
    if isinstance(line, FolderLine):
        return {"adapter": "folder", "folder": line.folder}
    server, user, folder = line.server, line.user, line.folder
    return {"adapter": "sftp", "server": server, "user": user, "folder": folder}
