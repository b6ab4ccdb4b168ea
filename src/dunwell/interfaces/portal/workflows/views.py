"""The pages that edit, publish and discard a draft of a workflow, and the values that they show."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.actor import Actor
from dunwell.cases.rollout.preview.costs import PreviewCosts
from dunwell.cases.rollout.preview.effects_views import (
    DayTable,
    DraftEffectsView,
    FeeFigures,
    NextContactsView,
    OutlookView,
    build_day_table,
    compute_fee_figures,
    count_held_back,
)
from dunwell.cases.rollout.workflow_overviews import DraftOverview
from dunwell.core.workflows.definition import ContactStep, Definition, Step, WaitStep
from dunwell.core.workflows.drafts.draft_changes import DraftChange
from dunwell.core.workflows.texts import TextPlace, find_text_place
from dunwell.core.workflows.versions.differences import PartDifference, compare_part
from dunwell.core.workflows.versions.parts import build_step_part_name
from dunwell.interfaces.web.condition_form import EXTRA_ROWS
from dunwell.interfaces.web.forms import FieldFaults, Form
from dunwell.interfaces.web.templates import Page
from dunwell.operations.jobs.previews.draft_previews import PreviewJobState
from dunwell.platform.errors import Fault
from dunwell.platform.text.differences import compute_revision


class DraftFault(msgspec.Struct, frozen=True, gc=False):
    """A fault of the draft, with the step or the text that it concerns; both are None for other
    parts."""

    fault: Fault
    step: Step | None
    place: TextPlace | None


def describe_faults(definition: Definition, faults: Sequence[Fault]) -> list[DraftFault]:
    languages = definition.settings.languages
    return [
        DraftFault(each, _find_step(definition, each.path), find_text_place(each.path, languages))
        for each in faults
    ]


def _find_step(definition: Definition, pointer: str) -> Step | None:
    group, _, rest = pointer.removeprefix("/").partition("/")
    number = rest.partition("/")[0]
    if group != "steps" or not number.isdecimal() or int(number) >= len(definition.steps):
        return None
    return definition.steps[int(number)]


class AuthorChange(msgspec.Struct, frozen=True, gc=False):
    """One change. `difference` is None if there is nothing to show, such as for the position of a
    new step."""

    change: DraftChange
    difference: PartDifference | None
    is_new: bool


class AuthorChanges(msgspec.Struct, frozen=True, gc=False):
    """The changes of one author. `key` is the value of the author's checkbox. `is_open` is true if
    the checkbox was required and not ticked."""

    key: str
    kind: str
    name: str
    is_own: bool
    is_open: bool
    changes: Sequence[AuthorChange]


class OutlookFigures(msgspec.Struct, frozen=True, gc=False):
    """The effects of the draft in the coming days, with the figures of `dunwell workflow
    preview`."""

    outlook: OutlookView
    days: int
    table: DayTable
    held_back: Mapping[str, int]
    fees: FeeFigures
    costs: PreviewCosts | None


def build_outlook_figures(found: DraftEffectsView | None) -> OutlookFigures | None:
    """Return None if only the next contacts were computed, and not the days after them."""
    if found is None or found.outlook is None:
        return None
    outlook = found.outlook
    return OutlookFigures(
        outlook=outlook,
        days=found.days,
        table=build_day_table(outlook, found.days),
        held_back=count_held_back(outlook),
        fees=compute_fee_figures(outlook),
        costs=found.costs,
    )


class PublishWorkflowPage(Page, frozen=True):
    """`affected_claims` and `unaffected_claims` count active claims up to `max_counted`.
    `next_contacts` are computed immediately if few claims are affected; `preview` is computed by
    the worker, for many claims and for the coming days. `is_conflict` is true if the draft was
    replaced or has new changes."""

    template: ClassVar[str] = "workflow_publish.html"
    area: ClassVar[str] = "workflows"

    draft: DraftOverview
    faults: Sequence[DraftFault]
    authors: Sequence[AuthorChanges]
    affected_claims: int
    unaffected_claims: int
    max_counted: int
    next_contacts: NextContactsView | None
    preview: PreviewJobState | None
    outlook: OutlookFigures | None
    currency: str
    comment: str
    is_conflict: bool
    is_unticked: bool
    # True if the comment contains control characters.
    has_control_characters: bool


class DiscardDraftPage(Page, frozen=True):
    template: ClassVar[str] = "workflow_discard.html"
    area: ClassVar[str] = "workflows"

    draft: DraftOverview
    authors: Sequence[AuthorChanges]
    currency: str
    is_conflict: bool
    refusal: str


_UNKNOWN_PART = "draft"


def group_changes(
    changes: Sequence[DraftChange], actor: Actor, *, new: Collection[UUID] = (),
    unticked: Collection[UUID] = (),
) -> list[AuthorChanges]:  # fmt: skip
    """Return the changes by author. `new` are the changes since the page was rendered, `unticked`
    those that need a review."""
    by_author: dict[str, list[DraftChange]] = {}
    for each in changes:
        by_author.setdefault(build_author_key(each), []).append(each)
    groups = [
        AuthorChanges(
            key=key,
            kind=author_changes[0].actor_kind,
            name=author_changes[0].name or author_changes[0].actor_id or "",
            is_own=author_changes[0].is_by(actor.kind, actor.actor_id),
            is_open=any(each.change_id in unticked for each in author_changes),
            changes=[
                AuthorChange(each, _compare_change(each), each.change_id in new)
                for each in author_changes
            ],
        )
        for key, author_changes in by_author.items()
    ]
    return sorted(groups, key=lambda each: not each.is_own)


def build_author_key(change: DraftChange) -> str:
    return f"{change.actor_kind}:{change.actor_id or ''}"


def _compare_change(change: DraftChange) -> PartDifference | None:
    if change.part == _UNKNOWN_PART:
        return None
    return compare_part(change.part, change.before, change.after)


class StepCard(msgspec.Struct, frozen=True, gc=False):
    """One step in the editor. `day` is the number of calendar days since the workflow started;
    `is_approximate` is true if waits in business days, or after a letter, precede the step.
    `revision` is that of the step."""

    step: Mapping[str, Any]
    day: int
    is_approximate: bool
    is_changed: bool
    faults: Sequence[Fault]
    revision: str
    is_first: bool
    is_last: bool


class WorkflowEditorPage(Page, frozen=True):
    template: ClassVar[str] = "workflow.html"
    area: ClassVar[str] = "workflows"

    draft: DraftOverview
    cards: Sequence[StepCard]
    # The faults that concern no step.
    faults: Sequence[DraftFault]
    order_revision: str
    currency: str
    result_code: str
    is_order_conflict: bool = False
    conflict_step: str = ""


class PartConflict(msgspec.Struct, frozen=True, gc=False):
    """A part that another user changed in the meantime. `differences` compares the stored part with
    the entered one; `is_gone` is true if the part was removed."""

    change: DraftChange | None
    differences: PartDifference | None
    is_gone: bool


class PartPage(Page, frozen=True):
    """The form of a step or of the settings. `problems` are faults with their fields. `revision`
    is that of the part. `is_saved` is true if the draft contains what the form shows."""

    area: ClassVar[str] = "workflows"

    draft: DraftOverview
    form: Form
    problems: FieldFaults
    revision: str
    is_saved: bool
    conflict: PartConflict | None
    currency: str
    result_code: str


class WorkflowStepPage(PartPage, frozen=True, kw_only=True):
    """The form of a step. `step_id` is None for a new step, which is inserted after the step
    `after`; "" inserts it at the beginning."""

    template: ClassVar[str] = "workflow_step.html"

    kind: str
    step_id: int | None
    after: str
    templates: Sequence[str]
    extra_rows: int = EXTRA_ROWS


class WorkflowSettingsPage(PartPage, frozen=True):
    template: ClassVar[str] = "workflow_settings.html"


def build_step_cards(draft: DraftOverview, postal_days: int) -> list[StepCard]:
    steps = draft.definition.steps
    changed = {each.step_id for each in draft.differences}
    return [
        StepCard(
            step=draft.parts[build_step_part_name(step.id)],
            day=day,
            is_approximate=is_approximate,
            is_changed=step.id in changed,
            faults=[each for each in draft.faults if _is_fault_of_step(each, index)],
            revision=compute_revision(draft.parts[build_step_part_name(step.id)]),
            is_first=index == 0,
            is_last=index == len(steps) - 1,
        )
        for index, (step, (day, is_approximate)) in enumerate(
            zip(steps, compute_step_days(steps, postal_days), strict=True)
        )
    ]


def list_faults_of_no_step(draft: DraftOverview) -> list[Fault]:
    """Return the faults that concern no step."""
    return [each for each in draft.faults if not each.path.startswith("/steps/")]


def compute_step_days(steps: Sequence[Step], postal_days: int) -> Iterator[tuple[int, bool]]:
    """Yield for each step the earliest day on which it is due, counted from 0 at the start of the
    workflow, and whether this day is approximate.

    The day is approximate after a wait in business days, of which five count as a week, and after a
    letter: the wait after it begins when the letter should have arrived.
    """
    day, is_approximate, arrives_on = 0, False, 0
    for step in steps:
        yield day, is_approximate
        if isinstance(step, ContactStep) and step.channel == "LETTER":
            arrives_on = day + postal_days
        if isinstance(step, WaitStep):
            is_approximate = is_approximate or arrives_on > day
            day = max(day, arrives_on)
            business = step.business_days or 0
            day += (step.days or 0) + -(-business * 7 // 5)
            is_approximate = is_approximate or bool(business)


def _is_fault_of_step(fault: Fault, index: int) -> bool:
    root = f"/steps/{index}"
    return fault.path == root or fault.path.startswith(f"{root}/")
