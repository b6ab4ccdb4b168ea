"""What the editor of a draft shows: its steps as cards, one step's form, the settings' form. A card
says on which day of the process its step comes, where it can be moved, and what is wrong with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from dunwell.cases.rollout.workflow_overviews import DraftOverview
from dunwell.core.workflows.definition import ContactStep, Step, WaitStep
from dunwell.core.workflows.drafts.draft_changes import DraftChange
from dunwell.core.workflows.versions.differences import PartDifference
from dunwell.core.workflows.versions.parts import name_step
from dunwell.interfaces.portal.workflows.views_publish import ToldFault
from dunwell.interfaces.web.condition_form import EXTRA_ROWS
from dunwell.interfaces.web.forms import Form, PlacedFaults
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import Fault
from dunwell.platform.text.differences import compute_revision


class StepCard(msgspec.Struct, frozen=True, gc=False):
    """day: of the process, counted in calendar days; is_about: waits in business days or after a
    letter are among them. seen: its fingerprint."""

    step: Mapping[str, Any]
    day: int
    is_about: bool
    is_changed: bool
    faults: Sequence[Fault]
    seen: str
    is_first: bool
    is_last: bool


class EditorPage(Page, frozen=True):
    template: ClassVar[str] = "workflow.html"
    area: ClassVar[str] = "workflows"

    look: DraftOverview
    cards: Sequence[StepCard]
    # Those that are of no step.
    faults: Sequence[ToldFault]
    order_revision: str
    currency: str
    done_here: str
    is_order_conflict: bool = False
    conflict_step: str = ""


class PartConflict(msgspec.Struct, frozen=True, gc=False):
    """The same part, changed by somebody else. theirs: what stands there against what was typed;
    is_gone: it was taken out."""

    change: DraftChange | None
    differences: PartDifference | None
    is_gone: bool


class PartPage(Page, frozen=True):
    """The form of a step or of the settings. problems: what is wrong, with its fields. seen: the
    part's fingerprint. is_saved: whether the draft holds what the form shows."""

    area: ClassVar[str] = "workflows"

    look: DraftOverview
    form: Form
    problems: PlacedFaults
    seen: str
    is_saved: bool
    conflict: PartConflict | None
    currency: str
    done_here: str


class StepPage(PartPage, frozen=True, kw_only=True):
    """step_id: None: of a new one, which comes behind `after`; "": first."""

    template: ClassVar[str] = "workflow_step.html"

    kind: str
    step_id: int | None
    after: str
    templates: Sequence[str]
    extra_rows: int = EXTRA_ROWS


class WorkflowSettingsPage(PartPage, frozen=True):
    template: ClassVar[str] = "workflow_settings.html"


def list_cards(look: DraftOverview, postal_days: int) -> list[StepCard]:
    steps = look.definition.steps
    changed = {each.step_id for each in look.differences}
    return [
        StepCard(
            step=look.parts[name_step(step.id)],
            day=day,
            is_about=is_about,
            is_changed=step.id in changed,
            faults=[each for each in look.faults if _is_of(each, place)],
            seen=compute_revision(look.parts[name_step(step.id)]),
            is_first=place == 0,
            is_last=place == len(steps) - 1,
        )
        for place, (step, (day, is_about)) in enumerate(
            zip(steps, count_days(steps, postal_days), strict=True)
        )
    ]


def find_other_faults(look: DraftOverview) -> list[Fault]:
    """Those that are of no step."""
    return [each for each in look.faults if not each.path.startswith("/steps/")]


def count_days(steps: Sequence[Step], postal_days: int) -> Iterator[tuple[int, bool]]:
    """Of each step the day of the process on which it comes at the earliest, from 0; and whether
    business days or a letter before it make that a guess: five business days are taken for a week,
    and the wait after a letter starts when it can have arrived."""
    day, is_about, arrives_on = 0, False, 0
    for step in steps:
        yield day, is_about
        if isinstance(step, ContactStep) and step.channel == "LETTER":
            arrives_on = day + postal_days
        if isinstance(step, WaitStep):
            is_about = is_about or arrives_on > day
            day = max(day, arrives_on)
            business = step.business_days or 0
            day += (step.days or 0) + -(-business * 7 // 5)
            is_about = is_about or bool(business)


def _is_of(fault: Fault, place: int) -> bool:
    root = f"/steps/{place}"
    return fault.path == root or fault.path.startswith(f"{root}/")
