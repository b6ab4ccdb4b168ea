"""One change in a list of rules, which applies only to the state that its author saw."""

import pytest

from dunwell.cases.assignment.edit_rules import (
    CopyRule,
    MoveRule,
    PutRule,
    RemoveRule,
    RulesEdit,
    SetDefault,
    apply_edit,
)
from dunwell.cases.assignment.rules import RuleSet, Share
from dunwell.platform.text.differences import compute_revision
from tests.support.rules import A, B, C, a_rule

ONE, TWO, THREE = a_rule("one"), a_rule("two", B, country="DE"), a_rule("three", C)
RULES = RuleSet(A, (ONE, TWO, THREE))


def names_after(edit: RulesEdit) -> list[str]:
    changed = apply_edit(RULES, edit)
    assert changed is not None
    assert changed.default == RULES.default
    return [rule.name for rule in changed.rules]


@pytest.mark.parametrize(
    ("name", "place", "expected"),
    [
        ("one", 0, ["one", "two", "three"]),
        ("one", 1, ["two", "one", "three"]),
        ("one", 2, ["two", "three", "one"]),
        ("three", 0, ["three", "one", "two"]),
        ("three", -4, ["three", "one", "two"]),
        ("one", 99, ["two", "three", "one"]),
    ],
)
def test_a_rule_moves_to_a_position_in_the_list(name: str, place: int, expected: list[str]) -> None:
    assert names_after(MoveRule(name, place)) == expected


def test_a_rule_is_replaced_in_place_and_a_new_one_is_appended() -> None:
    other = a_rule("other", A)
    assert names_after(PutRule(other, "two", compute_revision(TWO))) == ["one", "other", "three"]
    assert names_after(PutRule(other)) == ["one", "two", "three", "other"]
    assert names_after(RemoveRule("two")) == ["one", "three"]


def test_a_copy_follows_its_rule_under_a_free_name() -> None:
    assert names_after(CopyRule("one")) == ["one", "one (2)", "two", "three"]
    long = a_rule("x" * 255)
    once = apply_edit(RuleSet(None, (long,)), CopyRule(long.name))
    assert once is not None
    twice = apply_edit(once, CopyRule(long.name))
    assert twice is not None
    assert [rule.name for rule in twice.rules] == [
        "x" * 255, "x" * 251 + " (3)", "x" * 251 + " (2)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "edit",
    [
        PutRule(ONE, "gone", compute_revision(ONE)),
        PutRule(ONE, "two", compute_revision(ONE)),
        PutRule(ONE, "two"),
        MoveRule("gone", 1),
        RemoveRule("gone"),
        CopyRule("gone"),
        SetDefault(B, expected=None),
        SetDefault(B, expected=C),
    ],
)
def test_an_edit_of_a_missing_or_changed_rule_does_nothing(edit: RulesEdit) -> None:
    assert apply_edit(RULES, edit) is None


def test_changing_the_default_leaves_the_rules_unchanged() -> None:
    assert apply_edit(RULES, SetDefault(None, expected=A)) == RuleSet(None, RULES.rules)


def test_the_revision_of_a_rule_depends_on_each_property() -> None:
    shares = (Share(A, 40), Share(B, 60))
    variants = [
        a_rule("one"), a_rule("One"), a_rule("one", B), a_rule("one", shares),
        a_rule("one", tuple(reversed(shares))), a_rule("one", country="DE"),
        a_rule("one", country=["DE"]), a_rule("one", active=False),
    ]  # fmt: skip
    assert len({compute_revision(each) for each in variants}) == len(variants)
    assert compute_revision(a_rule("one")) == compute_revision(ONE)
