"""Versions of a definition, and whether a change of it is minor or major (CONTRACT 6). Pure.

A minor change touches nothing but what single actions do, so claims that are under way can take
it. Whatever changes their course (order, kinds, waits, guards, settings) is major.
"""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from dunwell.workflows.definition import Definition, Step, WaitStep


class Verdict(StrEnum):
    NONE = "NONE"
    MINOR = "MINOR"
    MAJOR = "MAJOR"


@dataclass(frozen=True, slots=True)
class Version:
    """A published version; it never changes again."""

    workflow_id: UUID
    version_id: UUID
    major: int
    minor: int
    definition: Definition

    @property
    def name(self) -> str:
        return render_version_name(self.major, self.minor)


def render_version_name(major: int, minor: int) -> str:
    return f"v{major}.{minor}"


def find_verdict(old: Definition, new: Definition) -> Verdict:
    """What publishing `new` after `old` amounts to."""
    if old == new:
        return Verdict.NONE
    return Verdict.MINOR if _course_of(old) == _course_of(new) else Verdict.MAJOR


def find_next_number(current: Version | None, verdict: Verdict) -> tuple[int, int]:
    """Major and minor of the version after `current`; the first is 1, 0."""
    if current is None:
        return 1, 0
    if verdict is Verdict.MAJOR:
        return current.major + 1, 0
    return current.major, current.minor + 1


def _course_of(definition: Definition) -> tuple[object, ...]:
    """All that a claim under way relies on."""
    return definition.settings, [_place_of(step) for step in definition.steps]


def _place_of(step: Step) -> tuple[object, ...]:
    wait = (step.days, step.business_days) if isinstance(step, WaitStep) else None
    return step.id, type(step), step.when, wait
