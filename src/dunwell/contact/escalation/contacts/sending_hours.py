"""When a contact may be sent: within the contact hours of its workflow and outside the quiet hours
of the merchant.

Contact hours are in the workflow's time zone and apply to steps that wait for them. Quiet hours are
in the merchant's time zone and apply to every e-mail and SMS, including those of immediate steps.
They do not apply to letters. Pure.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.configuration import Channel, Configuration, QuietHours
from dunwell.contact.escalation.calendars import Calendar
from dunwell.contact.escalation.prepared_workflow import PreparedWorkflow
from dunwell.contact.messages.guards.guards import ContactHold, HoldReason
from dunwell.core.workflows.definition import ContactStep

# The search ends after this many days if contact hours and quiet hours leave no time between them.
_MAX_DAYS = 40
_MINUTES_PER_DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class SendingHours:
    """The hours of one contact. None means that the hours do not apply."""

    contact_hours: Calendar | None
    quiet_hours: QuietHours | None
    # Days in the merchant's time zone.
    calendar: Calendar

    def find_hold(self, now: datetime) -> ContactHold | None:
        """Return the hold that applies at `now`, or None if the contact may be sent."""
        if self._next_opening(now) > now:
            return ContactHold(self.first_moment(now), HoldReason.CONTACT_HOURS)
        if self._end_of_quiet(now) > now:
            return ContactHold(self.first_moment(now), HoldReason.QUIET_HOURS)
        return None

    def first_moment(self, instant: datetime) -> datetime:
        """Return the first moment from `instant` on at which the contact may be sent. If contact
        hours and quiet hours leave no time between them, the result is not allowed either."""
        for _ in range(_MAX_DAYS):
            opening = self._next_opening(instant)
            moment = self._end_of_quiet(opening)
            if moment == instant:
                break
            instant = moment
        return instant

    def first_moment_on(self, day: date) -> datetime:
        """Return the first moment at which the contact may be sent, on that day of the merchant or
        later."""
        return self.first_moment(self.calendar.start_of(day))

    def _next_opening(self, instant: datetime) -> datetime:
        return self.contact_hours.next_opening(instant) if self.contact_hours else instant

    def _end_of_quiet(self, instant: datetime) -> datetime:
        """Return the end of the quiet hours, or `instant` if it is outside of them."""
        if self.quiet_hours is None:
            return instant
        since, until = (
            _parse_minutes(self.quiet_hours.since),
            _parse_minutes(self.quiet_hours.until),
        )
        local = instant.astimezone(self.calendar.zone)
        minute = local.hour * 60 + local.minute
        spans_midnight = since >= until
        is_past_since, is_before_until = since <= minute, minute < until
        if spans_midnight:
            is_quiet = is_past_since or is_before_until
        else:
            is_quiet = is_past_since and is_before_until
        if not is_quiet:
            return instant
        days, minutes = divmod(until, _MINUTES_PER_DAY)
        if not is_before_until:
            days += 1
        day = local.date() + timedelta(days=days)
        return self._find_end(datetime.combine(day, time(*divmod(minutes, 60))), instant)

    def _find_end(self, local_end: datetime, instant: datetime) -> datetime:
        """Return the end of the quiet hours. In the hour that a clock change repeats, return the
        second occurrence once the first is over."""
        end = self.calendar.to_instant(local_end)
        if end > instant:
            return end
        return local_end.replace(tzinfo=self.calendar.zone, fold=1).astimezone(UTC)


def build_sending_hours(
    workflow: PreparedWorkflow, step: ContactStep, channel: Channel, configuration: Configuration
) -> SendingHours:
    return SendingHours(
        contact_hours=workflow.calendar if step.send == "CONTACT_HOURS" else None,
        quiet_hours=configuration.guards.quiet_hours if channel != "LETTER" else None,
        calendar=get_day_calendar(configuration.timezone),
    )


def list_quiet_channels(configuration: Configuration, now: datetime) -> frozenset[Channel]:
    """Return the channels that may not be used now because of quiet hours."""
    hours = SendingHours(
        None, configuration.guards.quiet_hours, get_day_calendar(configuration.timezone)
    )
    return frozenset() if hours.find_hold(now) is None else frozenset({"EMAIL", "SMS"})


@lru_cache(maxsize=1024)
def get_day_calendar(zone: str) -> Calendar:
    """Return the calendar of a time zone without closing hours or holidays."""
    return Calendar(
        zone=ZoneInfo(zone),
        weekdays=frozenset(range(7)),
        opens=None,
        closes=None,
        holidays=frozenset(),
    )


def _parse_minutes(time_of_day: str) -> int:
    hours, minutes = time_of_day.split(":")
    return int(hours) * 60 + int(minutes)
