"""What a channel's answer means."""

from datetime import UTC, datetime, timedelta

import pytest

from dunwell.escalation.schedule import ContactPlanned, Tried
from dunwell.escalation.settlement import (
    MAX_TRIES,
    Attempt,
    CallAgain,
    FallBack,
    GiveUp,
    Settled,
    Settlement,
    TryAgain,
    Unknown,
    decide_settlement,
)
from dunwell.merchants.configuration import Channel
from dunwell.sending.channel import Accepted, Outcome, Permanent, Temporary, Unanswered
from dunwell.workflows.definition import CommunicationStep

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
STEP = CommunicationStep(
    id=1, name="First", channel="EMAIL", fallbacks=["SMS", "LETTER"], template="reminder"
)


def settle(
    answer: Outcome | Unanswered,
    tries: int = 1,
    tried: tuple[Channel, ...] = ("EMAIL",),
    usable: tuple[Channel, ...] = (),
) -> Settlement:
    return decide_settlement(
        Attempt(STEP, tries, usable, Tried(frozenset(tried), len(tried))), answer, NOW
    )


def test_accepted_is_settled() -> None:
    assert settle(Accepted()) == Settled()


@pytest.mark.parametrize(
    ("tries", "asked", "seconds"),
    [(1, 0, 30), (2, 0, 60), (3, 0, 120), (11, 0, 6 * 3600), (1, 90, 90)],
)
def test_pauses_double_up_to_six_hours(tries: int, asked: int, seconds: int) -> None:
    assert settle(Temporary(asked), tries) == TryAgain(NOW + timedelta(seconds=seconds))


def test_the_last_try_gives_up() -> None:
    assert settle(Temporary(0), MAX_TRIES) == GiveUp("not taken in 12 tries")


def test_a_refusal_falls_back_to_the_next_channel_that_can_be_used() -> None:
    assert settle(Permanent("gone"), usable=("EMAIL", "LETTER")) == FallBack(
        ContactPlanned(STEP, 2, "LETTER"), "gone"
    )


def test_a_fallback_never_goes_back() -> None:
    every: tuple[Channel, ...] = ("EMAIL", "SMS", "LETTER")
    assert settle(Permanent("gone"), tried=every, usable=every) == GiveUp("gone")


def test_a_list_a_minor_changed_is_gone_through_without_a_channel_twice() -> None:
    answer = settle(Permanent("gone"), tried=("LETTER",), usable=("SMS", "LETTER"))
    assert answer == FallBack(ContactPlanned(STEP, 1, "SMS"), "gone")


def test_no_answer_is_never_taken_for_one() -> None:
    assert settle(Unanswered(is_repeatable=True)) == CallAgain(timedelta(seconds=30))
    assert settle(Unanswered(is_repeatable=True), tries=MAX_TRIES) == Unknown()
    assert settle(Unanswered(is_repeatable=False)) == Unknown()
