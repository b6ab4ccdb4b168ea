"""Quiet hours that leave no contact hours."""

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import Guards, QuietHours
from dunwell.contact.messages.templates.merchant_rules import list_quiet_hour_faults
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.merchants import CONFIGURATION

# The contact hours of the definition are 09:00 to 18:00.
CASES = [
    (("09:00", "18:00"), True),
    (("08:00", "19:00"), True),
    (("09:01", "18:00"), False),
    (("09:00", "17:59"), False),
    (("21:00", "08:00"), False),
    (("21:00", "18:00"), True),
    (("09:00", "08:00"), True),
    (("17:59", "09:01"), False),
]


@pytest.mark.parametrize(("quiet", "is_refused"), CASES)
def test_quiet_hours_that_leave_no_contact_hours_are_refused(
    quiet: tuple[str, str], is_refused: bool
) -> None:
    guards = Guards(quiet_hours=QuietHours(*quiet))
    configuration = msgspec.structs.replace(CONFIGURATION, guards=guards)
    faults = [
        (fault.path, fault.code) for fault in list_quiet_hour_faults(configuration, a_definition())
    ]
    assert faults == ([("/settings/contactHours", "EMPTY_HOURS")] if is_refused else [])


@pytest.mark.parametrize("change", [{"timezone": "America/New_York"}, {"contactHours": None}])
def test_other_timezones_and_missing_contact_hours_are_not_checked(
    change: dict[str, str | None],
) -> None:
    guards = Guards(quiet_hours=QuietHours("00:00", "23:59"))
    configuration = msgspec.structs.replace(CONFIGURATION, guards=guards)
    definition = a_definition(settings={**DOCUMENT["settings"], **change})
    assert list(list_quiet_hour_faults(configuration, definition)) == []
