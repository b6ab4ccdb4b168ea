"""What the pages of publishing and discarding a draft show: its changes by author, and its faults
with the page on which each is corrected.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar
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
from dunwell.core.workflows.definition import Definition, Step
from dunwell.core.workflows.drafts.draft_changes import DraftChange
from dunwell.core.workflows.texts import TextPlace, find_text_place
from dunwell.core.workflows.versions.differences import PartDifference, compare_part
from dunwell.interfaces.web.templates import Page
from dunwell.operations.jobs.previews.draft_previews import PreviewJobState
from dunwell.platform.errors import Fault


class ToldFault(msgspec.Struct, frozen=True, gc=False):
    """step, place: the step or the text that it is about; None: another part's."""

    fault: Fault
    step: Step | None
    place: TextPlace | None


def describe_faults(definition: Definition, faults: Sequence[Fault]) -> list[ToldFault]:
    languages = definition.settings.languages
    return [
        ToldFault(each, _find_step(definition, each.path), find_text_place(each.path, languages))
        for each in faults
    ]


def _find_step(definition: Definition, pointer: str) -> Step | None:
    group, _, rest = pointer.removeprefix("/").partition("/")
    number = rest.partition("/")[0]
    if group != "steps" or not number.isdecimal() or int(number) >= len(definition.steps):
        return None
    return definition.steps[int(number)]


class ShownChange(msgspec.Struct, frozen=True, gc=False):
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
    changes: Sequence[ShownChange]


class ShownOutlook(msgspec.Struct, frozen=True, gc=False):
    """What the draft does in the coming days: the figures of `dunwell workflow preview`."""

    outlook: OutlookView
    days: int
    table: DayTable
    held_back: Mapping[str, int]
    fees: FeeFigures
    costs: PreviewCosts | None


def show_outlook(found: DraftEffectsView | None) -> ShownOutlook | None:
    """Return None if the days after the next contacts were not computed."""
    if found is None or found.outlook is None:
        return None
    outlook = found.outlook
    return ShownOutlook(
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

    look: DraftOverview
    faults: Sequence[ToldFault]
    authors: Sequence[AuthorChanges]
    reached: int
    staying: int
    most: int
    moves: NextContactsView | None
    preview: PreviewJobState | None
    foreseen: ShownOutlook | None
    currency: str
    comment: str
    is_conflict: bool
    is_unticked: bool
    # The comment has control characters.
    is_unwritable: bool


class DiscardPage(Page, frozen=True):
    template: ClassVar[str] = "workflow_discard.html"
    area: ClassVar[str] = "workflows"

    look: DraftOverview
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
        by_author.setdefault(name_author(each), []).append(each)
    groups = [
        AuthorChanges(
            key=key,
            kind=own[0].actor_kind,
            name=own[0].name or own[0].actor_id or "",
            is_own=own[0].is_of(actor.kind, actor.actor_id),
            is_open=any(each.change_id in unticked for each in own),
            changes=[ShownChange(each, _compare(each), each.change_id in new) for each in own],
        )
        for key, own in by_author.items()
    ]
    return sorted(groups, key=lambda each: not each.is_own)


def name_author(change: DraftChange) -> str:
    return f"{change.actor_kind}:{change.actor_id or ''}"


def _compare(change: DraftChange) -> PartDifference | None:
    if change.part == _UNKNOWN_PART:
        return None
    return compare_part(change.part, change.before, change.after)
