"""Every (state, answer) pair of a payment request."""

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from dunwell.cases.payments.provider import (
    Cancelled,
    CheckoutState,
    Expired,
    Failed,
    Open,
    Pending,
    Succeeded,
)
from dunwell.cases.payments.requests.request_states import (
    LIVE,
    TRANSITIONS,
    RequestDecision,
    RequestedPayment,
    RequestState,
    decide_request,
)

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
ASKED = RequestedPayment(10240, "EUR", START)
PAID = Succeeded("psp-1", 10240, "EUR", START)
ANSWERS: list[CheckoutState] = [Open(), Pending(), PAID, Failed(), Cancelled(), Expired()]
SOON = START + timedelta(minutes=5)
LATE = START + timedelta(hours=24)
FOLLOWING = {
    Pending: RequestState.PENDING,
    Failed: RequestState.FAILED,
    Cancelled: RequestState.CANCELLED,
    Expired: RequestState.EXPIRED,
}


@pytest.mark.parametrize("state", [RequestState.OPEN, RequestState.PENDING])
@pytest.mark.parametrize("answer", [Pending(), Failed(), Cancelled(), Expired()])
def test_a_handed_off_request_follows_the_provider(
    state: RequestState, answer: CheckoutState
) -> None:
    assert decide_request(state, answer, ASKED, SOON).state is FOLLOWING[type(answer)]


@pytest.mark.parametrize("state", list(RequestState))
def test_money_that_is_there_completes_every_request(state: RequestState) -> None:
    decision = decide_request(state, PAID, ASKED, LATE)
    assert decision == RequestDecision(RequestState.COMPLETED, keeps_checking=False)


@pytest.mark.parametrize(("state", "answer"), list(product(RequestState, ANSWERS)))
def test_an_ended_request_stays_what_it_is_but_for_money(
    state: RequestState, answer: CheckoutState
) -> None:
    if state not in LIVE and not isinstance(answer, Succeeded):
        assert decide_request(state, answer, ASKED, SOON).state is state
        assert (state, type(answer)) not in TRANSITIONS


@pytest.mark.parametrize("state", [each for each in RequestState if each != "COMPLETED"])
@pytest.mark.parametrize(
    "paid",
    [
        Succeeded("psp-1", 10239, "EUR", START),
        Succeeded("psp-1", 10241, "EUR", START),
        Succeeded("psp-1", 10240, "USD", START),
    ],
)
def test_another_amount_or_currency_is_a_mismatch_and_no_payment(
    state: RequestState, paid: Succeeded
) -> None:
    decision = decide_request(state, paid, ASKED, SOON)
    assert decision == RequestDecision(state, keeps_checking=True, is_mismatch=True)


def test_an_open_request_expires_after_a_day_and_not_a_moment_before() -> None:
    before = LATE - timedelta(microseconds=1)
    open_still = decide_request(RequestState.OPEN, Open(), ASKED, before)
    assert open_still == RequestDecision(RequestState.OPEN, keeps_checking=True)
    over = decide_request(RequestState.OPEN, Open(), ASKED, LATE)
    assert over == RequestDecision(RequestState.EXPIRED, keeps_checking=False)


def test_money_under_way_is_waited_for_as_long_as_it_takes() -> None:
    decision = decide_request(RequestState.PENDING, Pending(), ASKED, LATE + timedelta(days=30))
    assert decision == RequestDecision(RequestState.PENDING, keeps_checking=True)


def test_money_that_turned_back_lets_the_debtor_try_again() -> None:
    decision = decide_request(RequestState.PENDING, Open(), ASKED, SOON)
    assert decision == RequestDecision(RequestState.OPEN, keeps_checking=True)


def test_a_checkout_that_was_given_up_is_asked_about_until_it_is_over() -> None:
    given_up = RequestState.CANCELLED
    assert decide_request(given_up, Open(), ASKED, SOON).keeps_checking is True
    assert decide_request(given_up, Open(), ASKED, LATE).keeps_checking is False
    assert decide_request(given_up, Cancelled(), ASKED, SOON).keeps_checking is False
