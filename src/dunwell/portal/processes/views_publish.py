"""What the pages show that a draft goes through: publishing it, discarding it."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from dunwell.jobs.start_preview import PreviewOfDraft
from dunwell.portal.processes.told_faults import ToldFault
from dunwell.portal.render.pages import Page
from dunwell.rollout.effects_views import NextContactsView
from dunwell.rollout.look_at_draft import LookedAtDraft
from dunwell.workflows.draft_changes import DraftChange
from dunwell.workflows.part_differences import PartDifference


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


class PublishPage(Page, frozen=True):
    """reached, staying: of claims in process, up to `most`. preview: of very many claims, by the
    worker; moves: of few, at once. is_overtaken: the draft is another one, or has new changes."""

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
    currency: str
    comment: str
    is_overtaken: bool
    is_unticked: bool
    # The comment has control characters.
    is_unwritable: bool


class DiscardPage(Page, frozen=True):
    template: ClassVar[str] = "workflow_discard.html"
    area: ClassVar[str] = "workflows"

    look: LookedAtDraft
    authors: Sequence[AuthorChanges]
    currency: str
    is_overtaken: bool
    refusal: str
