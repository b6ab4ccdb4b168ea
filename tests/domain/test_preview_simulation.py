"""Previews simulate the claims of persons together and compare their next contacts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dunwell.accounts.merchants.configuration import Guards, QuietHours
from dunwell.cases.rollout.preview.effects import (
    MAX_EXAMPLES,
    ContactAspect,
    ContactChangeKind,
    DebtorFees,
    NextContact,
    NextContacts,
    PreviewOutlook,
    compare_contacts,
    has_same_course,
    list_changed_contents,
)
from dunwell.cases.rollout.preview.preview_effects import (
    ClaimToForecast,
    PersonForecast,
    build_quiet_guard,
)
from dunwell.contact.escalation.prepared_workflow import prepare_workflow_for_timezone
from dunwell.contact.escalation.schedule import StepFacts, WorkflowPosition
from dunwell.contact.messages.guards.guards import HoldReason
from dunwell.core.claims.conditions import ConditionFacts
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.merchants import CONFIGURATION

# A Monday, 10:00 in Berlin.
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
EMAIL = {"kind": "COMMUNICATION", "channel": "EMAIL", "template": "reminder"}
FACTS = StepFacts(
    ConditionFacts(outstanding_cents=5000, total_cents=5000, today=NOW.date()),
    has_reached=True,
    usable_channels=frozenset({"EMAIL", "SMS"}),
)
CONTACT = NextContact(NOW, "EMAIL", 1, "First reminder")


def numbered(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": n, "name": f"Step {n}", **step} for n, step in enumerate(steps, start=1)]


def play(
    players: list[ClaimToForecast], guards: Guards, steps: list[dict[str, Any]]
) -> PreviewOutlook:
    until = NOW + 60 * DAY
    outlook = PreviewOutlook(NOW, until)
    workflow = prepare_workflow_for_timezone(a_definition(steps=steps), "Europe/Berlin")
    configuration = msgspec.structs.replace(CONFIGURATION, guards=guards)
    PersonForecast(workflow, configuration, NOW, until, outlook).forecast_person(players, {})
    return outlook


_STEP = st.sampled_from([EMAIL, {**EMAIL, "send": "IMMEDIATE"}, {"kind": "WAIT", "days": 1}])


@given(
    st.lists(_STEP, min_size=1, max_size=8),
    st.lists(st.integers(0, 100), min_size=1, max_size=6),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_no_person_is_contacted_above_the_limits_in_a_preview(
    steps: list[dict[str, Any]], due_in_hours: list[int], per_day: int, per_week: int
) -> None:
    players = [
        ClaimToForecast(
            str(n), WorkflowPosition(1, NOW + timedelta(hours=hours)), FACTS, (b"one", bytes([n]))
        )
        for n, hours in enumerate(due_in_hours)
    ]
    outlook = play(players, Guards(per_day, per_week), numbered(*steps))
    by_day = {day: count for (day, _), count in outlook.contacts.items()}
    assert max(by_day.values(), default=0) <= per_day
    for day in by_day:
        week = sum(count for other, count in by_day.items() if day - 7 * DAY < other <= day)
        assert week <= per_week


def test_quiet_hours_hold_immediate_contacts_in_a_preview() -> None:
    guards = Guards(quiet_hours=QuietHours("09:00", "12:00"))
    player = ClaimToForecast("A", WorkflowPosition(1, NOW), FACTS, (b"one",))
    outlook = play([player], guards, numbered({**EMAIL, "send": "IMMEDIATE"}))
    assert outlook.held_back == {(NOW.date(), HoldReason.QUIET_HOURS): 1}
    assert outlook.contacts == {(NOW.date(), "EMAIL"): 1}


def test_only_the_highest_fees_are_kept() -> None:
    outlook = PreviewOutlook(NOW, NOW)
    for cents in range(3 * MAX_EXAMPLES):
        outlook.add_debtor(DebtorFees(cents, 1, 1, f"INV-{cents}"))
    assert sorted(each.cents for each in outlook.highest_fees) == list(
        range(2 * MAX_EXAMPLES, 3 * MAX_EXAMPLES)
    )
    assert sum(outlook.fee_sums.values()) == 3 * MAX_EXAMPLES - 1


def test_each_pair_of_contacts_has_one_kind_of_change() -> None:
    later = NextContact(NOW + DAY, "SMS", 2, "Second")
    changed = frozenset({(1, CONTACT.channel)})
    every = (ContactAspect.TIME, ContactAspect.CHANNEL, ContactAspect.STEP)
    assert compare_contacts(None, None, frozenset()) == (ContactChangeKind.UNCHANGED, ())
    assert compare_contacts(CONTACT, None, frozenset()) == (ContactChangeKind.GONE, ())
    assert compare_contacts(None, CONTACT, frozenset()) == (ContactChangeKind.NEW, ())
    assert compare_contacts(CONTACT, CONTACT, frozenset()) == (ContactChangeKind.UNCHANGED, ())
    assert compare_contacts(CONTACT, CONTACT, changed) == (
        ContactChangeKind.CHANGED,
        (ContactAspect.CONTENT,),
    )
    assert compare_contacts(CONTACT, later, changed) == (ContactChangeKind.CHANGED, every)


def test_a_snippet_changes_the_messages_that_use_it_and_no_others() -> None:
    email = DOCUMENT["templates"]["reminder"]["EMAIL"]
    signed = {**email, "body": dict.fromkeys(("de", "en"), "{{ snippet.signature }}")}
    templates = {"plain": {"EMAIL": email}, "signed": {"EMAIL": signed}}
    steps = numbered({**EMAIL, "template": "plain"}, {**EMAIL, "template": "signed"})
    before = a_definition(templates=templates, steps=steps)
    snippets = {"signature": {"de": "Anders", "en": "Other"}}
    after = a_definition(templates=templates, steps=steps, snippets=snippets)
    assert list_changed_contents(before, after) == {(2, "EMAIL")}


_CHANGE = st.sampled_from(
    [{"name": "Other"}, {"send": "IMMEDIATE"}, {"fallbacks": ["SMS"]}, {"attachments": "OPTIONAL"}]
)


@given(_CHANGE, st.integers(-100, 100))
def test_definitions_with_the_same_steps_have_the_same_next_contacts(
    change: dict[str, Any], due_in_hours: int
) -> None:
    steps = numbered(EMAIL, {"kind": "WAIT", "days": 1}, EMAIL)
    before, after = (
        a_definition(steps=given) for given in (steps, [steps[0] | change, *steps[1:]])
    )
    quiet = build_quiet_guard(CONFIGURATION)
    position = WorkflowPosition(1, NOW + timedelta(hours=due_in_hours))
    contacts = [
        NextContacts(prepare_workflow_for_timezone(each, "Europe/Berlin"), NOW, quiet).find(
            position, FACTS
        )
        for each in (before, after)
    ]
    if has_same_course(before, after):
        assert contacts[0] == contacts[1]
    assert has_same_course(before, after) == ("attachments" in change)
