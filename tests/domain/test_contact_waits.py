"""Which contacts of a workflow are warned about because debtors have no time to pay."""

from datetime import date, timedelta
from typing import Any

import pytest

from dunwell.cases.rollout.contact_waits import compute_least_wait_days, list_contact_warnings
from dunwell.contact.escalation.forecast.forecast import MIN_NOTICE
from dunwell.platform.banking_days import compute_last_transfer_day
from tests.support.definitions import DOCUMENT, a_definition

EMAIL = {"kind": "COMMUNICATION", "channel": "EMAIL", "template": "reminder"}
LETTER = {**EMAIL, "channel": "LETTER"}
FEE = {"kind": "FEE", "type": "DUNNING_FEE", "value": "250"}
CHECKPOINT = {"kind": "CHECKPOINT", "offset": 1, "message": "here"}
LARGE = {"when": {"outstanding": {"min": "5000"}}}


def wait(days: int, **more: Any) -> dict[str, Any]:
    return {"kind": "WAIT", "days": days, **more}


def business(days: int) -> dict[str, Any]:
    return {"kind": "WAIT", "businessDays": days}


def warn(*steps: dict[str, Any], **changes: Any) -> list[tuple[str, str]]:
    numbered = [{"id": n, "name": f"Step {n}", **step} for n, step in enumerate(steps, start=1)]
    definition = a_definition(steps=numbered, **changes)
    return [(each.path, each.code) for each in list_contact_warnings(definition)]


NO_WAIT, TOO_SHORT = "LAST_CONTACT_WITHOUT_WAIT", "WAIT_TOO_SHORT"


@pytest.mark.parametrize(
    ("steps", "warnings"),
    [
        ([EMAIL], [("/steps/0", NO_WAIT)]),
        ([EMAIL, CHECKPOINT], [("/steps/0", NO_WAIT)]),
        ([EMAIL, wait(14), LETTER], [("/steps/2", NO_WAIT)]),
        ([EMAIL, wait(11)], []),
        ([EMAIL, wait(10)], [("/steps/0", TOO_SHORT)]),
        ([EMAIL, wait(10), FEE, wait(14)], [("/steps/0", TOO_SHORT)]),
        # An immediate fee leaves no time, however long the following wait is.
        ([EMAIL, FEE, wait(30)], [("/steps/0", TOO_SHORT)]),
        ([EMAIL, EMAIL, wait(14)], [("/steps/0", TOO_SHORT)]),
        ([EMAIL, wait(5), CHECKPOINT, wait(6), EMAIL, wait(11)], []),
        # The wait after a letter starts on the day on which it can have arrived.
        ([LETTER, wait(11)], []),
        # With contacts on business days only, eight of them are eleven days across two weekends.
        ([EMAIL, business(9)], []),
        ([EMAIL, business(7)], [("/steps/0", TOO_SHORT)]),
        # A wait that may be skipped does not count; one with the contact's own condition does.
        ([EMAIL, wait(14, **LARGE)], [("/steps/0", NO_WAIT)]),
        ([{**EMAIL, **LARGE}, wait(14, **LARGE)], []),
        ([FEE, wait(1)], []),
        ([EMAIL, wait(3_650)], []),
    ],
)
def test_a_contact_after_too_short_a_wait_is_warned_about(
    steps: list[dict[str, Any]], warnings: list[tuple[str, str]]
) -> None:
    assert warn(*steps) == warnings


def test_business_days_follow_the_contact_hours() -> None:
    hours = {"weekdays": ["MON"], "from": "09:00", "to": "18:00"}
    settings = {**DOCUMENT["settings"], "contactHours": hours}
    assert warn(EMAIL, business(2), settings=settings) == []
    assert warn(EMAIL, business(1), settings=settings) == [("/steps/0", TOO_SHORT)]
    # A message sent at any hour can be sent on the Sunday before: eight days instead of fourteen.
    at_once = {**EMAIL, "send": "IMMEDIATE"}
    assert warn(at_once, business(2), settings=settings) == [("/steps/0", TOO_SHORT)]


def test_the_suggested_wait_is_the_shortest_that_suffices_on_every_weekday() -> None:
    assert compute_least_wait_days() == 11

    def suffices(days: int) -> bool:
        week = [date(2026, 9, 7) + timedelta(days=n) for n in range(7)]
        return all(
            compute_last_transfer_day(day + timedelta(days=days)) >= day + MIN_NOTICE
            for day in week
        )

    assert [days for days in range(1, 15) if suffices(days)] == [11, 12, 13, 14]


def test_a_warning_names_the_step_and_how_long_to_wait() -> None:
    steps = [{"id": 1, "name": "Reminder", **EMAIL}]
    [warning] = list_contact_warnings(a_definition(steps=steps))
    assert warning.message == (
        'No wait follows the last contact "Reminder": the claim is archived as soon as the message '
        "is sent, and the debtor can no longer pay. Add a wait of at least 11 days after it, "
        "longer if bank holidays fall into it."
    )
    steps += [{"id": 2, "name": "Wait", **wait(10)}]
    [warning] = list_contact_warnings(a_definition(steps=steps))
    assert warning.message == (
        'The wait after "Reminder" is too short for a pay-by date: sentences with {{ payBy }} are '
        "left out of messages sent on some days. Wait at least 11 days, longer if bank holidays "
        "fall into it."
    )
