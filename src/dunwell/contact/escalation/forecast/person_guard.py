"""Apply guards to forecasts: when may a debtor be contacted?

Quiet hours and the limits per person apply here; contact hours belong to the workflow. Pure.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from uuid import UUID

from dunwell.accounts.merchants.configuration import Channel, Configuration, Guards
from dunwell.contact.escalation.contacts.sending_hours import SendingHours, get_day_calendar
from dunwell.contact.messages.guards.guards import (
    ContactDays,
    GuardCandidate,
    HoldReason,
    decide_contacts,
    has_room,
)

# The contact id of the only candidate; it is not stored, so any value can be used.
_ONLY_CANDIDATE = UUID(int=0)
QuietHoursByChannel = Mapping[Channel, SendingHours]


def build_quiet_hours(configuration: Configuration) -> QuietHoursByChannel:
    """Return the quiet hours of each channel; letters have none."""
    calendar = get_day_calendar(configuration.timezone)
    quiet = configuration.guards.quiet_hours
    return {
        "EMAIL": SendingHours(None, quiet, calendar),
        "SMS": SendingHours(None, quiet, calendar),
        "LETTER": SendingHours(None, None, calendar),
    }


class PersonGuard:
    """A `forecast.Guard` for the debtor of one claim. Each allowed contact counts against the
    next."""

    __slots__ = ("_days", "_guards", "_identities", "_on_hold", "_quiet")

    def __init__(
        self, guards: Guards, quiet: QuietHoursByChannel, identities: tuple[bytes, ...],
        days: dict[bytes, list[date]], on_hold: Callable[[date, HoldReason], None] | None = None,
    ) -> None:  # fmt: skip
        """`days` are the days on which each identity was contacted, shared by the claims of one
        person. `on_hold` is called with the day and the reason for every contact that is held back.
        """
        self._guards = guards
        self._quiet = quiet
        self._identities = identities
        self._days = days
        self._on_hold = on_hold

    def __call__(self, at: datetime, channel: Channel) -> datetime:
        hours = self._quiet[channel]
        today = hours.calendar.local_date(at)
        moment = hours.first_moment(at)
        if moment > at:
            self._report(today, HoldReason.QUIET_HOURS)
            return moment
        if all(
            has_room(self._days[identity], self._guards, today) for identity in self._identities
        ):
            for identity in self._identities:
                self._days[identity].append(today)
            return at
        candidate = GuardCandidate(_ONLY_CANDIDATE, self._identities)
        hold = decide_contacts([candidate], self._days, self._guards, today).held[_ONLY_CANDIDATE]
        self._report(today, hold.held_by)
        return hours.first_moment_on(hold.until)

    def _report(self, day: date, held_by: HoldReason) -> None:
        if self._on_hold is not None:
            self._on_hold(day, held_by)


def build_person_guard(
    configuration: Configuration,
    identities: tuple[bytes, ...],
    contacted_on: Mapping[bytes, ContactDays],
) -> PersonGuard:
    """Return the guard of one claim.

    `contacted_on` has the contact days of the identities that have guard rows.
    """
    days = {identity: list(contacted_on.get(identity, ())) for identity in identities}
    return PersonGuard(configuration.guards, build_quiet_hours(configuration), identities, days)
