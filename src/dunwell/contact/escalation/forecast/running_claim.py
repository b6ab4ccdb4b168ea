"""A running claim with the facts for its forecast: its position, its holds and the contact it waits
for."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.due_claim import DueClaim, compute_position
from dunwell.contact.escalation.forecast.forecast import (
    ForecastStep,
    Guard,
    PendingContact,
    forecast,
)
from dunwell.contact.escalation.prepared_workflow import PreparedWorkflow
from dunwell.contact.escalation.schedule import ContactPlanned, WorkflowPosition
from dunwell.contact.messages.identities import DebtorPerson
from dunwell.core.workflows.definition import ContactStep

# Nothing is forecast beyond this time.
FORECAST_HORIZON = timedelta(days=3_650)


@dataclass(frozen=True, slots=True)
class AwaitedContact:
    """The contact that the claim waits for."""

    step_id: int
    place: int
    channel: Channel
    state: str
    not_before: datetime


@dataclass(frozen=True, slots=True)
class RunningClaim:
    """A running claim. If it has neither a due time nor an open contact, nothing is forecast."""

    facts: DueClaim
    # Equal for all claims of a person; empty if only one claim is forecast.
    person: str
    is_held: bool
    # The latest end of the claim's holds; None without a hold, or if a hold has no end.
    held_until: datetime | None
    open_contact: AwaitedContact | None

    @property
    def is_held_without_end(self) -> bool:
        return self.is_held and self.held_until is None

    @property
    def has_unknown_outcome(self) -> bool:
        return self.open_contact is not None and self.open_contact.state == "UNKNOWN"


def build_debtor_person(claim: DueClaim) -> DebtorPerson:
    """Return the identifying data of the claim's debtor."""
    return DebtorPerson(claim.claim_id, claim.email, claim.mobile_number, claim.customer_number)


def compute_forecast_start(
    workflow: PreparedWorkflow, claim: RunningClaim, now: datetime
) -> WorkflowPosition | PendingContact:
    """Return the position at which the forecast starts. A hold with an end delays it until then."""
    since = claim.held_until or now
    position, open_contact = compute_position(workflow, claim.facts), claim.open_contact
    if position.due_at is not None:
        return WorkflowPosition(position.next_step_id, max(position.due_at, since))
    step = next((s for s in workflow.steps if open_contact and s.id == open_contact.step_id), None)
    if open_contact is None or not isinstance(step, ContactStep):
        return position
    if open_contact.state == "HANDED_OVER":
        return WorkflowPosition(_find_step_after(workflow, position, step), since)
    if open_contact.state == "ATTACHMENT_MISSING":
        # The contact fails when its waiting time is over.
        return WorkflowPosition(
            _find_step_after(workflow, position, step), max(open_contact.not_before, since)
        )
    planned = ContactPlanned(step, open_contact.place, open_contact.channel)
    return PendingContact(planned, max(open_contact.not_before, since), position.next_step_id)


def forecast_claim(
    workflow: PreparedWorkflow, claim: RunningClaim, now: datetime, guard: Guard
) -> Iterator[ForecastStep]:
    """Forecast the claim's steps from now on if nothing is paid. The forecast is empty if the claim
    is on hold without an end or if an operator has to resolve its last contact first. The claim
    must be active."""
    if claim.is_held_without_end or claim.has_unknown_outcome:
        return iter(())
    facts = claim.facts.step_facts(workflow.calendar.local_date(now))
    start = compute_forecast_start(workflow, claim, now)
    return forecast(workflow, start, facts, now, until=now + FORECAST_HORIZON, guard=guard)


def _find_step_after(
    workflow: PreparedWorkflow, position: WorkflowPosition, step: ContactStep
) -> int | None:
    """Return the step after the contact's step. A handed-over message is assumed to be accepted, a
    missing attachment to stay missing."""
    if position.next_step_id != step.id:
        return position.next_step_id
    return workflow.id_at(workflow.index_of(step.id) + 1)
