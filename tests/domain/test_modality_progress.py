"""Whether a plan or deferment continues, day by day, and what its states allow."""

from datetime import UTC, date, datetime, timedelta
from itertools import product
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.cases.modalities.instalments import Instalment, apply_payments, build_schedule
from dunwell.cases.modalities.modality import (
    Modality,
    ModalityEndReason,
    ModalityState,
    ModalityType,
    check_answer,
)
from dunwell.cases.modalities.progress import compute_end_day, decide_progress, start_of_day
from dunwell.core.claims.states import Status
from dunwell.platform.errors import InvalidState

FIRST = date(2026, 3, 16)
AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
DEFERRED = (Instalment(1, date(2026, 3, 31), 10240),)


def a_plan(paid: int = 0, state: ModalityState = ModalityState.APPROVED) -> Modality:
    schedule = apply_payments(build_schedule(10240, 3, FIRST), paid)
    return Modality(
        UUID(int=1), 1, ModalityType.PAYMENT_PLAN, state, "EUR", 10240, schedule, paid, AT,
        ActorKind.DEBTOR,
    )  # fmt: skip


def a_deferment(paid: int = 0, state: ModalityState = ModalityState.APPROVED) -> Modality:
    return replace(
        a_plan(paid, state),
        type=ModalityType.PAYMENT_DEFEREMENT,
        schedule=apply_payments(DEFERRED, paid),
    )


@pytest.mark.parametrize(
    ("paid", "today", "expected"),
    [
        (0, date(2026, 3, 16), date(2026, 3, 24)),
        (0, date(2026, 3, 23), date(2026, 3, 24)),
        (0, date(2026, 3, 24), ModalityEndReason.BROKEN),
        (3413, date(2026, 3, 24), ModalityEndReason.BROKEN),
        (3414, date(2026, 3, 24), date(2026, 4, 24)),
        (6827, date(2026, 3, 1), date(2026, 5, 24)),
        (6827, date(2026, 5, 24), ModalityEndReason.BROKEN),
        (10240, date(2026, 5, 24), ModalityEndReason.FULFILLED),
        (10240, date(2026, 3, 1), ModalityEndReason.FULFILLED),
    ],
)
def test_a_plan_breaks_on_the_eighth_day_after_an_unpaid_instalment(
    paid: int, today: date, expected: date | ModalityEndReason
) -> None:
    assert decide_progress(a_plan(paid), Status.IN_PROCESS, today) == expected


def test_a_deferment_lasts_until_the_end_of_its_day() -> None:
    modality = a_deferment(10239)
    assert decide_progress(modality, Status.CREATED, date(2026, 3, 31)) == date(2026, 4, 1)
    assert decide_progress(modality, Status.CREATED, date(2026, 4, 1)) is ModalityEndReason.PASSED
    paid = decide_progress(a_deferment(10240), Status.CREATED, date(2026, 4, 1))
    assert paid is ModalityEndReason.FULFILLED


def test_an_unanswered_request_ends_with_its_first_date() -> None:
    asked = a_plan(state=ModalityState.REQUESTED)
    assert decide_progress(asked, Status.IN_PROCESS, date(2026, 3, 23)) == date(2026, 3, 24)
    assert decide_progress(asked, Status.IN_PROCESS, date(2026, 3, 24)) is ModalityEndReason.PASSED


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (Status.COLLECTED, ModalityEndReason.FULFILLED),
        (Status.ARCHIVED, ModalityEndReason.CLAIM_ENDED),
        (Status.WITHDRAWN, ModalityEndReason.CLAIM_ENDED),
    ],
)
@pytest.mark.parametrize("paid", [0, 3414])
def test_an_ended_claim_ends_its_modality(
    status: Status, reason: ModalityEndReason, paid: int
) -> None:
    for modality in (a_plan(paid), a_deferment(paid)):
        assert decide_progress(modality, status, date(2026, 3, 10)) is reason


@given(st.integers(0, 10240), st.integers(0, 120), st.booleans())
def test_a_continuing_modality_is_checked_again_before_its_end(
    paid: int, days: int, deferred: bool
) -> None:
    modality = a_deferment(paid) if deferred else a_plan(paid)
    today = AT.date() + timedelta(days=days)
    expected = decide_progress(modality, Status.IN_PROCESS, today)
    if not isinstance(expected, ModalityEndReason):
        assert today < expected <= compute_end_day(modality.type, modality.schedule)
        assert decide_progress(modality, Status.IN_PROCESS, expected) != expected


def test_days_begin_in_the_merchants_timezone() -> None:
    assert start_of_day(date(2026, 3, 30), "Europe/Berlin") == datetime(
        2026, 3, 29, 22, 0, tzinfo=UTC
    )
    # Midnight does not exist there on that day.
    assert start_of_day(date(2026, 9, 6), "America/Santiago") == datetime(
        2026, 9, 6, 4, 0, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("state", "ended", "answer"),
    list(
        product(
            ModalityState,
            [None, *ModalityEndReason],
            [ModalityState.APPROVED, ModalityState.REJECTED],
        )
    ),
)
def test_an_answer_is_final_and_needs_an_open_request(
    state: ModalityState, ended: ModalityEndReason | None, answer: ModalityState
) -> None:
    modality = replace(a_plan(state=state), ended_reason=ended)
    takes = ended in (None, ModalityEndReason.REJECTED) and state in (
        ModalityState.REQUESTED,
        answer,
    )
    if takes:
        assert check_answer(modality, answer) is (state is not answer)
        return
    with pytest.raises(InvalidState):
        check_answer(modality, answer)
