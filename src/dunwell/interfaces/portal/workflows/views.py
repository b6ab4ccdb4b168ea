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
from dunwell.core.workflows.versions.parts import name_step
from dunwell.interfaces.web.condition_form import EXTRA_ROWS
from dunwell.interfaces.web.forms import Form, PlacedFaults
from dunwell.interfaces.web.templates import Page
from dunwell.operations.jobs.previews.draft_previews import PreviewJobState
from dunwell.platform.errors import Fault
from dunwell.platform.text.differences import compute_revision


class DraftFault(msgspec.Struct, frozen=True, gc=False):
    """step, place: the step or the text that it is about; None: another part's."""

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
    """difference: None: it changes nothing that is told, such as the place of a new step."""

    change: DraftChange
    difference: PartDifference | None
    is_new: bool


class AuthorChanges(msgspec.Struct, frozen=True, gc=False):
    """key: what a tick says of whom. is_open: a tick was missing."""

    key: str
    kind: str
    name: str
    is_own: bool
    is_open: bool
    changes: Sequence[AuthorChange]


class OutlookFigures(msgspec.Struct, frozen=True, gc=False):
    """What the draft does in the coming days: the figures of `dunwell workflow preview`."""

    outlook: OutlookView
    days: int
    table: DayTable
    held_back: Mapping[str, int]
    fees: FeeFigures
    costs: PreviewCosts | None


def build_outlook_figures(found: DraftEffectsView | None) -> OutlookFigures | None:
    """Return None if the days after the next contacts were not computed."""
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
    """reached, staying: of claims in process, up to `most`. moves: of few claims, at once. preview:
    by the worker, of very many claims, and of the days ahead. is_conflict: the draft is another
    one, or has new changes."""

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
    # The comment has control characters.
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
    """new, unticked: the changes that came since the page was shown, and that need a tick."""
    by_author: dict[str, list[DraftChange]] = {}
    for each in changes:
        by_author.setdefault(build_author_key(each), []).append(each)
    groups = [
        AuthorChanges(
            key=key,
            kind=own[0].actor_kind,
            name=own[0].name or own[0].actor_id or "",
            is_own=own[0].is_of(actor.kind, actor.actor_id),
            is_open=any(each.change_id in unticked for each in own),
            changes=[
                AuthorChange(each, _compare_change(each), each.change_id in new) for each in own
            ],
        )
        for key, own in by_author.items()
    ]
    return sorted(groups, key=lambda each: not each.is_own)


def build_author_key(change: DraftChange) -> str:
    return f"{change.actor_kind}:{change.actor_id or ''}"


def _compare_change(change: DraftChange) -> PartDifference | None:
    if change.part == _UNKNOWN_PART:
        return None
    return compare_part(change.part, change.before, change.after)


class StepCard(msgspec.Struct, frozen=True, gc=False):
    """day: of the process, counted in calendar days; is_about: waits in business days or after a
    letter are among them. seen: its fingerprint."""

    step: Mapping[str, Any]
    day: int
    is_approximate: bool
    is_changed: bool
    faults: Sequence[Fault]
    seen: str
    is_first: bool
    is_last: bool


class WorkflowEditorPage(Page, frozen=True):
    template: ClassVar[str] = "workflow.html"
    area: ClassVar[str] = "workflows"

    draft: DraftOverview
    cards: Sequence[StepCard]
    # Those that are of no step.
    faults: Sequence[DraftFault]
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

    draft: DraftOverview
    form: Form
    problems: PlacedFaults
    seen: str
    is_saved: bool
    conflict: PartConflict | None
    currency: str
    done_here: str


class WorkflowStepPage(PartPage, frozen=True, kw_only=True):
    """step_id: None: of a new one, which comes behind `after`; "": first."""

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
            step=draft.parts[name_step(step.id)],
            day=day,
            is_approximate=is_approximate,
            is_changed=step.id in changed,
            faults=[each for each in draft.faults if _is_fault_of_step(each, place)],
            seen=compute_revision(draft.parts[name_step(step.id)]),
            is_first=place == 0,
            is_last=place == len(steps) - 1,
        )
        for place, (step, (day, is_approximate)) in enumerate(
            zip(steps, compute_step_days(steps, postal_days), strict=True)
        )
    ]


def list_faults_of_no_step(draft: DraftOverview) -> list[Fault]:
    """Those that are of no step."""
    return [each for each in draft.faults if not each.path.startswith("/steps/")]


def compute_step_days(steps: Sequence[Step], postal_days: int) -> Iterator[tuple[int, bool]]:
    """Of each step the day of the process on which it comes at the earliest, from 0; and whether
    business days or a letter before it make that a guess: five business days are taken for a week,
    and the wait after a letter starts when it can have arrived."""
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


def _is_fault_of_step(fault: Fault, place: int) -> bool:
    root = f"/steps/{place}"
    return fault.path == root or fault.path.startswith(f"{root}/")
