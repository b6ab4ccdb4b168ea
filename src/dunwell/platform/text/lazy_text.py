"""English texts that are translated when they are shown. Pure."""

from datetime import datetime
from typing import Any, Self


class LazyText(str):
    """A text in English that a page can show in the reader's language.

    The string itself has its placeholders filled; the API and the command line show it as it is.
    """

    __slots__ = ("facts", "text")
    # The text with placeholders such as `%(name)s`, which is its key in the catalogues.
    text: str
    facts: dict[str, Any]

    def __new__(cls, text: str, **facts: Any) -> Self:
        lazy = super().__new__(cls, text % facts if facts else text)
        lazy.text, lazy.facts = text, facts
        return lazy


class InstantText(str):
    """An instant in a text. The API and the command line show the string, a page shows `instant` in
    the reader's format."""

    __slots__ = ("instant",)
    instant: datetime

    def __new__(cls, text: str, instant: datetime) -> Self:
        shown = super().__new__(cls, text)
        shown.instant = instant
        return shown


class CountText(str):
    """A large number in a text. The API and the command line show the string, a page shows `number`
    in the reader's format."""

    __slots__ = ("number",)
    number: int

    def __new__(cls, number: int) -> Self:
        shown = super().__new__(cls, f"{number:,}")
        shown.number = number
        return shown
