"""One example for each branch that property tests reach only by chance."""

from datetime import UTC, date, datetime

import pytest

from dunwell.cases.assignment.matching import RuleTarget, choose_workflow, prepare_rules
from dunwell.cases.assignment.rules import RuleSet
from dunwell.contact.escalation.prepared_workflow import prepare_workflow_for_timezone
from dunwell.contact.escalation.schedule import (
    ContactPlanned,
    Skipped,
    StepFacts,
    TriedChannels,
    WorkflowPosition,
    decide_steps,
)
from dunwell.core.claims.conditions import ConditionFacts, count_years
from dunwell.core.workflows.versions.differences import list_differences
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.rules import A, B, a_rule, some_facts

WAIT = {"id": 9, "name": "One more week", "kind": "WAIT", "days": 7}


@pytest.mark.parametrize(
    ("today", "years"),
    [
        (date(2026, 3, 1), 17),
        (date(2026, 3, 2), 18),
        (date(2026, 3, 3), 18),
        (date(2026, 2, 28), 17),
        (date(2026, 4, 1), 18),
    ],
)
def test_a_year_is_complete_on_the_birthday(today: date, years: int) -> None:
    assert count_years(date(2008, 3, 2), today) == years


def test_a_person_born_on_29_february_is_a_year_older_on_1_march() -> None:
    born = date(2008, 2, 29)
    assert [count_years(born, date(2026, *day)) for day in ((2, 28), (3, 1))] == [17, 18]
    assert count_years(None, date(2026, 3, 1)) is None


def test_added_and_removed_steps_are_listed_before_publishing() -> None:
    steps = DOCUMENT["steps"]
    old = a_definition()
    assert list_differences(old, a_definition()) == []
    assert list_differences(old, a_definition(steps=[*steps, WAIT])) == [
        'step 9 "One more week" added'
    ]
    assert list_differences(old, a_definition(steps=steps[:-1])) == ['step 5 "Last wait" removed']


def test_an_inactive_rule_matches_no_claim() -> None:
    rules = RuleSet(
        default=None, rules=(a_rule("sleeping", A, active=False), a_rule("awake", B, country="DE"))
    )
    targets = {A: RuleTarget("EUR"), B: RuleTarget("EUR")}
    prepared = prepare_rules(rules)
    assert [each.rule.name for each in prepared] == ["awake"]
    assert choose_workflow(prepared, some_facts(country="DE"), "EUR", targets, 1) == B
    assert choose_workflow(prepared, some_facts(country="AT"), "EUR", targets, 1) is None


def test_channels_tried_at_one_step_can_be_used_at_the_next() -> None:
    first, other = DOCUMENT["steps"][0], {**DOCUMENT["steps"][0], "id": 2, "name": "Again"}
    skipped = {**first, "when": {"outstanding": {"min": "999999"}}}
    workflow = prepare_workflow_for_timezone(a_definition(steps=[skipped, other]), "Europe/Berlin")
    now = datetime(2026, 3, 2, 9, tzinfo=UTC)
    condition = ConditionFacts(outstanding_cents=5000, total_cents=5000, today=now.date())
    tried = TriedChannels(frozenset({"EMAIL"}), 1)
    facts = StepFacts(condition, True, frozenset({"EMAIL"}), tried)
    outcomes = decide_steps(workflow, WorkflowPosition(1, now), facts, now).outcomes
    assert [type(each) for each in outcomes] == [Skipped, ContactPlanned]
    planned = outcomes[1]
    assert isinstance(planned, ContactPlanned)
    assert (planned.step.id, planned.place, planned.channel) == (2, 0, "EMAIL")
