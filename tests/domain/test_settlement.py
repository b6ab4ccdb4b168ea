"""The meaning of each answer of a channel."""

from datetime import UTC, datetime, timedelta

import pytest

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.contacts.outcomes.settlement import (
    MAX_ATTEMPTS,
    ContactAccepted,
    ContactAttempt,
    ContactSettlement,
    FailContact,
    OutcomeUnknown,
    RepeatCall,
    RetryContact,
    UndoHandOver,
    UseFallback,
    decide_settlement,
)
from dunwell.contact.escalation.schedule import ContactPlanned, TriedChannels
from dunwell.contact.sending.channel import (
    Accepted,
    ChannelAnswer,
    Permanent,
    Temporary,
    Unanswered,
    Uncalled,
)
from dunwell.core.workflows.definition import ContactStep

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
STEP = ContactStep(
    id=1, name="First", channel="EMAIL", fallbacks=["SMS", "LETTER"], template="reminder"
)

_TRIED = TriedChannels(frozenset({"EMAIL"}), 1)


def settle(
    answer: ChannelAnswer,
    attempts: int = 1,
    tried: tuple[Channel, ...] = ("EMAIL",),
    usable: tuple[Channel, ...] = (),
) -> ContactSettlement:
    return decide_settlement(
        ContactAttempt(STEP, attempts, usable, TriedChannels(frozenset(tried), len(tried))),
        answer,
        NOW,
    )


def test_an_accepted_contact_is_settled() -> None:
    assert settle(Accepted()) == ContactAccepted()


@pytest.mark.parametrize(
    ("attempts", "asked", "seconds"),
    [(1, 0, 5), (2, 0, 10), (3, 0, 20), (14, 0, 6 * 3600), (1, 90, 90)],
)
def test_retry_delays_double_up_to_six_hours(attempts: int, asked: int, seconds: int) -> None:
    assert settle(Temporary(asked), attempts) == RetryContact(NOW + timedelta(seconds=seconds))


def test_the_last_attempt_gives_up() -> None:
    assert settle(Temporary(0), MAX_ATTEMPTS) == FailContact("not accepted in 15 attempts")
    answer = Temporary(reason="The mail server deferred it: 451.")
    words = "not accepted in 15 attempts: The mail server deferred it: 451."
    assert settle(answer, MAX_ATTEMPTS) == FailContact(words)


def test_contacts_survive_a_channel_outage_of_a_night() -> None:
    pauses = [settle(Temporary(), attempts) for attempts in range(1, MAX_ATTEMPTS)]
    waits = [each.at - NOW for each in pauses if isinstance(each, RetryContact)]
    assert sum(waits, timedelta()) >= timedelta(hours=17)


def test_simultaneous_contacts_are_retried_at_different_times() -> None:
    attempts = (ContactAttempt(STEP, 1, (), _TRIED, spread) for spread in (0.0, 0.5, 0.999))
    settled = [decide_settlement(each, Temporary(), NOW) for each in attempts]
    pauses = [each.at - NOW for each in settled if isinstance(each, RetryContact)]
    assert pauses == sorted({*pauses})
    assert pauses[-1] < timedelta(seconds=6.25)


def test_a_retry_time_of_the_provider_is_used_exactly() -> None:
    answer, attempt = Temporary(90), ContactAttempt(STEP, 1, (), _TRIED, spread=0.9)
    assert decide_settlement(attempt, answer, NOW) == RetryContact(NOW + timedelta(seconds=90))


def test_the_reason_of_a_refusal_is_kept() -> None:
    settled = settle(Temporary(reason="The mail server deferred it: 451."))
    assert isinstance(settled, RetryContact)
    assert settled.reason == "The mail server deferred it: 451."


def test_a_message_whose_channel_was_not_called_is_always_planned_again() -> None:
    assert settle(Uncalled()) == settle(Uncalled(), attempts=MAX_ATTEMPTS) == UndoHandOver()


def test_a_refusal_leads_to_the_next_usable_channel() -> None:
    assert settle(Permanent("gone"), usable=("EMAIL", "LETTER")) == UseFallback(
        ContactPlanned(STEP, 2, "LETTER"), "gone"
    )


def test_a_fallback_never_returns_to_an_earlier_channel() -> None:
    every: tuple[Channel, ...] = ("EMAIL", "SMS", "LETTER")
    assert settle(Permanent("gone"), tried=every, usable=every) == FailContact("gone")


def test_a_changed_list_of_channels_uses_no_channel_twice() -> None:
    answer = settle(Permanent("gone"), tried=("LETTER",), usable=("SMS", "LETTER"))
    assert answer == UseFallback(ContactPlanned(STEP, 1, "SMS"), "gone")


def test_an_unanswered_call_is_repeated_or_its_outcome_is_unknown() -> None:
    assert settle(Unanswered(is_repeatable=True)) == RepeatCall(timedelta(seconds=5))
    assert settle(Unanswered(is_repeatable=True), attempts=MAX_ATTEMPTS) == OutcomeUnknown()
    assert settle(Unanswered(is_repeatable=False)) == OutcomeUnknown()
