"""Markdown's tokens as parts of HTML. Pure."""

from dataclasses import dataclass, field

from markdown_it.token import Token

from dunwell.contact.messages.mail_style import BLOCKS, BOX, BOX_LABEL
from dunwell.contact.messages.marks import (
    ITEMS_ALONE,
    LANDING_ALONE,
    find_link,
    is_box,
    is_button,
    list_words,
    split,
)
from dunwell.contact.messages.parts import Part, Slot
from dunwell.contact.messages.placeholders import LANDING_URL

_PARAGRAPH = f'<p style="{BLOCKS["p"]}">'


@dataclass(slots=True)
class HtmlCompiler:
    parts: list[Part] = field(default_factory=list)
    has_button: bool = False
    _tags: dict[str, str] = field(
        default_factory=lambda: {
            "strong_open": "<strong>", "strong_close": "</strong>",
            "em_open": "<em>", "em_close": "</em>",
            "softbreak": "<br>\n", "hardbreak": "<br>\n",
        }
    )  # fmt: skip

    def take(self, token: Token) -> None:
        """A block: its tags, or what is in it."""
        if token.type == "inline":
            self._take_inline(token)
        elif token.hidden or self._stands_around_items(token):
            return
        elif token.nesting == 1:
            start = token.attrs.get("start")
            numbered = f' start="{start}"' if start else ""
            self.parts.append(f'<{token.tag}{numbered} style="{BLOCKS[token.tag]}">')
        else:
            self.parts.append(f"</{token.tag}>\n")

    def _stands_around_items(self, token: Token) -> bool:
        """A table may not stand in a paragraph, so the paragraph around items is left out."""
        is_after_items = self.parts and self.parts[-1] == Slot("", "ITEMS_HTML")
        return bool(is_after_items and token.type == "paragraph_close")

    def _take_inline(self, token: Token) -> None:
        is_paragraph = bool(self.parts) and self.parts[-1] == _PARAGRAPH
        if token.content == ITEMS_ALONE:
            if is_paragraph:
                self.parts.pop()
            self.parts.append(Slot("", "ITEMS_HTML"))
        elif is_paragraph and is_button(token) and not self.has_button:
            self._take_button(token)
        elif is_paragraph and is_box(token):
            self._take_box(list_words(token))
        else:
            self._take_words(token)

    def _take_button(self, token: Token) -> None:
        """The way to the debtor's page, where it is a paragraph: once in a message."""
        self.has_button = True
        target = (Slot(LANDING_URL, "TEXT"),)
        self.parts.append(Slot("", "BUTTON_OPEN", target))
        if token.content == LANDING_ALONE:
            self.parts.append(Slot("", "BUTTON_WORDS"))
        else:
            words = list_words(token)[1:-1]
            self._take_words(Token("inline", "", 0, children=words))
        self.parts.append(Slot("", "LINK_CLOSE", target))

    def _take_box(self, children: list[Token]) -> None:
        """What is to be found at a glance, a code or an amount: its label small, itself large."""
        label, *value = children
        self.parts[-1] = f'<p class="box" style="{BOX}">'
        self.parts.append(f'<span class="quiet" style="{BOX_LABEL}">')
        self.parts += [*split(label.content.rstrip(), "HTML"), "</span> "]
        self._take_words(Token("inline", "", 0, children=value))

    def _take_words(self, token: Token) -> None:
        link: tuple[Part, ...] | None = None
        is_linked = False
        for child in token.children or ():
            if child.type == "link_open":
                link, is_linked = find_link(child), True
                self.parts += [Slot("", "LINK_OPEN", link)] if link else []
            elif child.type == "link_close":
                self.parts += [Slot("", "LINK_CLOSE", link)] if link else []
                is_linked = False
            elif child.type == "text":
                self.parts += self._take_text(child.content, is_linked=is_linked)
            else:
                self.parts.append(self._tags[child.type])

    def _take_text(self, text: str, *, is_linked: bool) -> list[Part]:
        """The landing page's address is a link wherever it stands."""
        landing = Slot(LANDING_URL, "HTML")
        address = (Slot(LANDING_URL, "TEXT"),)
        parts: list[Part] = []
        for part in split(text, "HTML"):
            if part == landing and not is_linked:
                parts += [Slot("", "LINK_OPEN", address), part, Slot("", "LINK_CLOSE", address)]
            else:
                parts.append(part)
        return parts
