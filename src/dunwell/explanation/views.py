"""An explanation as a value, the same for the API and the command line. Pure."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.claims.states import Status
from dunwell.merchants.configuration import Channel


@dataclass(frozen=True, slots=True)
class AssignmentView:
    workflow_id: UUID
    # Before the merchant's switch.
    scenario_id: int | None
    name: str
    # What the next step would use.
    version: str
    # The rules that chose it; none: it was assigned directly.
    rules_version: int | None


@dataclass(frozen=True, slots=True)
class RuleView:
    name: str
    outcome: str
    unmet: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class RulesView:
    """What the rules say of the claim as it stands now. No version: none were ever published."""

    version: int | None
    rules: tuple[RuleView, ...]
    # None: there is no default.
    default: str | None
    # The workflow they would choose; none: the claim would stay unassigned.
    chosen: str | None


@dataclass(frozen=True, slots=True)
class PastStepView:
    step_id: int
    name: str
    outcome: str
    at: datetime
    version: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class NextStepView:
    # None: the archiving after the last step.
    step_id: int | None
    name: str
    kind: str
    # None: nobody can say, until a hold falls or a person decides.
    at: datetime | None
    reason: str
    # Whether it would run, as things stand: RUN or SKIPPED.
    outcome: str
    unmet: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HoldView:
    kind: str
    since: datetime
    until: datetime | None
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class HeldContactView:
    """The contact the claim stands still for."""

    reference: UUID
    channel: Channel
    state: str
    held_by: str | None
    # None: it depends on a person, or on the channel's answer.
    until: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class NextContactView:
    at: datetime
    channel: Channel
    step_id: int
    name: str


@dataclass(frozen=True, slots=True)
class Explanation:
    claim_id: int
    status: Status
    assignment: AssignmentView | None
    rules: RulesView
    # Of the present run, in order.
    history: tuple[PastStepView, ...]
    # None: see `reason`.
    next_step: NextStepView | None
    # Why no step comes next; empty where one does.
    reason: str
    holds: tuple[HoldView, ...]
    contact: HeldContactView | None
    # At most five, if nothing is paid and every channel accepts.
    next_contacts: tuple[NextContactView, ...]
