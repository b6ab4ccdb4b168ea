"""A claim with the facts that decide its next steps: its position in the workflow and the channels
by which its debtor can be reached. Pure."""

from collections.abc import Collection, Mapping
from datetime import date, datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.prepared_workflow import PreparedWorkflow
from dunwell.contact.escalation.schedule import StepFacts, TriedChannels, WorkflowPosition
from dunwell.core.claims.conditions import ConditionFacts
from dunwell.core.claims.states import Status


def list_usable_channels(
    configured: Collection[Channel],
    *,
    email: str | None,
    mobile_number: str | None,
    address: Mapping[str, Any] | None,
) -> frozenset[Channel]:
    """Return the configured channels for which the debtor has an address."""
    return frozenset(
        channel
        for channel in configured
        if (channel == "EMAIL" and email)
        or (channel == "SMS" and mobile_number)
        or (channel == "LETTER" and has_postal_address(address))
    )


def has_postal_address(address: Mapping[str, Any] | None) -> bool:
    return bool(address and address.get("street") and address.get("city"))


class DueClaim(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The facts of one claim for the engine. The engine locks the claim first."""

    claim_id: int
    reference_number: str
    currency: str
    status: Status
    # The id of the workflow and its major version.
    workflow_key: tuple[UUID, int]
    # Counts the claim's assignments; each of them starts a new run.
    run: int
    position: WorkflowPosition
    event_sequence: int
    next_item_position: int
    outstanding_cents: int
    total_cents: int
    # The date of the first PRIMARY item.
    first_primary_on: date | None
    item_types: frozenset[str]
    custom_fields: Mapping[str, Any]
    has_reached: bool
    # The channels that the current step has tried in this run.
    tried: TriedChannels
    # When this run's last letter that has not failed was handed over.
    letter_sent_at: datetime | None = None
    # Facts of the debtor.
    customer_number: str | None
    date_of_birth: date | None
    language: str | None
    email: str | None
    mobile_number: str | None
    address: Mapping[str, Any]
    # The channels by which the debtor can be contacted now.
    usable_channels: frozenset[Channel]

    def step_facts(self, today: date) -> StepFacts:
        """Return the facts that steps depend on, for a date in the workflow's time zone."""
        address = self.address
        return StepFacts(
            condition=ConditionFacts(
                outstanding_cents=self.outstanding_cents,
                total_cents=self.total_cents,
                today=today,
                first_primary_on=self.first_primary_on,
                item_types=self.item_types,
                date_of_birth=self.date_of_birth,
                language=self.language,
                country=address.get("country"),
                city=address.get("city"),
                postal_code=address.get("postal_code"),
                email=self.email,
                mobile_number=self.mobile_number,
                has_address=has_postal_address(address),
                custom_fields=self.custom_fields,
            ),
            has_reached=self.has_reached,
            usable_channels=self.usable_channels,
            tried=self.tried,
            letter_sent_at=self.letter_sent_at,
        )


def compute_position(workflow: PreparedWorkflow, claim: DueClaim) -> WorkflowPosition:
    """Return the claim's position. A claim that has not started begins with the workflow's current
    first step, because its scenario may have been edited after the claim was created."""
    if claim.status is Status.CREATED:
        return WorkflowPosition(workflow.id_at(0), claim.position.due_at)
    return claim.position
