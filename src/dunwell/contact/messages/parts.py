"""A compiled text: literals and slots, and how a message's values fill them.

Filling is all that is done per message, so it is one pass over a few parts. Pure.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from dunwell.contact.messages.formatting import NamedTexts, Values, escape
from dunwell.contact.messages.items import render_items_html, render_items_text
from dunwell.contact.messages.mail_style import style_button
from dunwell.contact.messages.placeholders import LANDING_URL
from dunwell.contact.messages.size_limits import join_within

Form = Literal[
    "TEXT", "HTML", "ADDRESS", "ITEMS_HTML", "ITEMS_TEXT", "LINK_OPEN", "LINK_CLOSE", "LINK_TEXT",
    "BUTTON_OPEN", "BUTTON_WORDS", "BUTTON_TEXT",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slot:
    """A place that a value fills, in the form its surroundings need."""

    name: str
    form: Form
    # Of a link's slots: where it leads.
    target: "tuple[Part, ...]" = ()


Part = str | Slot
# Only a claim's values have items.
Source = Values | NamedTexts


def fill(parts: Sequence[Part], values: Source) -> str:
    """The text with every value in its place."""
    return "".join(_list_filled(parts, values))


def fill_within(parts: Sequence[Part], values: Source, limit: int) -> str:
    """The same, with at most so many characters. Raises MessageTooLarge."""
    return join_within(_list_filled(parts, values), limit)


def _list_filled(parts: Sequence[Part], values: Source) -> Iterator[str]:
    for part in parts:
        yield part if isinstance(part, str) else _FILLERS[part.form](part, values)


def _fill_link_open(slot: Slot, values: Source) -> str:
    address = fill(slot.target, values)
    return f'<a href="{escape(address)}">' if address else ""


def _fill_link_close(slot: Slot, values: Source) -> str:
    return "</a>" if fill(slot.target, values) else ""


def _fill_link_text(slot: Slot, values: Source) -> str:
    address = fill(slot.target, values)
    return f" ({address})" if address else ""


def _fill_button_open(slot: Slot, values: Source) -> str:
    address = fill(slot.target, values)
    style = style_button(values.color)
    return f'<a class="button" href="{escape(address)}" style="{style}">' if address else ""


def _fill_button_words(_slot: Slot, values: Source) -> str:
    """Nothing where there is no page to lead to; no markup stands in them."""
    return values.button_words if values.text(LANDING_URL) else ""


def _fill_button_text(slot: Slot, values: Source) -> str:
    address = fill(slot.target, values)
    return f":\n{address}" if address else ""


def _fill_items(render: Callable[[Values], str], values: Source) -> str:
    return render(values) if isinstance(values, Values) else ""


_FILLERS: dict[Form, Callable[[Slot, Source], str]] = {
    "TEXT": lambda slot, values: values.text(slot.name),
    "HTML": lambda slot, values: escape(values.text(slot.name)),
    "ADDRESS": lambda slot, values: quote(values.text(slot.name), safe=""),
    "ITEMS_HTML": lambda _slot, values: _fill_items(render_items_html, values),
    "ITEMS_TEXT": lambda _slot, values: _fill_items(render_items_text, values),
    "LINK_OPEN": _fill_link_open,
    "LINK_CLOSE": _fill_link_close,
    "LINK_TEXT": _fill_link_text,
    "BUTTON_OPEN": _fill_button_open,
    "BUTTON_WORDS": _fill_button_words,
    "BUTTON_TEXT": _fill_button_text,
}
