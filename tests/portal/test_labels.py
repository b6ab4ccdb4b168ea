"""Clerks see labels instead of database values."""

from collections.abc import Iterable

import pytest

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.cases.disputes.reasons import RESERVED_NAMES
from dunwell.core.claims.states import HoldKind, Status
from dunwell.interfaces.portal.render import labels


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("DISPUTE_REASONS", RESERVED_NAMES),
        ("HOLDS", HoldKind),
        ("STATUSES", Status),
        ("ACTOR_KINDS", ActorKind),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_clerks_see_labels_instead_of_database_values(words: str, values: Iterable[str]) -> None:
    assert set(getattr(labels, words)) == {*values}
