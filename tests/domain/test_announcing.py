"""What of a forecast a debtor is told, and the day to pay by that follows from it."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.claims.conditions import ConditionFacts
from dunwell.escalation.announcing import Announced, Prospect, find_pay_by, list_announced
from dunwell.escalation.days_to_pay import foresee_pay_by
from dunwell.escalation.forecast import Foreseen, forecast
from dunwell.escalation.process import Process, make_process
from dunwell.escalation.schedule import ContactPlanned, FeeAdded, Position, StepFacts
from tests.support.definitions import a_definition

# A Monday, 10:00 in Berlin.
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
TODAY = NOW.date()
DAY = timedelta(days=1)
BERLIN = ZoneInfo("Europe/Berlin")
EMAIL = {"kind": "COMMUNICATION", "channel": "EMAIL", "template": "reminder"}
FEE = {"kind": "FEE", "type": "DUNNING_FEE", "value": "250"}
CHECKPOINT = {"kind": "CHECKPOINT", "offset": 1, "message": "here"}
UNMET = {"when": {"outstanding": {"min": "999999"}}}
FACTS = StepFacts(
    ConditionFacts(outstanding_cents=5000, total_cents=5000, today=TODAY),
    has_reached=False,
    usable_channels=frozenset({"EMAIL"}),
)


def a_process(*steps: dict[str, Any]) -> Process:
    numbered = [{"id": n, "name": f"Step {n}", **step} for n, step in enumerate(steps, start=1)]
    return make_process(a_definition(steps=numbered), "Europe/Berlin")


def wait(days: int) -> dict[str, Any]:
    return {"kind": "WAIT", "days": days}


def play(process: Process, now: datetime = NOW) -> list[Foreseen]:
    standing = Position(process.id_at(0), now)
    return list(forecast(process, standing, FACTS, now, until=now + 4000 * DAY))


def announce(*steps: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Kind, days from today, cents."""
    process = a_process(*steps)
    announced = list_announced(play(process), process.calendar)
    return [(each.kind.value, (each.on - TODAY).days, each.cents) for each in announced]


def test_contacts_fees_and_the_end_are_told_in_their_order() -> None:
    assert announce(EMAIL, wait(7), FEE, EMAIL, CHECKPOINT, wait(14)) == [
        ("CONTACT", 0, 0), ("FEE", 7, 250), ("CONTACT", 7, 0), ("END", 21, 0),
    ]  # fmt: skip


def test_only_the_next_contacts_are_told_but_every_fee_and_the_end() -> None:
    steps = [step for _ in range(5) for step in (EMAIL, FEE, wait(7))]
    told = announce(*steps)
    assert [day for kind, day, _ in told if kind == "CONTACT"] == [0, 7, 14]
    assert [day for kind, day, _ in told if kind == "FEE"] == [0, 7, 14, 21, 28]
    assert told[-1] == ("END", 35, 0)


def test_contacts_of_one_day_are_told_once() -> None:
    assert announce(EMAIL, EMAIL, wait(7)) == [("CONTACT", 0, 0), ("END", 7, 0)]


def test_what_is_skipped_and_what_reaches_nobody_is_not_told() -> None:
    sms = {**EMAIL, "channel": "SMS"}
    assert announce({**EMAIL, **UNMET}, sms, {**FEE, **UNMET}, FEE) == [("END", 0, 0)]


# Steps behind the contact -> days from today to pay in; none: no day is named.
@pytest.mark.parametrize(
    ("steps", "days"),
    [
        ([wait(14), FEE], 13),
        ([wait(14), EMAIL], 13),
        ([wait(8), FEE], 7),
        # Less than a week would be left.
        ([wait(7), FEE], None),
        ([FEE, wait(30), EMAIL], None),
        # A checkpoint is nothing to a debtor; nor is what is skipped, or the archiving.
        ([wait(7), CHECKPOINT, wait(7), FEE], 13),
        ([wait(7), {**FEE, **UNMET}, wait(7), EMAIL], 13),
        ([wait(30)], None),
        ([], None),
        # A contact waits for the contact hours: 16 days are a Wednesday, 12 a Saturday.
        ([wait(12), EMAIL], 13),
        ([wait(16), EMAIL], 15),
    ],
)
def test_the_day_to_pay_by_is_the_day_before_the_next_fee_or_contact(
    steps: list[dict[str, Any]], days: int | None
) -> None:
    process = a_process(EMAIL, *steps)
    contact = ContactPlanned(process.steps[0], 0, "EMAIL")  # type: ignore[arg-type]
    pay_by = foresee_pay_by(process, contact, FACTS, NOW)
    assert pay_by == (None if days is None else TODAY + days * DAY)


_STEPS = st.lists(
    st.one_of(
        st.sampled_from([EMAIL, FEE, CHECKPOINT, {**EMAIL, **UNMET}]),
        st.integers(1, 40).map(wait),
    ),
    min_size=1,
    max_size=8,
)
_NOW = st.datetimes(datetime(2026, 1, 1), datetime(2028, 1, 1)).map(
    lambda naive: naive.replace(tzinfo=BERLIN).astimezone(UTC)
)


@given(_STEPS, _NOW)
def test_until_the_day_to_pay_by_is_over_nothing_happens(
    steps: list[dict[str, Any]], now: datetime
) -> None:
    process = a_process(*steps)
    calendar, today = process.calendar, process.calendar.local_date(now)
    foreseen = play(process, now)
    pay_by = find_pay_by(foreseen, calendar, today)
    done = [
        calendar.local_date(each.at)
        for each in foreseen
        if isinstance(each.outcome, ContactPlanned | FeeAdded)
    ]
    if pay_by is None:
        assert not done or done[0] <= today + 7 * DAY
    else:
        assert pay_by >= today + 7 * DAY
        assert min(done) == pay_by + DAY


@given(_STEPS, _NOW)
def test_what_is_told_is_what_is_foreseen(steps: list[dict[str, Any]], now: datetime) -> None:
    process = a_process(*steps)
    foreseen = play(process, now)
    told = list_announced(foreseen, process.calendar)
    assert [each.on for each in told] == sorted(each.on for each in told)
    assert {each.on for each in told} <= {process.calendar.local_date(f.at) for f in foreseen}
    fees = [f.outcome for f in foreseen if isinstance(f.outcome, FeeAdded)]
    assert [each.cents for each in told if each.kind is Prospect.FEE] == [250] * len(fees)
    assert [each.kind for each in told][-1:] == [Prospect.END]


def test_days_are_the_process_s_own() -> None:
    """23:30 in Berlin is the day before in London."""
    process = a_process(FEE)
    late = datetime(2026, 7, 1, 22, 30, tzinfo=UTC)
    [fee, *_] = list_announced(
        [Foreseen(late, process.steps[0], None, FeeAdded(process.steps[0]))],  # type: ignore[arg-type]
        process.calendar,
    )
    assert fee == Announced(Prospect.FEE, date(2026, 7, 2), 250)
