"""Assignment rules as documents: faults with paths, names and ids of workflows, differences."""

from typing import Any
from uuid import UUID

import pytest

from dunwell.cases.assignment.rules import (
    Rule,
    RuleSet,
    Share,
    build_document,
    describe_rule_differences,
    list_unknown_name_faults,
    parse_rules,
    render_document,
    resolve_names,
)
from dunwell.cases.assignment.try_claim import build_claim_facts, parse_hypothetical_claim
from dunwell.platform.errors import ValidationError
from tests.support.rules import TODAY, A, B, C, a_condition

DOCUMENT: dict[str, Any] = {
    "rules": [
        {"name": "Large", "when": {"outstanding": {"min": "50000"}}, "target": "Letters"},
        {
            "name": "Trial", "active": False,
            "target": [
                {"workflow": "Standard", "percent": 70}, {"workflow": "Letters", "percent": 30},
            ],
        },
    ],
    "default": "Standard",
}  # fmt: skip
IDS = {"Standard": A, "Letters": B}


def a_document(*rules: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**DOCUMENT, "rules": list(rules) or DOCUMENT["rules"], **changes}


def faults_of(document: object) -> dict[str, str]:
    with pytest.raises(ValidationError) as refusal:
        parse_rules(document)
    return {fault.path: fault.code for fault in refusal.value.faults}


def test_workflow_names_are_converted_to_ids_and_back() -> None:
    document = parse_rules(DOCUMENT)
    rules = resolve_names(document, IDS)
    assert rules == RuleSet(
        A,
        (
            Rule("Large", B, a_condition(outstanding={"min": "50000"})),
            Rule("Trial", (Share(A, 70), Share(B, 30)), None, active=False),
        ),
    )
    assert build_document(rules, {A: "Standard", B: "Letters"}) == document
    assert render_document(document)["rules"][0] == {**DOCUMENT["rules"][0], "active": True}


@pytest.mark.parametrize(
    ("rule", "path", "code"),
    [
        ({"target": "X"}, "/rules/0/name", "REQUIRED"),
        ({"name": "a"}, "/rules/0/target", "REQUIRED"),
        ({"name": " a", "target": "X"}, "/rules/0/name", "WRONG_FORMAT"),
        ({"name": "a", "target": "X", "when": {}}, "/rules/0/when", "EMPTY_CONDITION"),
        ({"name": "a", "target": "X", "when": {"outstanding": {"min": 5}}},
         "/rules/0/when/outstanding/min", "WRONG_FORMAT"),
        ({"name": "a", "target": "X", "when": {"contry": "DE"}},
         "/rules/0/when/contry", "UNKNOWN_FIELD"),
        ({"name": "a", "target": []}, "/rules/0/target", "TOO_FEW"),
        ({"name": "a", "target": [{"workflow": "X", "percent": 99}]},
         "/rules/0/target", "WRONG_SUM"),
        ({"name": "a", "target": [{"workflow": "X", "percent": 50}] * 2},
         "/rules/0/target/1/workflow", "REPEATED"),
        ({"name": "a", "target": [{"workflow": "X", "percent": 99.5}]},
         "/rules/0/target/0/percent", "WRONG_TYPE"),
    ],
)  # fmt: skip
def test_a_fault_has_the_path_of_its_value(rule: dict[str, Any], path: str, code: str) -> None:
    assert faults_of(a_document(rule)) == {path: code}


def test_all_faults_are_reported_at_once() -> None:
    one = {"name": "a", "target": "X", "when": {"country": "Germany"}}
    faults = faults_of({"rules": [one, {**one, "when": {"age": {"min": 2, "max": 1}}}]})
    assert faults == {
        "/default": "REQUIRED",
        "/rules/0/when/country": "UNKNOWN_COUNTRY",
        "/rules/1/name": "REPEATED",
        "/rules/1/when/age/max": "NEVER_TRUE",
    }


def test_an_unknown_workflow_is_reported_with_the_nearest_name() -> None:
    faults = list(list_unknown_name_faults(parse_rules(DOCUMENT), ["Standart"]))
    assert [fault.path for fault in faults] == [
        "/rules/0/target", "/rules/1/target/0/workflow", "/rules/1/target/1/workflow", "/default",
    ]  # fmt: skip
    assert faults[-1].message == 'There is no workflow "Standard". Did you mean "Standart"?'


def test_differences_are_listed_rule_by_rule() -> None:
    large, trial = DOCUMENT["rules"]
    after = a_document(
        {**trial, "active": True},
        {**large, "when": {"outstanding": {"min": "70000"}}},
        {"name": "New", "target": "Letters"},
        default=None,
    )
    assert describe_rule_differences(parse_rules(DOCUMENT), parse_rules(after)) == [
        'rule "Trial".active changed: false -> true',
        'rule "Large".when.outstanding.min changed: "50000" -> "70000"',
        'rule "New" added',
        'rules in another order: "Trial", "Large", "New"',
        "no default workflow; new claims that no rule matches stay unassigned",
    ]
    assert describe_rule_differences(parse_rules(after), parse_rules(a_document(trial)))[0] == (
        'rule "Large" removed'
    )
    assert describe_rule_differences(parse_rules(DOCUMENT), parse_rules(DOCUMENT)) == []


def test_a_hypothetical_claim_has_the_given_age() -> None:
    claim = parse_hypothetical_claim(
        {"outstanding": "5000", "age": 18, "primaryAgeDays": 20, "fees": ["DUNNING_FEE"]}
    )
    facts = build_claim_facts(claim, "EUR", TODAY.replace(year=2028, month=2, day=29))
    assert (facts.claim_id, facts.currency) == (None, "EUR")
    assert (facts.conditions.age, facts.conditions.primary_age_days) == (18, 20)
    assert facts.conditions.item_types == {"PRIMARY", "DUNNING_FEE"}
    assert facts.conditions.total_cents == 5000


def test_a_faulty_hypothetical_claim_is_refused() -> None:
    given = {
        "outstanding": "500",
        "total": "499",
        "country": "XX",
        "currency": "EURO",
        "lang": "de",
    }
    with pytest.raises(ValidationError) as refusal:
        parse_hypothetical_claim(given)
    assert [fault.code for fault in refusal.value.faults] == ["UNKNOWN_FIELD"]
    del given["lang"]
    with pytest.raises(ValidationError) as refusal:
        parse_hypothetical_claim(given)
    assert {fault.path for fault in refusal.value.faults} == {"/total", "/country", "/currency"}


def test_an_id_without_a_name_is_shown_as_it_is() -> None:
    assert build_document(RuleSet(C), {}).default == str(UUID(int=3))
