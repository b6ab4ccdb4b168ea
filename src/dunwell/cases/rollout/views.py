"""What people and programs are shown of workflows, to the letter of its JSON. Pure."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from dunwell.core.workflows.versions.versions import Verdict


class WorkflowView(msgspec.Struct, frozen=True, rename="camel"):
    """A workflow in the list; no version: it was never published."""

    id: UUID
    name: str
    assignment_enabled: bool
    created_at: datetime
    version: str | None
    version_id: UUID | None
    draft_id: UUID | None
    # Claims in process on any version.
    active_claims: int


class VersionView(msgspec.Struct, frozen=True, rename="camel"):
    """A version, or the draft. Claims in process run on the newest minor of their major."""

    version: str
    version_id: UUID
    state: Literal["DRAFT", "PUBLISHED"]
    created_at: datetime
    published_at: datetime | None
    comment: str | None
    active_claims: int


class DefinitionView(msgspec.Struct, frozen=True, rename="camel"):
    """One version with its definition, and all versions of its workflow, oldest first."""

    workflow_id: UUID
    name: str
    assignment_enabled: bool
    version: str
    version_id: UUID
    definition: dict[str, Any]
    versions: list[VersionView]


class Comparison(msgspec.Struct, frozen=True, rename="camel"):
    """What `after` changes about `before`."""

    before: str
    after: str
    verdict: Verdict
    differences: list[str]
    # Place -> lines that begin with -, + or a space.
    text_changes: dict[str, list[str]]
