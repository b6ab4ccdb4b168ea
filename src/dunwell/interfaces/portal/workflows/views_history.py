"""What the pages of a workflow's versions show: all, one, what differs between two, a file."""

from collections.abc import Sequence
from typing import ClassVar
from uuid import UUID

from dunwell.cases.rollout.look_at_workflows import LookedAtWorkflow
from dunwell.cases.rollout.read_workflows import LookedAtVersion
from dunwell.core.workflows.document import PlacedFault
from dunwell.core.workflows.versions.differences import PartDifference
from dunwell.core.workflows.versions.store import VersionRow
from dunwell.core.workflows.versions.versions import Verdict
from dunwell.interfaces.portal.workflows.views_publish import AuthorChanges
from dunwell.interfaces.web.templates import Page


class HistoryPage(Page, frozen=True):
    """versions: the newest first."""

    template: ClassVar[str] = "workflow_history.html"
    area: ClassVar[str] = "workflows"

    workflow: LookedAtWorkflow
    versions: Sequence[VersionRow]
    most: int
    done_here: str


class VersionPage(Page, frozen=True):
    """parts: of its definition. newest: by which a change meanwhile is known."""

    template: ClassVar[str] = "workflow_version.html"
    area: ClassVar[str] = "workflows"

    workflow: LookedAtWorkflow
    version: LookedAtVersion
    authors: Sequence[AuthorChanges]
    currency: str
    newest: UUID | None
    is_conflict: bool


class ComparePage(Page, frozen=True):
    template: ClassVar[str] = "workflow_compare.html"
    area: ClassVar[str] = "workflows"

    workflow: LookedAtWorkflow
    names: Sequence[str]
    before: str
    after: str
    verdict: Verdict
    differences: Sequence[PartDifference]
    currency: str


class FilePage(Page, frozen=True):
    """text: what the draft says as a file, or what was put in its place. is_looked: what it would
    change is shown. faults: why it cannot be taken; missing: what would keep it from being
    published."""

    template: ClassVar[str] = "workflow_file.html"
    area: ClassVar[str] = "workflows"

    workflow: LookedAtWorkflow
    text: str
    newest: UUID | None
    is_looked: bool
    is_conflict: bool
    unreadable: str
    faults: Sequence[PlacedFault]
    differences: Sequence[PartDifference]
    currency: str
