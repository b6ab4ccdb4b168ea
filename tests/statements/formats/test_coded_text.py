"""A text that is stored as a code with facts is read again with its facts, in any language."""

from datetime import date

import pytest

from dunwell.cases.statements.formats.coded_text import build_amount, build_day, dump_text
from dunwell.cases.statements.formats.problems import (
    PROBLEM_TEXTS,
    build_problem,
    list_holding_problems,
    load_problem,
)
from dunwell.cases.statements.match_reasons import REASON_TEXTS, RETURN_REASONS
from dunwell.cases.statements.matching import MatchRule
from dunwell.platform.text.translation import AmountText, DayText, LazyText

_AMOUNT = build_amount(-123450, "EUR")


def test_a_text_with_all_kinds_of_facts_is_stored_and_read() -> None:
    inner = build_problem(
        "RESEMBLES", entry="B-1", amount=_AMOUNT, booked_on=build_day(date(2026, 11, 27)),
        day=build_day(date(2026, 11, 26)),
    )  # fmt: skip
    problem = build_problem("OF_STATEMENT", statement="S-1", problem=inner)
    stored = dump_text(problem)
    assert stored["facts"]["problem"]["facts"]["amount"] == {"cents": -123450, "currency": "EUR"}
    read = load_problem(stored)
    assert read == problem
    assert read.startswith("S-1: Entry B-1 of -1234.50 EUR, booked on 2026-11-27, has the same")
    assert isinstance(read, LazyText)
    again = read.facts["problem"].facts
    assert isinstance(again["amount"], AmountText)
    assert isinstance(again["day"], DayText)
    assert dump_text(read) == stored


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("An earlier sentence.", "An earlier sentence."),
        ({"code": "OF_A_LATER_VERSION", "facts": {}}, "OF_A_LATER_VERSION"),
        ({"code": "NO_CURRENCY", "facts": {"number": 1}}, "NO_CURRENCY"),
    ],
)
def test_what_other_versions_stored_is_still_shown(stored: object, shown: str) -> None:
    read = load_problem(stored)
    assert (read, type(read)) == (shown, str)


def test_no_code_has_two_texts() -> None:
    assert len({each.text for each in PROBLEM_TEXTS.values()}) == len(PROBLEM_TEXTS)
    suggested = ["CHECKED_REFERENCE", "REFERENCE", "MANDATE", "DAMAGED_REFERENCE", "SHORT_NUMBER"]
    assert {*suggested, "PAYER_ACCOUNT"} <= set(REASON_TEXTS) & set(MatchRule)
    assert set(RETURN_REASONS) <= set(REASON_TEXTS)


def test_only_broken_invariants_hold_a_statement() -> None:
    broken = build_problem("ENTRY_CURRENCY", entry="1", currency="USD", expected="EUR")
    assert list_holding_problems([build_problem("NO_ID"), broken, "sentence"]) == [broken]
