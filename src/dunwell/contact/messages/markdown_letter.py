"""Markdown's tokens as blocks of a letter: a structure of texts, never source of a layout.

A block is ("p", runs), ("h", runs), ("ul", entries), ("ol", entries, start) or ("items",), an entry
a list of blocks; a run is ("t", text, is strong, is emphasised) or ("b",) where a line ends. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markdown_it.token import Token

from dunwell.contact.messages.marks import ITEMS_ALONE, find_link, join, split
from dunwell.contact.messages.parts import Part, Slot, Source, fill

# Filled: JSON of what the head describes. Compiled: the same with parts in place of texts.
Block = list[Any]


@dataclass(slots=True)
class LetterCompiler:
    """Links are written out behind their words: paper cannot be clicked."""

    blocks: list[Block] = field(default_factory=list)
    # Where the blocks of the innermost list entry go.
    _open: list[list[Block]] = field(default_factory=list)

    def take(self, token: Token) -> None:
        target = self._open[-1] if self._open else self.blocks
        if token.type == "bullet_list_open":
            target.append(["ul", []])
        elif token.type == "ordered_list_open":
            target.append(["ol", [], int(token.attrs.get("start", 1))])
        elif token.type == "list_item_open":
            entry: list[Block] = []
            target[-1][1].append(entry)
            self._open.append(entry)
        elif token.type == "list_item_close":
            self._open.pop()
        elif token.type in ("paragraph_open", "heading_open"):
            target.append(["h" if token.type == "heading_open" else "p"])
        elif token.type == "inline":
            self._take_inline(token, target[-1])

    def _take_inline(self, token: Token, block: Block) -> None:
        if token.content == ITEMS_ALONE:
            block[:] = ["items"]
            return
        runs = _Runs()
        for child in token.children or ():
            runs.take(child)
        block.append(runs.runs)


@dataclass(slots=True)
class _Runs:
    runs: list[Block] = field(default_factory=list)
    _depths: dict[str, int] = field(default_factory=lambda: {"strong": 0, "em": 0})
    _link: tuple[Part, ...] | None = None
    _label: list[Part] = field(default_factory=list)

    def take(self, child: Token) -> None:
        kind, _, side = child.type.rpartition("_")
        if kind in self._depths:
            self._depths[kind] += 1 if side == "open" else -1
        elif child.type in ("softbreak", "hardbreak"):
            self.runs.append(["b"])
        elif child.type == "link_open":
            self._link, self._label = find_link(child), []
        elif child.type == "link_close":
            # A link whose words are its address is written once.
            if self._link and join(self._label) != self._link:
                self._append((Slot("", "LINK_TEXT", self._link),))
            self._link = None
        elif child.type == "text":
            parts = split(child.content, "TEXT")
            self._label += parts
            self._append(tuple(parts))

    def _append(self, parts: tuple[Part, ...]) -> None:
        self.runs.append(["t", parts, self._depths["strong"] > 0, self._depths["em"] > 0])


def fill_blocks(blocks: Sequence[Block], values: Source) -> list[Block]:
    """The blocks with every value in its place."""
    return [_fill_block(block, values) for block in blocks]


def _fill_block(block: Block, values: Source) -> Block:
    kind, *rest = block
    if kind == "items":
        return [kind]
    if kind in ("ul", "ol"):
        return [kind, [fill_blocks(entry, values) for entry in rest[0]], *rest[1:]]
    return [kind, [_fill_run(run, values) for run in rest[0]]]


def _fill_run(run: Block, values: Source) -> Block:
    if run[0] == "b":
        return run
    kind, parts, *style = run
    return [kind, fill(parts, values), *style]
