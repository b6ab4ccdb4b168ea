"""Compare two states of a text word by word, so that a reader sees the change and not two similar
texts. Nothing is left out. Pure.

Texts are aligned by lines first, and by words inside the lines that differ. The work of an
alignment is the product of both lengths, so a comparison has a budget: beyond it, the whole stretch
counts as replaced, which is correct but less precise.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

import msgspec

# Cells of the alignment tables for all texts of one page. They take about 50 ms, during which the
# event loop is blocked; two changed paragraphs of 150 words need 22,500 of them.
MAX_CELLS = 400_000
# Unchanged lines shown before and after a change. Longer stretches are folded.
_LINES_AROUND = 2
# Fewer lines are not folded, because a click on them would cost more than it saves.
_MIN_FOLDED_LINES = 4
_WORD = re.compile(r"\s+|\S+\s*")


class PassageKind(StrEnum):
    SAME = "SAME"
    # Unchanged, and far from a change.
    FOLDED = "FOLDED"
    REMOVED = "REMOVED"
    ADDED = "ADDED"


class Passage(msgspec.Struct, frozen=True, gc=False):
    kind: PassageKind
    text: str

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())


# Where two sequences differ: the start and the end in the first one, and those in the second one.
_Hunk = tuple[int, int, int, int]


class WordComparison:
    """Compares the texts of one page, which share a budget."""

    def __init__(self, max_cells: int = MAX_CELLS) -> None:
        self._cells_left = max_cells
        # The passages by pair of texts, because a page can show the same change twice.
        self._known: dict[tuple[str, str], list[Passage]] = {}

    def compare(self, before: str | None, after: str | None) -> list[Passage]:
        """Return the passages in reading order. A text that does not exist is None."""
        pair = (before or "", after or "")
        if pair not in self._known:
            self._known[pair] = list(_fold(_join(self._compare_by_lines(*pair))))
        return self._known[pair]

    def _compare_by_lines(self, before: str, after: str) -> Iterator[Passage]:
        old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
        place = 0
        for old_from, old_to, new_from, new_to in self._align(old, new):
            yield Passage(PassageKind.SAME, "".join(old[place:old_from]))
            yield from self._compare_by_words(
                "".join(old[old_from:old_to]), "".join(new[new_from:new_to])
            )
            place = old_to
        yield Passage(PassageKind.SAME, "".join(old[place:]))

    def _compare_by_words(self, before: str, after: str) -> Iterator[Passage]:
        old, new = _WORD.findall(before), _WORD.findall(after)
        place = 0
        for old_from, old_to, new_from, new_to in self._align(old, new):
            yield Passage(PassageKind.SAME, "".join(old[place:old_from]))
            yield Passage(PassageKind.REMOVED, "".join(old[old_from:old_to]))
            yield Passage(PassageKind.ADDED, "".join(new[new_from:new_to]))
            place = old_to
        yield Passage(PassageKind.SAME, "".join(old[place:]))

    def _align(self, old: Sequence[str], new: Sequence[str]) -> list[_Hunk]:
        """Return the hunks outside a longest common subsequence, or one hunk if the budget is used
        up."""
        start = _count_common(old, new)
        end = _count_common(old[start:][::-1], new[start:][::-1])
        old_middle, new_middle = old[start : len(old) - end], new[start : len(new) - end]
        if not old_middle and not new_middle:
            return []
        cells = len(old_middle) * len(new_middle)
        if cells > self._cells_left:
            return [(start, start + len(old_middle), start, start + len(new_middle))]
        self._cells_left -= cells
        return [
            (old_from + start, old_to + start, new_from + start, new_to + start)
            for old_from, old_to, new_from, new_to in _list_hunks(old_middle, new_middle)
        ]


def _count_common(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many members are equal from the beginning on."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(old), len(new)))


def _list_hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[_Hunk]:
    lengths = _compute_common_lengths(old, new)
    i = j = old_from = new_from = 0
    while i < len(old) and j < len(new):
        if old[i] == new[j]:
            if i > old_from or j > new_from:
                yield old_from, i, new_from, j
            i, j = i + 1, j + 1
            old_from, new_from = i, j
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    if len(old) > old_from or len(new) > new_from:
        yield old_from, len(old), new_from, len(new)


def _compute_common_lengths(old: Sequence[str], new: Sequence[str]) -> list[list[int]]:
    """Return a table whose entry [i][j] is the length of the longest common subsequence of old[i:]
    and new[j:]."""
    below = [0] * (len(new) + 1)
    lengths = [below]
    for word in reversed(old):
        row, right = [0] * (len(new) + 1), 0
        for j in range(len(new) - 1, -1, -1):
            if new[j] == word:
                right = below[j + 1] + 1
            elif below[j] > right:
                right = below[j]
            row[j] = right
        lengths.append(row)
        below = row
    return lengths[::-1]


def _join(passages: Iterator[Passage]) -> list[Passage]:
    """Join neighbouring passages of one kind, and drop empty ones. Between two unchanged passages,
    removed text precedes added text."""
    joined: list[Passage] = []
    for each in passages:
        if not each.text:
            continue
        if joined and joined[-1].kind is each.kind:
            joined[-1] = Passage(each.kind, joined[-1].text + each.text)
        else:
            joined.append(each)
    return joined


def _fold(passages: Sequence[Passage]) -> Iterator[Passage]:
    """Yield the passages, in which unchanged lines that are far from a change are folded."""
    for place, each in enumerate(passages):
        if each.kind is not PassageKind.SAME:
            yield each
            continue
        lines = each.text.splitlines(keepends=True)
        first = _LINES_AROUND if place else 0
        # If the last line continues with a change, show it in addition to _LINES_AROUND whole
        # lines.
        around = _LINES_AROUND if each.text.endswith("\n") else _LINES_AROUND + 1
        last = around if place < len(passages) - 1 else 0
        folded = lines[first : len(lines) - last]
        if len(folded) < _MIN_FOLDED_LINES or len(passages) == 1:
            yield each
            continue
        parts = (
            (PassageKind.SAME, lines[:first]),
            (PassageKind.FOLDED, folded),
            (PassageKind.SAME, lines[len(lines) - last :]),
        )
        yield from (Passage(kind, "".join(part)) for kind, part in parts if part)
