"""Compile Markdown tokens to HTML, plain text and the blocks of a letter, with the same text in the
same order.

The blocks of a letter are JSON for its layout (`letter.typ`):

    ["p", runs]                 a paragraph
    ["h", runs]                 a heading
    ["ul", entries]             a list; an entry is a list of blocks
    ["ol", entries, start]      a numbered list
    ["items"]                   the table of the claim's items

A run is ["t", text, is_bold, is_italic], or ["b"] for a line break. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markdown_it.token import Token

from dunwell.contact.messages.templates.compiled_text import (
    ITEMS_MARK,
    LANDING_MARK,
    Part,
    Slot,
    SlotValues,
    fill,
    find_link_destination,
    is_box,
    is_button,
    list_children,
    merge_literals,
    split_marked,
)
from dunwell.contact.messages.templates.mail_blocks import BLOCKS, BOX, BOX_LABEL
from dunwell.contact.messages.templates.placeholders import LANDING_URL

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

    def add_token(self, token: Token) -> None:
        """Add a block token: its tags or its content."""
        if token.type == "inline":
            self._add_inline(token)
        elif token.hidden or self._closes_items_paragraph(token):
            return
        elif token.nesting == 1:
            start = token.attrs.get("start")
            numbered = f' start="{start}"' if start else ""
            self.parts.append(f'<{token.tag}{numbered} style="{BLOCKS[token.tag]}">')
        else:
            self.parts.append(f"</{token.tag}>\n")

    def _closes_items_paragraph(self, token: Token) -> bool:
        """Return whether the token closes a paragraph around {{ items }}. Its tags are left out,
        because a paragraph may not contain a table."""
        is_after_items = self.parts and self.parts[-1] == Slot("", "ITEMS_HTML")
        return bool(is_after_items and token.type == "paragraph_close")

    def _add_inline(self, token: Token) -> None:
        is_paragraph = bool(self.parts) and self.parts[-1] == _PARAGRAPH
        if token.content == ITEMS_MARK:
            if is_paragraph:
                self.parts.pop()
            self.parts.append(Slot("", "ITEMS_HTML"))
        elif is_paragraph and is_button(token) and not self.has_button:
            self._add_button(token)
        elif is_paragraph and is_box(token):
            self._add_box(list_children(token))
        else:
            self._add_children(token)

    def _add_button(self, token: Token) -> None:
        """Add a link to the debtor's page as a button, if it is a separate paragraph. A message has
        one button."""
        self.has_button = True
        target = (Slot(LANDING_URL, "TEXT"),)
        self.parts.append(Slot("", "BUTTON_OPEN", target))
        if token.content == LANDING_MARK:
            self.parts.append(Slot("", "BUTTON_LABEL"))
        else:
            children = list_children(token)[1:-1]
            self._add_children(Token("inline", "", 0, children=children))
        self.parts.append(Slot("", "LINK_CLOSE", target))

    def _add_box(self, children: list[Token]) -> None:
        """Add a label and its value, such as a code or an amount: the label small, the value
        large."""
        label, *value = children
        self.parts[-1] = f'<p class="box" style="{BOX}">'
        self.parts.append(f'<span class="quiet" style="{BOX_LABEL}">')
        self.parts += [*split_marked(label.content.rstrip(), "HTML"), "</span> "]
        self._add_children(Token("inline", "", 0, children=value))

    def _add_children(self, token: Token) -> None:
        link: tuple[Part, ...] | None = None
        is_linked = False
        for child in token.children or ():
            if child.type == "link_open":
                link, is_linked = find_link_destination(child), True
                self.parts += [Slot("", "LINK_OPEN", link)] if link else []
            elif child.type == "link_close":
                self.parts += [Slot("", "LINK_CLOSE", link)] if link else []
                is_linked = False
            elif child.type == "text":
                self.parts += self._split_text(child.content, is_linked=is_linked)
            else:
                self.parts.append(self._tags[child.type])

    def _split_text(self, text: str, *, is_linked: bool) -> list[Part]:
        """Return the parts of a text. The address of the debtor's page becomes a link, unless the
        text is already part of one (`is_linked`)."""
        landing = Slot(LANDING_URL, "HTML")
        address = (Slot(LANDING_URL, "TEXT"),)
        parts: list[Part] = []
        for part in split_marked(text, "HTML"):
            if part == landing and not is_linked:
                parts += [Slot("", "LINK_OPEN", address), part, Slot("", "LINK_CLOSE", address)]
            else:
                parts.append(part)
        return parts


@dataclass(slots=True)
class TextCompiler:
    """Compile to plain text. Blocks are separated by an empty line, the entries of a tight list by
    a newline; nested lists are indented."""

    parts: list[Part] = field(default_factory=list)
    _indents: list[str] = field(default_factory=list)
    _marker: str = ""
    _numbers: list[int | None] = field(default_factory=list)
    _needs_empty_line: bool = True

    def add_token(self, token: Token) -> None:
        if token.type in ("bullet_list_open", "ordered_list_open"):
            self._needs_empty_line = self._needs_empty_line or not self._indents
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
            self._add_inline(token)

    def _open_item(self) -> None:
        number = self._numbers[-1]
        self._marker = "- " if number is None else f"{number}. "
        self._numbers[-1] = None if number is None else number + 1
        self._indents.append(" " * len(self._marker))

    def _open_block(self, *, is_tight: bool) -> None:
        if self.parts:
            self.parts.append("\n\n" if self._needs_empty_line or not is_tight else "\n")
        outer = self._indents[:-1] if self._marker else self._indents
        self.parts.append("".join(outer) + self._marker)
        self._marker, self._needs_empty_line = "", False

    def _add_inline(self, token: Token) -> None:
        if token.content == ITEMS_MARK:
            self.parts.append(Slot("", "ITEMS_TEXT"))
            return
        if is_button(token) and not self._indents:
            self._add_button(token)
            return
        label_from = 0
        link: tuple[Part, ...] | None = None
        for child in token.children or ():
            if child.type == "link_open":
                link, label_from = find_link_destination(child), len(self.parts)
            elif child.type == "link_close" and link:
                # A link whose text is its address is written once.
                if merge_literals(self.parts[label_from:]) != link:
                    self.parts.append(Slot("", "LINK_TEXT", link))
            elif child.type in ("softbreak", "hardbreak"):
                self.parts.append("\n" + "".join(self._indents))
            elif child.type == "text":
                self.parts += split_marked(child.content, "TEXT")

    def _add_button(self, token: Token) -> None:
        """Add the text of the button and, on the next line, its address."""
        if token.content == LANDING_MARK:
            self.parts.append(Slot("", "BUTTON_LABEL"))
        else:
            texts = [child for child in token.children or () if child.type == "text"]
            for child in texts:
                self.parts += split_marked(child.content, "TEXT")
        self.parts.append(Slot("", "BUTTON_TEXT", (Slot(LANDING_URL, "TEXT"),)))


# A block as described above. A compiled block has a tuple of parts in place of each text;
# `fill_blocks` replaces them by the texts.
Block = list[Any]


@dataclass(slots=True)
class LetterCompiler:
    """Compile to the blocks of a letter. The address of a link follows its text, because a printed
    link cannot be clicked."""

    blocks: list[Block] = field(default_factory=list)
    # The target for blocks of the innermost list entry.
    _open_entries: list[list[Block]] = field(default_factory=list)

    def add_token(self, token: Token) -> None:
        target = self._open_entries[-1] if self._open_entries else self.blocks
        if token.type == "bullet_list_open":
            target.append(["ul", []])
        elif token.type == "ordered_list_open":
            target.append(["ol", [], int(token.attrs.get("start", 1))])
        elif token.type == "list_item_open":
            entry: list[Block] = []
            target[-1][1].append(entry)
            self._open_entries.append(entry)
        elif token.type == "list_item_close":
            self._open_entries.pop()
        elif token.type in ("paragraph_open", "heading_open"):
            target.append(["h" if token.type == "heading_open" else "p"])
        elif token.type == "inline":
            self._add_inline(token, target[-1])

    def _add_inline(self, token: Token, block: Block) -> None:
        if token.content == ITEMS_MARK:
            block[:] = ["items"]
            return
        runs = _Runs()
        for child in token.children or ():
            runs.add_token(child)
        block.append(runs.runs)


@dataclass(slots=True)
class _Runs:
    runs: list[Block] = field(default_factory=list)
    _depths: dict[str, int] = field(default_factory=lambda: {"strong": 0, "em": 0})
    _link: tuple[Part, ...] | None = None
    _label: list[Part] = field(default_factory=list)

    def add_token(self, child: Token) -> None:
        kind, _, side = child.type.rpartition("_")
        if kind in self._depths:
            self._depths[kind] += 1 if side == "open" else -1
        elif child.type in ("softbreak", "hardbreak"):
            self.runs.append(["b"])
        elif child.type == "link_open":
            self._link, self._label = find_link_destination(child), []
        elif child.type == "link_close":
            # A link whose text is its address is written once.
            if self._link and merge_literals(self._label) != self._link:
                self._append((Slot("", "LINK_TEXT", self._link),))
            self._link = None
        elif child.type == "text":
            parts = split_marked(child.content, "TEXT")
            self._label += parts
            self._append(tuple(parts))

    def _append(self, parts: tuple[Part, ...]) -> None:
        self.runs.append(["t", parts, self._depths["strong"] > 0, self._depths["em"] > 0])


def fill_blocks(blocks: Sequence[Block], values: SlotValues) -> list[Block]:
    """Return the blocks with all values filled in."""
    return [_fill_block(block, values) for block in blocks]


def _fill_block(block: Block, values: SlotValues) -> Block:
    kind, *rest = block
    if kind == "items":
        return [kind]
    if kind in ("ul", "ol"):
        return [kind, [fill_blocks(entry, values) for entry in rest[0]], *rest[1:]]
    return [kind, [_fill_run(run, values) for run in rest[0]]]


def _fill_run(run: Block, values: SlotValues) -> Block:
    if run[0] == "b":
        return run
    kind, parts, *style = run
    return [kind, fill(parts, values), *style]
