"""Clerks read words for the values of the database."""

from collections.abc import Iterable

import pytest

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.cases.disputes.reasons import RESERVED_NAMES
from dunwell.core.claims.states import HoldKind, Status
from dunwell.interfaces.portal.render import labels


@pytest.mark.parametrize(
    ("words", "values"),
    [("REASONS", RESERVED_NAMES), ("HOLDS", HoldKind), ("STATUSES", Status), ("ACTORS", ActorKind)],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_clerk_reads_words_and_no_value_of_the_database(
    words: str, values: Iterable[str]
) -> None:
    assert set(getattr(labels, words)) == {*values}
