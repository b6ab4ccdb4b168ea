"""Who may open which hold, and when a hold is active."""

from datetime import UTC, datetime, timedelta

import pytest

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.core.claims.states import Hold, HoldKind, check_new_hold
from dunwell.platform.errors import InvalidState, ValidationError

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)


def a_hold(
    kind: HoldKind = HoldKind.PAUSE,
    *,
    since: datetime = NOW,
    until: datetime | None = NOW + 7 * DAY,
    by: ActorKind = ActorKind.DEBTOR,
) -> Hold:
    return Hold(kind, since, until, None, by)


def test_a_hold_is_active_until_its_end() -> None:
    hold = a_hold()
    assert hold.is_active(NOW)
    assert hold.is_active(NOW + 7 * DAY - timedelta(microseconds=1))
    assert not hold.is_active(NOW + 7 * DAY)


def test_a_pause_by_a_debtor_needs_an_end_and_one_by_a_merchant_does_not() -> None:
    with pytest.raises(ValidationError):
        check_new_hold(a_hold(until=None), [])
    check_new_hold(a_hold(until=None, by=ActorKind.CREDENTIAL), [])
    check_new_hold(a_hold(HoldKind.DISPUTE, until=None), [])


def test_a_debtor_may_open_one_hold_of_a_kind_in_30_days() -> None:
    earlier = [a_hold(since=NOW - 29 * DAY, until=NOW - 20 * DAY)]
    with pytest.raises(InvalidState) as refusal:
        check_new_hold(a_hold(), earlier)
    assert refusal.value.details == {"state": "PAUSE"}
    check_new_hold(a_hold(HoldKind.PAYMENT_PENDING), earlier)
    a_merchants = a_hold(since=NOW - DAY, by=ActorKind.CREDENTIAL)
    check_new_hold(a_hold(), [a_merchants])
    with pytest.raises(InvalidState):
        check_new_hold(a_hold(), [a_merchants, *earlier])
    check_new_hold(a_hold(), [a_hold(since=NOW - 30 * DAY, until=NOW - 20 * DAY)])


def test_an_end_before_the_beginning_is_refused() -> None:
    with pytest.raises(ValidationError) as refusal:
        check_new_hold(a_hold(until=NOW), [])
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == [
        ("/until", "WRONG_ORDER")
    ]
    with pytest.raises(ValidationError):
        check_new_hold(a_hold(until=NOW - DAY), [])
