"""Versions of a definition: names and numbers, minor and major changes, and step ids, which are
never reused (CONTRACT 6). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import count
from uuid import UUID

import msgspec

from dunwell.core.workflows.definition import (
    CheckpointStep,
    ContactStep,
    Definition,
    FeeStep,
    Step,
    WaitStep,
)
from dunwell.platform.errors import Fault


@dataclass(frozen=True, slots=True)
class KnownStep:
    """The step to which a step id belonged: in a published version, or in a scenario from which the
    step was removed."""

    kind: str
    name: str
    # Such as "v1.2", or words that say that the step was removed.
    version: str


def get_kind(step: Step) -> str:
    """Return the value of `kind` in JSON."""
    return str(step.__struct_config__.tag)


def find_reused_id_faults(known: Mapping[int, KnownStep], definition: Definition) -> list[Fault]:
    """Return a fault for each step whose id belonged to a step of another kind in a published
    version."""
    taken = {*known, *(step.id for step in definition.steps)}
    free_id = next(number for number in count(1) if number not in taken)
    faults = []
    for index, step in enumerate(definition.steps):
        before, kind = known.get(step.id), get_kind(step)
        if before is not None and before.kind != kind:
            message = (
                f'The id {step.id} was that of "{before.name}" ({before.kind}, {before.version}) '
                f"and stays with it; give this {kind} step a new one, such as {free_id}."
            )
            faults.append(Fault(f"/steps/{index}/id", message, "ID_REUSED"))
    return faults


class VersionVerdict(StrEnum):
    NONE = "NONE"
    MINOR = "MINOR"
    MAJOR = "MAJOR"


_VERDICTS_OF_EVERY_STEP = {
    "id": VersionVerdict.MAJOR,
    "name": VersionVerdict.MINOR,
    "when": VersionVerdict.MAJOR,
}

# The kind of change that each field causes. `steps` means the number, order and kinds of the steps;
# changes within a step count by the fields of the step.
FIELD_VERDICTS: Mapping[type[msgspec.Struct], Mapping[str, VersionVerdict]] = {
    Definition: {
        "settings": VersionVerdict.MAJOR,
        "steps": VersionVerdict.MAJOR,
        "templates": VersionVerdict.MINOR,
        "snippets": VersionVerdict.MINOR,
    },
    ContactStep: _VERDICTS_OF_EVERY_STEP
    | {
        "channel": VersionVerdict.MINOR,
        "template": VersionVerdict.MINOR,
        "fallbacks": VersionVerdict.MINOR,
        "send": VersionVerdict.MINOR,
        "attachments": VersionVerdict.MINOR,
    },
    WaitStep: _VERDICTS_OF_EVERY_STEP
    | {"days": VersionVerdict.MAJOR, "business_days": VersionVerdict.MAJOR},
    FeeStep: _VERDICTS_OF_EVERY_STEP
    | {"type": VersionVerdict.MINOR, "value": VersionVerdict.MINOR},
    CheckpointStep: _VERDICTS_OF_EVERY_STEP
    | {"offset": VersionVerdict.MINOR, "message": VersionVerdict.MINOR},
}


@dataclass(frozen=True, slots=True)
class Version:
    """A published version, which never changes."""

    workflow_id: UUID
    version_id: UUID
    major: int
    minor: int
    definition: Definition

    @property
    def name(self) -> str:
        return render_version_name(self.major, self.minor)


@dataclass(frozen=True, slots=True)
class WorkflowDraft:
    version_id: UUID
    definition: Definition


@dataclass(frozen=True, slots=True)
class ScenarioVersion:
    """A workflow with one version, which is edited in place until the switch publishes it."""

    scenario_id: int
    # The workflow that the switch publishes, and the id that its version v1.0 will then have.
    workflow_id: UUID
    reserved_version_id: UUID
    name: str
    description: str
    # True if claims can be newly assigned to it.
    is_active: bool
    created_at: datetime
    # The id of the present definition. Each edit changes it.
    version_id: UUID
    definition: Definition
    # The removed steps by id, whose ids are not reused.
    retired: Mapping[int, KnownStep]


def render_version_name(major: int, minor: int) -> str:
    return f"v{major}.{minor}"


def compute_verdict(old: Definition, new: Definition) -> VersionVerdict:
    """Return whether publishing `new` after `old` is a minor or major change, or none."""
    if old == new:
        return VersionVerdict.NONE
    return (
        VersionVerdict.MINOR
        if _get_relevant_parts(old) == _get_relevant_parts(new)
        else VersionVerdict.MAJOR
    )


def compute_next_number(current: Version | None, verdict: VersionVerdict) -> tuple[int, int]:
    """Return major and minor number of the version after `current`; 1 and 0 for the first one."""
    if current is None:
        return 1, 0
    if verdict is VersionVerdict.MAJOR:
        return current.major + 1, 0
    return current.major, current.minor + 1


def _get_relevant_parts(definition: Definition) -> tuple[object, ...]:
    """Return everything that a claim in the workflow relies on."""
    return definition.settings, [_get_relevant_fields(step) for step in definition.steps]


def _get_relevant_fields(step: Step) -> tuple[object, ...]:
    kind = type(step)
    fields = FIELD_VERDICTS[kind].items()
    return kind, *(
        getattr(step, name) for name, verdict in fields if verdict is VersionVerdict.MAJOR
    )
