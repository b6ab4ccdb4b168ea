"""Compiled texts: literals and slots, filling them with the values of a message, and protecting
placeholders while Markdown is parsed. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from markdown_it.token import Token

from dunwell.contact.messages.templates.formatting import MessageValues, NamedTexts, escape
from dunwell.contact.messages.templates.mail_blocks import (
    render_button_style,
    render_items_html,
    render_items_text,
)
from dunwell.contact.messages.templates.placeholders import (
    ITEMS,
    LANDING_URL,
    PLACEHOLDER,
    join_within,
)

SlotForm = Literal[
    "TEXT", "HTML", "ADDRESS", "ITEMS_HTML", "ITEMS_TEXT", "LINK_OPEN", "LINK_CLOSE", "LINK_TEXT",
    "BUTTON_OPEN", "BUTTON_LABEL", "BUTTON_TEXT",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a value, in the form that its context needs."""

    name: str
    form: SlotForm
    # For the slots of a link: the parts of its destination.
    target: "tuple[Part, ...]" = ()


Part = str | Slot
# Only the values of a claim have items.
SlotValues = MessageValues | NamedTexts


def fill(parts: Sequence[Part], values: SlotValues) -> str:
    """Return the text with all values filled in."""
    return "".join(_list_filled(parts, values))


def fill_within(parts: Sequence[Part], values: SlotValues, limit: int) -> str:
    """Return the text with all values filled in, within a limit of characters. Raises
    MessageTooLarge."""
    return join_within(_list_filled(parts, values), limit)


def _list_filled(parts: Sequence[Part], values: SlotValues) -> Iterator[str]:
    for part in parts:
        yield part if isinstance(part, str) else _FILLERS[part.form](part, values)


def _fill_link_open(slot: Slot, values: SlotValues) -> str:
    address = fill(slot.target, values)
    return f'<a href="{escape(address)}">' if address else ""


def _fill_link_close(slot: Slot, values: SlotValues) -> str:
    return "</a>" if fill(slot.target, values) else ""


def _fill_link_text(slot: Slot, values: SlotValues) -> str:
    address = fill(slot.target, values)
    return f" ({address})" if address else ""


def _fill_button_open(slot: Slot, values: SlotValues) -> str:
    address = fill(slot.target, values)
    style = render_button_style(values.color)
    return f'<a class="button" href="{escape(address)}" style="{style}">' if address else ""


def _fill_button_label(_slot: Slot, values: SlotValues) -> str:
    """Return the label of the button, or an empty text if there is no page to link to."""
    return values.button_label if values.text(LANDING_URL) else ""


def _fill_button_text(slot: Slot, values: SlotValues) -> str:
    address = fill(slot.target, values)
    return f":\n{address}" if address else ""


def _fill_items(render: Callable[[MessageValues], str], values: SlotValues) -> str:
    return render(values) if isinstance(values, MessageValues) else ""


_FILLERS: dict[SlotForm, Callable[[Slot, SlotValues], str]] = {
    "TEXT": lambda slot, values: values.text(slot.name),
    "HTML": lambda slot, values: escape(values.text(slot.name)),
    "ADDRESS": lambda slot, values: quote(values.text(slot.name), safe=""),
    "ITEMS_HTML": lambda _slot, values: _fill_items(render_items_html, values),
    "ITEMS_TEXT": lambda _slot, values: _fill_items(render_items_text, values),
    "LINK_OPEN": _fill_link_open,
    "LINK_CLOSE": _fill_link_close,
    "LINK_TEXT": _fill_link_text,
    "BUTTON_OPEN": _fill_button_open,
    "BUTTON_LABEL": _fill_button_label,
    "BUTTON_TEXT": _fill_button_text,
}


# Private-use characters that enclose the name of a placeholder.
_OPEN, _CLOSE = "\ue000", "\ue001"
_MARKED = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
ITEMS_MARK = f"{_OPEN}{ITEMS}{_CLOSE}"
LANDING_MARK = f"{_OPEN}{LANDING_URL}{_CLOSE}"
# The host is fixed by the template; values may follow it, percent-encoded.
_HTTPS = re.compile(r"https://[A-Za-z0-9.-]+(?::\d+)?(?:[/?#]\S*)?")


def mark_placeholders(text: str) -> str:
    """Replace placeholders by marks that Markdown leaves unchanged."""
    clean = text.replace(_OPEN, "").replace(_CLOSE, "")
    return PLACEHOLDER.sub(rf"{_OPEN}\1{_CLOSE}", clean)


def unmark_placeholders(text: str) -> str:
    """Restore the placeholders as the author wrote them."""
    return _MARKED.sub(r"{{ \1 }}", text)


def split_marked(text: str, form: SlotForm) -> list[Part]:
    """Split a marked text into literals and slots. Literals are escaped if the form is HTML."""
    literal = escape if form == "HTML" else str
    return [
        Slot(piece, form) if index % 2 else literal(piece)
        for index, piece in enumerate(_MARKED.split(text))
        if piece
    ]


def merge_literals(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Merge adjacent literals."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(joined)


def find_link_destination(token: Token) -> tuple[Part, ...] | None:
    """Return the destination of a link as parts, or None if links to it are not allowed."""
    target = str(token.attrs["href"])
    if target == LANDING_MARK:
        return (Slot(LANDING_URL, "TEXT"),)
    if _HTTPS.fullmatch(target):
        return tuple(split_marked(target, "ADDRESS"))
    return None


def list_children(token: Token) -> list[Token]:
    """Return the children of an inline token without the empty texts that parsing leaves."""
    return [each for each in token.children or () if each.type != "text" or each.content]


def is_button(token: Token) -> bool:
    """Return whether the paragraph consists only of a link to the debtor's page."""
    if token.content == LANDING_MARK:
        return True
    children = list_children(token)
    kinds = [child.type for child in children]
    is_link = kinds[:1] == ["link_open"] and kinds.index("link_close") == len(kinds) - 1
    return is_link and str(children[0].attrs["href"]) == LANDING_MARK


def is_box(token: Token) -> bool:
    """Return whether the paragraph is a label with its value, such as `Your code: **{{ landing.code
    }}**`."""
    children = list_children(token)
    kinds = [child.type for child in children]
    is_pair = kinds == ["text", "strong_open", "text", "strong_close"]
    return is_pair and children[0].content.endswith(": ")
