"""Placeholders while Markdown is parsed: cut out as marks before, turned into slots after.

A mark is the placeholder's name between two private-use characters. These are neither punctuation
nor blank to Markdown, and are taken out of the author's text beforehand. Pure.
"""

import re
from collections.abc import Sequence

from markdown_it.token import Token

from dunwell.contact.messages.formatting import escape
from dunwell.contact.messages.parts import Form, Part, Slot
from dunwell.contact.messages.placeholders import ITEMS, LANDING_URL, PLACEHOLDER

_OPEN, _CLOSE = "\ue000", "\ue001"
_MARKED = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
ITEMS_ALONE = f"{_OPEN}{ITEMS}{_CLOSE}"
LANDING_ALONE = f"{_OPEN}{LANDING_URL}{_CLOSE}"
# The host is the author's alone; values may follow behind it, percent-encoded.
_HTTPS = re.compile(r"https://[A-Za-z0-9.-]+(?::\d+)?(?:[/?#]\S*)?")


def mark(text: str) -> str:
    """Placeholders as marks."""
    clean = text.replace(_OPEN, "").replace(_CLOSE, "")
    return PLACEHOLDER.sub(rf"{_OPEN}\1{_CLOSE}", clean)


def unmark(text: str) -> str:
    """As the author wrote it."""
    return _MARKED.sub(r"{{ \1 }}", text)


def split(text: str, form: Form) -> list[Part]:
    """Literals and slots in turn; literals escaped where the form is HTML's."""
    literal = escape if form == "HTML" else str
    return [
        Slot(piece, form) if place % 2 else literal(piece)
        for place, piece in enumerate(_MARKED.split(text))
        if piece
    ]


def join(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Neighbouring literals as one."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(joined)


def find_link(token: Token) -> tuple[Part, ...] | None:
    """A link's destination as parts; none: it may not be linked to."""
    target = str(token.attrs["href"])
    if target == LANDING_ALONE:
        return (Slot(LANDING_URL, "TEXT"),)
    if _HTTPS.fullmatch(target):
        return tuple(split(target, "ADDRESS"))
    return None


def list_words(token: Token) -> list[Token]:
    """What stands in a line, without the empty texts that parsing leaves."""
    return [each for each in token.children or () if each.type != "text" or each.content]


def is_button(token: Token) -> bool:
    """Whether these words are nothing but the way to the debtor's page."""
    if token.content == LANDING_ALONE:
        return True
    words = list_words(token)
    kinds = [child.type for child in words]
    is_link = kinds[:1] == ["link_open"] and kinds.index("link_close") == len(kinds) - 1
    return is_link and str(words[0].attrs["href"]) == LANDING_ALONE


def is_box(token: Token) -> bool:
    """Whether these words are a label with its value, as `Your code: **{{ landing.code }}**`."""
    children = list_words(token)
    kinds = [child.type for child in children]
    is_pair = kinds == ["text", "strong_open", "text", "strong_close"]
    return is_pair and children[0].content.endswith(": ")
