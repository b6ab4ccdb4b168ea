"""Which instalments a debtor is notified about, day by day and across clock jumps."""

from datetime import UTC, date, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.cases.modalities.instalments import apply_payments, build_schedule
from dunwell.cases.modalities.modality import (
    Modality,
    ModalityEndReason,
    ModalityState,
    ModalityType,
)
from dunwell.cases.modalities.progress import (
    InstalmentNoticeKind,
    compute_last_pay_day,
    decide_progress,
    find_next_notice,
    list_due_notices,
    local_date,
)
from dunwell.core.claims.states import Status

BERLIN = "Europe/Berlin"
FIRST = date(2026, 3, 16)
AGREED = datetime(2026, 3, 2, 9, tzinfo=UTC)
DUE, MISSED = InstalmentNoticeKind.DUE, InstalmentNoticeKind.MISSED


def a_plan(paid: int = 0, agreed_at: datetime = AGREED) -> Modality:
    schedule = apply_payments(build_schedule(10240, 3, FIRST), paid)
    return Modality(
        UUID(int=1), 1, ModalityType.PAYMENT_PLAN, ModalityState.APPROVED, "EUR", 10240, schedule,
        paid, AGREED, ActorKind.DEBTOR, answered_at=agreed_at,
    )  # fmt: skip


def at(day: str, time: str = "09:00") -> datetime:
    """Return an instant in Berlin."""
    return datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=ZoneInfo(BERLIN)).astimezone(UTC)


def told(modality: Modality, now: datetime) -> list[tuple[InstalmentNoticeKind, int]]:
    return [(each.kind, each.instalment.number) for each in list_due_notices(modality, now, BERLIN)]


@pytest.mark.parametrize(
    ("paid", "now", "notices"),
    [
        (0, at("2026-03-13", "08:59"), []),
        (0, at("2026-03-13"), [(DUE, 1)]),
        (0, at("2026-03-16", "23:59"), [(DUE, 1)]),
        (0, at("2026-03-17", "00:00"), []),
        (0, at("2026-03-17"), [(MISSED, 1)]),
        (3413, at("2026-03-17"), [(MISSED, 1)]),
        (0, at("2026-03-23", "23:59"), [(MISSED, 1)]),
        # The plan is broken; only that is notified.
        (0, at("2026-03-24", "00:00"), []),
        (3414, at("2026-03-13"), []),
        (3414, at("2026-03-17"), []),
        (3414, at("2026-04-13"), [(DUE, 2)]),
        (10240, at("2026-04-13"), []),
    ],
)
def test_an_instalment_is_notified_three_days_before_and_on_the_day_after(
    paid: int, now: datetime, notices: list[tuple[InstalmentNoticeKind, int]]
) -> None:
    assert told(a_plan(paid), now) == notices


@pytest.mark.parametrize(
    ("agreed_at", "notices"),
    [
        (at("2026-03-13", "08:59"), [(DUE, 1)]),
        (at("2026-03-13"), []),
        (at("2026-03-14"), []),
    ],
)
def test_a_plan_that_starts_within_three_days_has_no_reminder_of_its_first_instalment(
    agreed_at: datetime, notices: list[tuple[InstalmentNoticeKind, int]]
) -> None:
    plan = a_plan(agreed_at=agreed_at)
    assert told(plan, at("2026-03-15")) == notices
    assert told(plan, at("2026-03-17")) == [(MISSED, 1)]
    assert told(plan, at("2026-04-14")) == [(DUE, 2)]


@pytest.mark.parametrize(
    "changes",
    [
        {"state": ModalityState.REQUESTED},
        {
            "state": ModalityState.REJECTED,
            "ended_at": AGREED,
            "ended_reason": ModalityEndReason.REJECTED,
        },
        {"ended_at": AGREED, "ended_reason": ModalityEndReason.WITHDRAWN},
        {"type": ModalityType.PAYMENT_DEFEREMENT},
    ],
)
def test_only_an_active_plan_has_notices(changes: dict[str, object]) -> None:
    modality = replace(a_plan(), **changes)
    assert told(modality, at("2026-03-13")) == []
    assert find_next_notice(modality, AGREED, BERLIN) is None


def test_notices_are_due_at_nine_across_a_clock_change() -> None:
    plan = replace(a_plan(), schedule=tuple(build_schedule(10240, 3, date(2026, 3, 31))))
    assert find_next_notice(plan, AGREED, BERLIN) == datetime(2026, 3, 28, 8, tzinfo=UTC)
    after = find_next_notice(plan, datetime(2026, 3, 28, 8, tzinfo=UTC), BERLIN)
    assert after == datetime(2026, 4, 1, 7, tzinfo=UTC)


_JUMPS = st.lists(
    st.tuples(st.integers(0, 20 * 24 * 60), st.sampled_from([0, 0, 0, 100, 3414, 3500])),
    max_size=40,
)


@given(_JUMPS, st.integers(0, 20 * 24))
def test_notices_are_in_order_once_each_and_only_for_unpaid_instalments(
    jumps: list[tuple[int, int]], agreed_late: int
) -> None:
    """List notices as the sweep does: at any instants, with payments in between, until the plan
    ends."""
    now = agreed = AGREED + timedelta(hours=agreed_late)
    seen: list[tuple[InstalmentNoticeKind, int]] = []
    paid = 0
    for minutes, cents in jumps:
        now, paid = now + timedelta(minutes=minutes), paid + cents
        plan = a_plan(paid, agreed)
        if isinstance(
            decide_progress(plan, Status.IN_PROCESS, local_date(now, BERLIN)), ModalityEndReason
        ):
            # Later notices would be wrong; the end has its own notice.
            break
        today = local_date(now, BERLIN)
        for each in list_due_notices(plan, now, BERLIN):
            if (each.kind, each.instalment.number) in seen:  # The key of the occasion.
                continue
            seen.append((each.kind, each.instalment.number))
            assert each.instalment.left_cents > 0
            if each.kind is DUE:
                assert each.instalment.due_on - timedelta(days=3) <= today <= each.instalment.due_on
                assert now > agreed
            else:
                assert each.instalment.due_on < today <= compute_last_pay_day(each.instalment)
    numbers = [number for _, number in seen]
    assert numbers == sorted(numbers)
    for number in set(numbers):
        kinds = [kind for kind, of in seen if of == number]
        assert kinds in ([DUE], [MISSED], [DUE, MISSED])


@given(st.integers(0, 100 * 24 * 60), st.sampled_from([0, 3414, 6827, 10240]))
def test_checking_at_the_computed_instants_misses_no_notice(minutes: int, paid: int) -> None:
    """No notice becomes due between two of these instants."""
    plan, now = a_plan(paid), AGREED + timedelta(minutes=minutes)
    following = find_next_notice(plan, now, BERLIN)
    begun = told(plan, now)
    end = following or now + timedelta(days=100)
    for share in (0.3, 0.9):
        between = now + (end - now) * share
        assert set(told(plan, between)) <= set(begun)
    if following is not None:
        assert set(told(plan, following)) - set(begun)
