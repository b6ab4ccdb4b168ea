"""What a letter says, as data for the one layout (`letter.typ`): texts, never source. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

Row = tuple[str, str]
USUAL_LAYOUT = "din-5008-b"


class Picture(msgspec.Struct, frozen=True):
    """SVG, PNG, JPEG or WebP, as checked when it was set up."""

    content_type: str
    content: bytes


class Items(msgspec.Struct, frozen=True):
    head: Row
    # What, when (may be empty), how much.
    rows: list[tuple[str, str, str]]
    sums: list[Row]


class SheetPage(msgspec.Struct, frozen=True):
    """The debtor's page: where to enter the code, and the address the QR code holds."""

    entrance: str
    code: str
    url: str


class Transfer(msgspec.Struct, frozen=True):
    rows: list[Row]
    # What the payment code holds; none where banking apps would not read it.
    payload: str | None = None


class Enclosure(msgspec.Struct, frozen=True):
    name: str
    pages: int | None = None


class Sheet(msgspec.Struct, frozen=True):
    language: str
    sender: str
    # As debtors know it.
    sender_name: str
    # #rrggbb.
    color: str | None
    # In place of the name.
    logo: Picture | None
    # One line above the address, for the post.
    return_line: str
    address: list[str]
    reference: str
    information: list[Row]
    subject: str
    # See `markdown_letter`.
    body: list[list[Any]]
    items: Items
    page: SheetPage
    transfer: Transfer | None
    enclosures: list[str]
    # Columns of lines.
    footer: list[list[str]]
    # The operator, below them; empty: nobody was named.
    operator: str
    # The texts of the layout, by the names that it uses.
    words: Mapping[str, str]
    # Where what stands: a file of `layouts/`.
    layout: str = USUAL_LAYOUT


def write_sheet(sheet: Sheet) -> bytes:
    """As the printer takes it."""
    return msgspec.json.encode(sheet)
