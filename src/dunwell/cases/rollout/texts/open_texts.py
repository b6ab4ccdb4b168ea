"""Open the texts of a workflow, of its draft or of a version."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.read_workflows import DRAFT, choose_version
from dunwell.core.workflows.change_workflow import check_switched
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.store import load_assignability
from dunwell.core.workflows.versions.store import VersionRow, load_definition, load_versions
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class OpenedTexts:
    """A definition by its workflow and version, and which others there are, oldest first."""

    workflow_id: UUID
    workflow: str
    version: VersionRow
    versions: Sequence[VersionRow]
    definition: Definition

    @property
    def is_newest(self) -> bool:
        """The draft, or the latest version where there is none: what is edited."""
        return self.version == self.versions[-1]


async def open_texts(work: Work, workflow_id: UUID, version: str | None = None) -> OpenedTexts:
    """version: v1.2, draft or latest; None: the draft, or the latest version where there is none.
    Raises NotFound, and InvalidState: the merchant has scenarios."""
    work.need(Right.CONFIGURE)
    check_switched(work.merchant)
    known = await load_assignability(work.tx, work.merchant_id, workflow_id)
    if known is None:
        raise NotFound("There is no such workflow.")
    versions = await load_versions(work.tx, work.merchant_id, workflow_id)
    has_draft = any(each.name == DRAFT for each in versions)
    chosen = choose_version(versions, version or (DRAFT if has_draft else None))
    definition = await load_definition(work.tx, work.merchant_id, workflow_id, chosen.version_id)
    if definition is None:
        raise NotFound("The draft was discarded just now. Look at the workflow again.")
    return OpenedTexts(
        workflow_id, known[0], version=chosen, versions=versions, definition=definition
    )
