"""Texts are compared word by word, completely, within a limited amount of work."""

import time

from hypothesis import given
from hypothesis import strategies as st

from dunwell.core.workflows.versions.word_differences import (
    MAX_CELLS,
    Passage,
    PassageKind,
    WordComparison,
)

SAME, FOLDED = PassageKind.SAME, PassageKind.FOLDED
REMOVED, ADDED = PassageKind.REMOVED, PassageKind.ADDED
# Few words, so that examples contain many equal ones.
TEXTS = st.lists(st.sampled_from(["a", "b ", "c\n", " ", "\n", "d"]), max_size=40).map("".join)


def compare(before: str | None, after: str | None) -> list[tuple[PassageKind, str]]:
    return [(each.kind, each.text) for each in WordComparison().compare(before, after)]


def test_only_the_changed_word_is_marked() -> None:
    assert compare("Please pay 40.00 now.", "Please pay 45.00 now.") == [
        (SAME, "Please pay "), (REMOVED, "40.00 "), (ADDED, "45.00 "), (SAME, "now."),
    ]  # fmt: skip


def test_an_added_or_removed_text_is_shown_whole() -> None:
    assert compare(None, "Please pay.") == [(ADDED, "Please pay.")]
    assert compare("Please pay.", None) == [(REMOVED, "Please pay.")]


def test_words_far_from_a_change_are_folded() -> None:
    before = "".join(f"line {number}\n" for number in range(20))
    found = compare(before, before.replace("line 10", "row 10"))
    assert [kind for kind, _ in found] == [FOLDED, SAME, REMOVED, ADDED, SAME, FOLDED]
    assert found[1] == (SAME, "line 8\nline 9\n")
    assert "".join(text for kind, text in found if kind is not ADDED) == before


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_from_the_comparison(before: str, after: str) -> None:
    for cells in (MAX_CELLS, 30, 0):
        found = WordComparison(cells).compare(before, after)
        assert _join(found, ADDED) == before
        assert _join(found, REMOVED) == after


def test_large_texts_with_nothing_in_common_cost_no_more_than_the_budget() -> None:
    """Twenty pairs of the largest texts would take minutes without a limit."""
    comparison = WordComparison()
    began = time.process_time()
    for number in range(20):
        before = " ".join(f"a{number}.{place % 7}" for place in range(4_000))
        after = " ".join(f"b{number}.{place % 5}" for place in range(4_000))
        found = comparison.compare(before, after)
        assert _join(found, ADDED) == before
        assert _join(found, REMOVED) == after
    assert time.process_time() - began < 2


def test_the_texts_of_one_page_share_a_budget() -> None:
    comparison = WordComparison(max_cells=150)
    first = comparison.compare("1 2 3 4 5 6 7 8 9 10", "0 2 3 4 5 6 7 8 9 11")
    assert SAME in {each.kind for each in first}
    second = comparison.compare("1 2 3 4 5 6 7 8 9 20", "0 2 3 4 5 6 7 8 9 11")
    assert [each.kind for each in second] == [REMOVED, ADDED]
    assert comparison.compare("1 2 3 4 5 6 7 8 9 10", "0 2 3 4 5 6 7 8 9 11") == first


def _join(passages: list[Passage], without: PassageKind) -> str:
    return "".join(each.text for each in passages if each.kind is not without)
