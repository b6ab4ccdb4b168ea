"""What is stored of a claim's process, as explanations read it. Pure."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.configuration import Channel
from dunwell.operations.explanation.views import ContactState, HeldBy, StepOutcome


@dataclass(frozen=True, slots=True)
class Standing:
    claim_id: int
    status: str
    held: bool
    run: int
    next_step_id: int | None
    due_at: datetime | None
    # The published rules that chose the process; none: it was assigned directly, or not at all.
    rules_version: int | None
    workflow_id: UUID | None
    workflow_major: int | None
    workflow_name: str | None
    scenario_id: int | None


@dataclass(frozen=True, slots=True)
class PastStep:
    # 0: the archiving after the last step.
    step_id: int
    outcome: StepOutcome
    reason: str | None
    at: datetime
    version: str | None


@dataclass(frozen=True, slots=True)
class OpenContact:
    communication_id: UUID
    step_id: int
    place: int
    channel: Channel
    state: ContactState
    not_before: datetime
    held_by: HeldBy | None
