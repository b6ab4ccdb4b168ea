"""What the pages show that a draft goes through: publishing it, discarding it."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from dunwell.cases.rollout.look_at_workflows import LookedAtDraft
from dunwell.cases.rollout.preview.costs import Costs
from dunwell.cases.rollout.preview.effects_views import (
    DayTable,
    DraftEffectsView,
    FeeFigures,
    NextContactsView,
    OutlookView,
    add_up_fees,
    count_held_back,
    tabulate_days,
)
from dunwell.core.workflows.drafts.draft_changes import DraftChange
from dunwell.core.workflows.versions.differences import PartDifference
from dunwell.interfaces.portal.workflows.told_faults import ToldFault
from dunwell.interfaces.web.templates import Page
from dunwell.operations.jobs.previews.start_preview import PreviewOfDraft


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
    costs: Costs | None


def show_outlook(found: DraftEffectsView | None) -> ShownOutlook | None:
    """Return None if the days after the next contacts were not computed."""
    if found is None or found.outlook is None:
        return None
    outlook = found.outlook
    return ShownOutlook(
        outlook=outlook,
        days=found.days,
        table=tabulate_days(outlook, found.days),
        held_back=count_held_back(outlook),
        fees=add_up_fees(outlook),
        costs=found.costs,
    )


class PublishPage(Page, frozen=True):
    """reached, staying: of claims in process, up to `most`. moves: of few claims, at once. preview:
    by the worker, of very many claims, and of the days ahead. is_conflict: the draft is another
    one, or has new changes."""

    template: ClassVar[str] = "workflow_publish.html"
    area: ClassVar[str] = "workflows"

    look: LookedAtDraft
    faults: Sequence[ToldFault]
    authors: Sequence[AuthorChanges]
    reached: int
    staying: int
    most: int
    moves: NextContactsView | None
    preview: PreviewOfDraft | None
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

    look: LookedAtDraft
    authors: Sequence[AuthorChanges]
    currency: str
    is_conflict: bool
    refusal: str
