"""Clerks read words for the values of the database."""

from collections.abc import Iterable

import pytest

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.cases.disputes.reasons import KNOWN_NAMES
from dunwell.core.claims.holds import HoldKind
from dunwell.core.claims.states import Status
from dunwell.interfaces.portal.render.pages import load_environment
from dunwell.platform.text.translation import STAFF_CATALOGUES, load_languages


@pytest.mark.parametrize(
    ("words", "values"),
    [("REASONS", KNOWN_NAMES), ("HOLDS", HoldKind), ("STATUSES", Status), ("ACTORS", ActorKind)],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_clerk_reads_words_and_no_value_of_the_database(
    words: str, values: Iterable[str]
) -> None:
    environment = load_environment(load_languages(STAFF_CATALOGUES)["en"])
    module = environment.get_template("_words.html").module
    assert set(getattr(module, words)) == {*values}
