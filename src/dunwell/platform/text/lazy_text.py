"""English texts that are translated when they are shown. Pure."""

from typing import Any, Self


class LazyText(str):
    """A text in English that a page can show in the reader's language.

    The string itself has the facts in their places; the API and the command line show it as it is.
    """

    __slots__ = ("facts", "text")
    # The text with placeholders such as `%(name)s`: its key in the catalogues.
    text: str
    facts: dict[str, Any]

    def __new__(cls, text: str, **facts: Any) -> Self:
        lazy = super().__new__(cls, text % facts if facts else text)
        lazy.text, lazy.facts = text, facts
        return lazy
