"""The words by which a claim is found, and the words of a search."""

import pytest

from dunwell.core.claims.searching.terms import (
    MAX_TERM_LENGTH,
    SearchableClaim,
    list_terms,
    parse_search,
)


def test_the_words_of_a_claim_are_normalised_and_unique() -> None:
    claim = SearchableClaim(
        7, "INV 1", "K1", None, "Erika", "Straßer-Ößl", None, "E@x.org", "+4915112345678"
    )
    assert list_terms(claim) == {
        "7", "inv", "1", "1nv1", "k1", "erika", "strasser-ossl", "strasser", "ossl", "e@x.org",
        "4915112345678", "015112345678",
    }  # fmt: skip


def test_long_words_are_shortened_in_claims_and_searches() -> None:
    long = "x" * 300
    assert list_terms(SearchableClaim(1, long)) == {"1", "x" * MAX_TERM_LENGTH}
    assert parse_search(long) == ["x" * MAX_TERM_LENGTH]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("  Erika  MÜLLER ", ["muller", "erika"]),
        ("+49 (151) 123-45", ["4915112345"]),
        ("0049 151", ["49151"]),
        ("0151/123 45", ["015112345"]),
        ("4711", ["4711"]),
        ("10042", ["10042"]),
        ("a b c d e f g", ["a", "b", "c", "d", "e"]),
        ("   ", []),
    ],
)
def test_the_words_of_a_search_are_ordered_by_length(text: str, words: list[str]) -> None:
    assert parse_search(text) == words
