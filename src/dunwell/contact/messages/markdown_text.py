"""Markdown's tokens as parts of plain text: the same words in the same order. Pure."""

from dataclasses import dataclass, field

from markdown_it.token import Token

from dunwell.contact.messages.marks import (
    ITEMS_ALONE,
    LANDING_ALONE,
    find_link,
    is_button,
    join,
    split,
)
from dunwell.contact.messages.parts import Part, Slot
from dunwell.contact.messages.placeholders import LANDING_URL


@dataclass(slots=True)
class TextCompiler:
    """Blocks apart by an empty line, items of a tight list by a newline; nested ones indented."""

    parts: list[Part] = field(default_factory=list)
    _indents: list[str] = field(default_factory=list)
    _marker: str = ""
    _numbers: list[int | None] = field(default_factory=list)
    _is_apart: bool = True

    def take(self, token: Token) -> None:
        if token.type in ("bullet_list_open", "ordered_list_open"):
            self._is_apart = self._is_apart or not self._indents
            is_ordered = token.type == "ordered_list_open"
            self._numbers.append(int(token.attrs.get("start", 1)) if is_ordered else None)
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            self._numbers.pop()
        elif token.type == "list_item_open":
            self._open_item()
        elif token.type == "list_item_close":
            self._indents.pop()
        elif token.type in ("paragraph_open", "heading_open"):
            self._open_block(is_tight=token.hidden)
        elif token.type == "inline":
            self._take_inline(token)

    def _open_item(self) -> None:
        number = self._numbers[-1]
        self._marker = "- " if number is None else f"{number}. "
        self._numbers[-1] = None if number is None else number + 1
        self._indents.append(" " * len(self._marker))

    def _open_block(self, *, is_tight: bool) -> None:
        if self.parts:
            self.parts.append("\n\n" if self._is_apart or not is_tight else "\n")
        outer = self._indents[:-1] if self._marker else self._indents
        self.parts.append("".join(outer) + self._marker)
        self._marker, self._is_apart = "", False

    def _take_inline(self, token: Token) -> None:
        if token.content == ITEMS_ALONE:
            self.parts.append(Slot("", "ITEMS_TEXT"))
            return
        if is_button(token) and not self._indents:
            self._take_button(token)
            return
        label_from = 0
        link: tuple[Part, ...] | None = None
        for child in token.children or ():
            if child.type == "link_open":
                link, label_from = find_link(child), len(self.parts)
            elif child.type == "link_close" and link:
                # A link whose words are its address is written once.
                if join(self.parts[label_from:]) != link:
                    self.parts.append(Slot("", "LINK_TEXT", link))
            elif child.type in ("softbreak", "hardbreak"):
                self.parts.append("\n" + "".join(self._indents))
            elif child.type == "text":
                self.parts += split(child.content, "TEXT")

    def _take_button(self, token: Token) -> None:
        """Where it leads on a line of its own, below what the button says."""
        if token.content == LANDING_ALONE:
            self.parts.append(Slot("", "BUTTON_WORDS"))
        else:
            texts = [child for child in token.children or () if child.type == "text"]
            for child in texts:
                self.parts += split(child.content, "TEXT")
        self.parts.append(Slot("", "BUTTON_TEXT", (Slot(LANDING_URL, "TEXT"),)))
