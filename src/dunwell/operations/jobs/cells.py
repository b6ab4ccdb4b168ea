"""Rows as CSV that a spreadsheet opens: RFC 4180 with a byte order mark, and no cell that it would
take for a formula. Pure.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from enum import Enum
from typing import TypeAlias

from dunwell.contact.messages.templates.formatting import count_minor_digits
from dunwell.platform.text.wire import write_instant

Cell: TypeAlias = str | int | bool | datetime | date | Enum | None
Cells: TypeAlias = Sequence[Cell]

MARK = "\ufeff".encode()
# What a spreadsheet takes for the beginning of a formula, or passes over before one.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Where a spreadsheet of another language cuts a cell in two, and the rest is taken for a formula;
# what is between is passed over.
_CUT = re.compile(r"""([;\t\r\n])(?=(?:[^\S\t\r\n]|")*[=+\-@])""")


def render_rows(rows: Iterable[Cells]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerows([_render(cell) for cell in row] for row in rows)
    return text.getvalue().encode()


def render_amount(cents: int, currency: str) -> str:
    """As a decimal with a point."""
    digits = count_minor_digits(currency)
    sign, figures = "-" if cents < 0 else "", str(abs(cents)).rjust(digits + 1, "0")
    return f"{sign}{figures[:-digits]}.{figures[-digits:]}" if digits else f"{sign}{figures}"


def _render(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime):
        return write_instant(cell)
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, bool):
        return "true" if cell else "false"
    text = str(cell.value) if isinstance(cell, Enum) else str(cell)
    is_text = isinstance(cell, str) and not isinstance(cell, Enum)
    return _make_text(text) if is_text else text


def _make_text(text: str) -> str:
    """Taken for text, whole or cut in two: by an apostrophe before whatever begins like a
    formula."""
    safe = _CUT.sub(r"\1'", text)
    return f"'{safe}" if safe.lstrip(' "').startswith(_FORMULA) else safe
