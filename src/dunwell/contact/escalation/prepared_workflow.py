"""A workflow version prepared for execution: its steps with the calendar and the postal days that
decide when they run.

Each version is prepared once per operating-system process: versions never change, and the
merchant's settings are part of the cache key.
"""

from collections.abc import Container
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from uuid import UUID

from dunwell.accounts.merchants.configuration import Configuration, LetterSettings, find_country
from dunwell.contact.escalation.calendars import (
    Calendar,
    build_calendar,
    compute_arrival_day,
    load_post_holidays,
)
from dunwell.core.workflows.definition import ContactStep, Definition, Step
from dunwell.core.workflows.versions.versions import Version

_MAX_CACHED = 2000
# The key is the version, the time zone, the postal days and the creditor's country.
_cache: dict[tuple[UUID, str, int, str | None], "PreparedWorkflow"] = {}


@dataclass(frozen=True, slots=True)
class PreparedWorkflow:
    steps: tuple[Step, ...]
    calendar: Calendar
    fees_need_contact: bool
    skip_contacts_older_than: timedelta | None
    # The number of postal days from the hand-over of a letter to its arrival.
    postal_days: int
    post_holidays: Container[date]

    def index_of(self, step_id: int | None) -> int:
        """Return the index of a step. None, the position after the last step, becomes the number of
        steps."""
        if step_id is None:
            return len(self.steps)
        return next(i for i, step in enumerate(self.steps) if step.id == step_id)

    def find_contact_step(self, step_id: int) -> ContactStep | None:
        """Return the contact step with this id, or None if the scenario was edited in place and no
        longer has the step."""
        matching_step = next((step for step in self.steps if step.id == step_id), None)
        return matching_step if isinstance(matching_step, ContactStep) else None

    def compute_letter_arrival(self, handed_over_at: datetime) -> datetime:
        """Return when a letter can have arrived: at the local time of its hand-over, `postal_days`
        later."""
        calendar = self.calendar
        local = handed_over_at.astimezone(calendar.zone)
        day = compute_arrival_day(local.date(), self.postal_days, self.post_holidays)
        return calendar.to_instant(datetime.combine(day, local.time()))

    def id_at(self, index: int) -> int | None:
        return self.steps[index].id if index < len(self.steps) else None


def get_prepared_workflow(version: Version, configuration: Configuration) -> PreparedWorkflow:
    """Return the prepared version for its merchant, from the cache if possible."""
    key = (
        version.version_id,
        configuration.timezone,
        configuration.letters.postal_days,
        find_country(configuration),
    )
    workflow = _cache.get(key)
    if workflow is None:
        if len(_cache) >= _MAX_CACHED:
            _cache.clear()
        workflow = _cache[key] = prepare_workflow(version.definition, configuration)
    return workflow


def prepare_workflow(definition: Definition, configuration: Configuration) -> PreparedWorkflow:
    """Prepare a definition that has no version yet, such as a draft."""
    return prepare_workflow_for_timezone(
        definition,
        configuration.timezone,
        postal_days=configuration.letters.postal_days,
        country=find_country(configuration),
    )


def prepare_workflow_for_timezone(
    definition: Definition, merchant_timezone: str, *,
    postal_days: int = LetterSettings().postal_days,
    country: str | None = None,
) -> PreparedWorkflow:  # fmt: skip
    """Prepare a definition for a time zone.

    `country` is the creditor's country. Its holidays have no mail delivery if the definition names
    no region.
    """
    late = definition.settings.late_policy
    return PreparedWorkflow(
        steps=tuple(definition.steps),
        calendar=build_calendar(definition.settings, merchant_timezone),
        fees_need_contact=definition.settings.fees_need_contact,
        skip_contacts_older_than=timedelta(days=late.skip_if_older_than_days) if late else None,
        postal_days=postal_days,
        post_holidays=load_post_holidays(definition.settings.holidays, country),
    )
