"""Workflows and assignments on the wire (spec, Workflow metadata; Assignment result)."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from dunwell.api.schemas.wire import Given, Instant, Uuid, Wire

MAX_ASSIGNED = 1000


class WorkflowMetadata(Wire, frozen=True):
    """A workflow with a published version."""

    id: Uuid
    name: str
    version: Annotated[Uuid, Meta(description="The current version.")]
    assignment_enabled: Annotated[
        bool, Meta(description="False: deactivated; assignment rules skip it.")
    ]
    created_at: Instant


class AssignmentResult(Wire, frozen=True, omit_defaults=True):
    """A claim and what it is assigned to; `workflowId` is absent when it stays unassigned."""

    claim_id: int
    workflow_id: Uuid | UnsetType = UNSET


ClaimId = Annotated[int, Meta(ge=1, le=2**63 - 1)]


class AssignmentRequest(Given, frozen=True):
    """The claims to assign; repeats count once."""

    claim_ids: Annotated[list[ClaimId], Meta(min_length=1, max_length=MAX_ASSIGNED)]


class AssignedClaim(Given, frozen=True):
    claim_id: ClaimId


AssignedClaims = Annotated[
    list[ClaimId | AssignedClaim], Meta(min_length=1, max_length=MAX_ASSIGNED)
]
# A bare array is taken too, of ids or of objects that hold one (CONTRACT 5).
AnyAssignmentRequest: Any = AssignmentRequest | AssignedClaims
