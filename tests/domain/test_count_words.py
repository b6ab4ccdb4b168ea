"""Counts in words, with singular and plural."""

import pytest

from dunwell.platform.text.texts import render_count


@pytest.mark.parametrize(
    ("count", "thing", "words"),
    [
        (0, "claim", "0 claims"), (1, "fee", "1 fee"), (2345, "row", "2,345 rows"),
        (1, "delivery", "1 delivery"), (2, "delivery", "2 deliveries"),
    ],
)  # fmt: skip
def test_a_count_uses_singular_or_plural(count: int, thing: str, words: str) -> None:
    assert render_count(count, thing) == words
