"""What the steps of a process must keep, each for itself and together (CONTRACT 6). Pure."""

from collections.abc import Iterator, Mapping, Sequence

from dunwell.core.workflows.condition_rules import find_condition_faults
from dunwell.core.workflows.definition import (
    CommunicationStep,
    ProcessSettings,
    Step,
    Template,
    WaitStep,
)
from dunwell.core.workflows.settings_rules import find_repeats
from dunwell.core.workflows.text_rules import channels_of
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import render_nearest


def find_step_faults(
    steps: Sequence[Step | None],
    templates: Mapping[str, Template | None],
    settings: ProcessSettings | None,
) -> Iterator[Fault]:
    """Faults with pointers from the definition's root; parts of another shape are None."""
    yield from _find_repeated_ids(steps)
    for index, step in enumerate(steps):
        path = f"/steps/{index}"
        if isinstance(step, WaitStep):
            yield from _find_wait_faults(step, path, settings)
        if isinstance(step, CommunicationStep):
            yield from _find_contact_faults(step, path, templates)
        if step is not None and step.when is not None:
            yield from find_condition_faults(step.when, f"{path}/when")


def _find_repeated_ids(steps: Sequence[Step | None]) -> Iterator[Fault]:
    first_places: dict[int, int] = {}
    for index, step in enumerate(steps):
        if step is None:
            continue
        if step.id in first_places:
            message = f"The id {step.id} is that of step {first_places[step.id] + 1}; use another."
            yield Fault(f"/steps/{index}/id", message, "REPEATED")
        first_places.setdefault(step.id, index)


def _find_wait_faults(
    step: WaitStep, path: str, settings: ProcessSettings | None
) -> Iterator[Fault]:
    if (step.days is None) == (step.business_days is None):
        yield Fault(path, "Give exactly one of days and businessDays.", "DAYS_OR_BUSINESS_DAYS")
    if step.business_days is not None and settings is not None and settings.contact_hours is None:
        message = "Business days are the contact weekdays; set settings.contactHours."
        yield Fault(f"{path}/businessDays", message, "CONTACT_HOURS_MISSING")


def _find_contact_faults(
    step: CommunicationStep, path: str, templates: Mapping[str, Template | None]
) -> Iterator[Fault]:
    yield from find_repeats([step.channel, *step.fallbacks], f"{path}/fallbacks", skip=1)
    if step.template not in templates:
        nearest = render_nearest(step.template, list(templates))
        message = f'There is no template "{step.template}". {nearest}'
        yield Fault(f"{path}/template", message, "UNKNOWN_TEMPLATE")
        return
    template = templates[step.template]
    if template is None:
        return
    texts = channels_of(template)
    places = {f"{path}/channel": step.channel}
    places |= {f"{path}/fallbacks/{i}": channel for i, channel in enumerate(step.fallbacks)}
    for place, channel in places.items():
        if channel not in texts:
            message = f'The template "{step.template}" has no {channel} text; add one.'
            yield Fault(place, message, "MISSING_CHANNEL_TEXT")
