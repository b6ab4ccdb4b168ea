"""Properties of every process.

It moves forward, ends, and counts days in its own timezone; a minor version never changes its
steps.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import holidays
import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dunwell.contact.escalation.calendars import Calendar, build_calendar
from dunwell.contact.escalation.prepared_workflow import (
    PreparedWorkflow,
    prepare_workflow_for_timezone,
)
from dunwell.contact.escalation.schedule import (
    Archived,
    ContactPlanned,
    Skipped,
    SkipReason,
    StepFacts,
    StepOutcome,
    WorkflowPosition,
    compute_first_due,
    decide_steps,
)
from dunwell.core.claims.conditions import ConditionFacts
from dunwell.core.workflows.definition import ProcessSettings, WaitStep
from dunwell.core.workflows.versions.versions import VersionVerdict, compute_verdict
from tests.support.definitions import DOCUMENT, a_definition

DAY = timedelta(days=1)
_SETTINGS = DOCUMENT["settings"]
_CONTACT = {"kind": "COMMUNICATION", "channel": "EMAIL", "template": "reminder"}
_WHEN = st.sampled_from([None, {"outstanding": {"min": "9000"}}, {"total": {"min": "1"}}])
_KINDS = st.lists(
    st.sampled_from(
        [
            _CONTACT,
            _CONTACT | {"send": "IMMEDIATE"},
            {"kind": "WAIT", "days": 1},
            {"kind": "WAIT", "businessDays": 2},
            {"kind": "FEE", "type": "DUNNING_FEE", "value": "250"},
            {"kind": "CHECKPOINT", "offset": 1, "message": "here"},
        ]
    ),
    min_size=1,
    max_size=9,
)
_ZONES = ["Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "Asia/Tokyo"]
_HOURS = [
    None,
    _SETTINGS["contactHours"],
    {"weekdays": ["SAT", "SUN"], "from": "02:15", "to": "02:45"},
    {"weekdays": ["WED"], "from": "00:00", "to": "24:00"},
]
_COURSES = st.builds(
    lambda kinds, zone, hours, when: (kinds, zone, hours, when),
    _KINDS, st.sampled_from(_ZONES), st.sampled_from(_HOURS), _WHEN,
)  # fmt: skip
_INSTANTS = st.datetimes(datetime(2025, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))
# Late by up to ten days; half of them on time.
_DELAYS = st.one_of(st.just(0), st.integers(0, 14_400))


def the_document(
    step_sequence: tuple[Any, ...], change: Callable[..., Any] = lambda step: step
) -> dict[str, Any]:
    kinds, zone, hours, when = step_sequence
    settings = {"languages": ["de", "en"], "currency": "EUR", "timezone": zone}
    settings |= {"contactHours": hours, "latePolicy": {"skipIfOlderThanDays": 3}}
    guard = {"when": when} if when else {}
    steps = [
        change({"id": n, "name": f"Step {n}", **kind, **guard}) for n, kind in enumerate(kinds, 1)
    ]
    kept = {name: value for name, value in settings.items() if value is not None}
    return {"settings": kept, "steps": steps}


def the_process(
    step_sequence: tuple[Any, ...], change: Any = lambda step: step
) -> PreparedWorkflow:
    return prepare_workflow_for_timezone(
        a_definition(**the_document(step_sequence, change)), "Europe/Berlin"
    )


def play(
    workflow: PreparedWorkflow, start: datetime, delays: Iterator[int]
) -> list[tuple[Any, StepOutcome]]:
    """Return (instant, outcome) until the end; every contact is accepted at once, and the engine is
    late."""
    facts = StepFacts(ConditionFacts(5000, 5000, start.date()), True, frozenset({"EMAIL"}))
    position, now = WorkflowPosition(workflow.id_at(0), start), start
    ran: list[tuple[datetime, StepOutcome]] = []
    while position.due_at is not None:
        assert position.due_at >= start
        now = max(now, position.due_at) + timedelta(minutes=next(delays))
        decision = decide_steps(workflow, position, facts, now)
        before, after = (workflow.index_of(p.next_step_id) for p in (position, decision.position))
        assert after >= before, "it went back"
        assert decision.outcomes or (decision.position.due_at or now) > now, "it stands still"
        ran += [(now, outcome) for outcome in decision.outcomes]
        position = decision.position
        if decision.outcomes and isinstance(decision.outcomes[-1], ContactPlanned):
            position = WorkflowPosition(workflow.id_at(after + 1), now)
    return ran


def delays_from(data: st.DataObject) -> Iterator[int]:
    while True:
        yield data.draw(_DELAYS)


@given(_COURSES, _INSTANTS, st.data())
def test_every_step_runs_once_in_order_and_the_claim_ends(
    step_sequence: tuple[Any, ...], start: datetime, data: st.DataObject
) -> None:
    ran = play(the_process(step_sequence), start, delays_from(data))
    assert isinstance(ran[-1][1], Archived)
    steps = [outcome.step.id for _, outcome in ran if not isinstance(outcome, Archived)]
    assert steps == list(range(1, len(step_sequence[0]) + 1))
    instants = [at for at, _ in ran]
    assert instants == sorted(instants)


@given(_COURSES, _INSTANTS)
def test_contacts_are_planned_within_their_hours(
    step_sequence: tuple[Any, ...], start: datetime
) -> None:
    workflow = the_process(step_sequence)
    for at, outcome in play(workflow, start, iter(lambda: 0, 1)):
        if isinstance(outcome, ContactPlanned) and outcome.step.send == "CONTACT_HOURS":
            assert workflow.calendar.next_opening(at) == at


def _minor(step: dict[str, Any]) -> dict[str, Any]:
    by_kind: dict[str, dict[str, Any]] = {
        "COMMUNICATION": {"channel": "SMS", "fallbacks": ["EMAIL"], "attachments": "OPTIONAL"},
        "FEE": {"type": "COLLECTION_FEE", "value": "9900"},
        "CHECKPOINT": {"offset": 99, "message": "elsewhere"},
    }
    return step | {"name": "Another name"} | by_kind.get(step["kind"], {})


@given(_COURSES, _INSTANTS)
def test_a_minor_version_never_changes_the_steps(
    step_sequence: tuple[Any, ...], start: datetime
) -> None:
    old, new = (a_definition(**the_document(step_sequence, change)) for change in (_same, _minor))
    assert compute_verdict(old, new) is VersionVerdict.MINOR
    courses = [
        [
            (at, type(outcome), getattr(outcome, "step", None) and outcome.step.id)  # type: ignore[union-attr]
            for at, outcome in play(
                prepare_workflow_for_timezone(each, "Europe/Berlin"), start, iter(lambda: 0, 1)
            )
        ]
        for each in (old, new)
    ]
    assert courses[0] == courses[1]


def _same(step: dict[str, Any]) -> dict[str, Any]:
    return step


@given(_INSTANTS, st.one_of(st.none(), st.dates(date(1, 1, 1), date(9999, 12, 31))))
def test_a_start_by_due_date_is_never_before_the_assignment(
    now: datetime, due_on: date | None
) -> None:
    definition = a_definition(settings={**_SETTINGS, "processingStart": "DUE_DATE"})
    start = compute_first_due(definition, "Europe/Berlin", due_on, now)
    assert start >= now
    calendar = build_calendar(definition.settings, "Europe/Berlin")
    if due_on is None or due_on <= calendar.local_date(now):
        assert start == now
    else:
        assert start == calendar.to_instant(datetime.combine(due_on, time.min))


@pytest.mark.parametrize("night", [date(2026, 3, 28), date(2026, 10, 24)])
@given(minute=st.integers(0, 24 * 60 - 1))
def test_a_daily_step_runs_once_a_day_across_both_clock_changes(night: date, minute: int) -> None:
    workflow = the_process(([{"kind": "WAIT", "days": 1}] * 6, "Europe/Berlin", None, None))
    local = datetime.combine(night - 2 * DAY, time(*divmod(minute, 60)))
    start = workflow.calendar.to_instant(local)
    dates = [
        workflow.calendar.local_date(at) for at, _ in play(workflow, start, iter(lambda: 0, 1))
    ]
    assert dates == [night + n * DAY for n in range(-2, 5)]


@given(_INSTANTS, st.integers(1, 15), st.sampled_from(["HH", "BY", "SN", None]))
def test_business_days_are_counted_by_the_regions_own_holidays(
    since: datetime, count: int, subdivision: str | None
) -> None:
    calendar = _regional(subdivision)
    end = calendar.end_of_wait(WaitStep(id=1, name="Wait", business_days=count), since=since)
    closed = holidays.country_holidays("DE", subdiv=subdivision)
    day, left = calendar.local_date(since), count
    while left:
        day += DAY
        left -= day.weekday() < 5 and day not in closed
    assert calendar.local_date(end) == day
    # Exclude the second occurrence of a repeated hour.
    assume(calendar.to_instant(_local(calendar, since)) == since)
    assert _local(calendar, end).time() >= _local(calendar, since).time()


def _local(calendar: Calendar, instant: datetime) -> datetime:
    return instant.astimezone(calendar.zone).replace(tzinfo=None)


def _regional(subdivision: str | None) -> Calendar:
    region = {"country": "DE"} | ({"subdivision": subdivision} if subdivision else {})
    return build_calendar(
        msgspec.convert({**_SETTINGS, "holidays": region}, ProcessSettings), "Europe/Berlin"
    )


@given(st.integers(0, 60), st.booleans())
def test_only_contacts_can_be_too_late(days_late: int, is_contact: bool) -> None:
    kind = _CONTACT if is_contact else {"kind": "CHECKPOINT", "offset": 1, "message": "here"}
    workflow = the_process(([kind], "Europe/Berlin", None, None))
    due = datetime(2026, 3, 2, 9, tzinfo=UTC)
    facts = StepFacts(ConditionFacts(5000, 5000, due.date()), True, frozenset({"EMAIL"}))
    first = decide_steps(workflow, WorkflowPosition(1, due), facts, due + days_late * DAY).outcomes[
        0
    ]
    is_skipped = isinstance(first, Skipped) and first.reason is SkipReason.TOO_LATE
    assert is_skipped == (is_contact and days_late > 3)
