"""A version's steps with its calendar: what a claim's process is decided by.

Each is made once per process of ours: versions never change.
"""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from dunwell.escalation.calendars import Calendar, make_calendar
from dunwell.workflows.definition import CommunicationStep, Definition, Step
from dunwell.workflows.versions import Version

_MOST = 2000
_made: dict[tuple[UUID, str], "Process"] = {}


@dataclass(frozen=True, slots=True)
class Process:
    steps: tuple[Step, ...]
    calendar: Calendar
    fees_need_contact: bool
    skip_contacts_older_than: timedelta | None

    def index_of(self, step_id: int | None) -> int:
        """The place of a step; none stands behind the last."""
        if step_id is None:
            return len(self.steps)
        return next(i for i, step in enumerate(self.steps) if step.id == step_id)

    def find_contact_step(self, step_id: int) -> CommunicationStep | None:
        """The step that planned a contact; none: a scenario, edited in place, has lost it."""
        found = next((step for step in self.steps if step.id == step_id), None)
        return found if isinstance(found, CommunicationStep) else None

    def id_at(self, index: int) -> int | None:
        return self.steps[index].id if index < len(self.steps) else None


def find_process(version: Version, merchant_timezone: str) -> Process:
    key = (version.version_id, merchant_timezone)
    process = _made.get(key)
    if process is None:
        if len(_made) >= _MOST:
            _made.clear()
        process = _made[key] = make_process(version.definition, merchant_timezone)
    return process


def make_process(definition: Definition, merchant_timezone: str) -> Process:
    late = definition.settings.late_policy
    return Process(
        steps=tuple(definition.steps),
        calendar=make_calendar(definition.settings, merchant_timezone),
        fees_need_contact=definition.settings.fees_need_contact,
        skip_contacts_older_than=timedelta(days=late.skip_if_older_than_days) if late else None,
    )
