"""Decide where each submitted claim starts: the workflow by the assignment rules, its first step
and due time."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import NamedTuple
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.cases.assignment.matching import choose_workflow, match_default, match_rules
from dunwell.cases.assignment.rulebook import Rulebook, compute_today
from dunwell.cases.intake.rows import UNASSIGNED, StartRow
from dunwell.cases.intake.submission import ClaimSubmission
from dunwell.contact.escalation.schedule import compute_first_due
from dunwell.core.claims.conditions import count_years
from dunwell.platform.children.process import TimeSlices


class SubmittedFacts:
    """The facts of a claim for conditions (`core.claims.conditions.ConditionInput`) on the day of
    its creation, in the merchant's time zone."""

    __slots__ = ("_claim", "_today")

    def __init__(self, claim: ClaimSubmission, today: date) -> None:
        self._claim = claim
        self._today = today

    @property
    def outstanding_cents(self) -> int:
        return self.total_cents

    @property
    def total_cents(self) -> int:
        return sum([int(item.value) for item in self._claim.items])

    @property
    def age(self) -> int | None:
        return count_years(self._claim.date_of_birth, self._today)

    @property
    def primary_age_days(self) -> int | None:
        for item in self._claim.items:
            if item.type == "PRIMARY":
                first = item.due_date or item.item_date
                return None if first is None else (self._today - first).days
        return None

    @property
    def item_types(self) -> Collection[str]:
        return [item.type for item in self._claim.items]

    @property
    def language(self) -> str | None:
        return self._claim.language

    @property
    def country(self) -> str | None:
        address = self._claim.address
        return None if address is None else address.country

    @property
    def city(self) -> str | None:
        address = self._claim.address
        return None if address is None else address.city

    @property
    def postal_code(self) -> str | None:
        address = self._claim.address
        return None if address is None else address.postal_code

    @property
    def email(self) -> str | None:
        return self._claim.email

    @property
    def mobile_number(self) -> str | None:
        return self._claim.mobile_number

    @property
    def has_address(self) -> bool:
        return self._claim.has_address

    @property
    def custom_fields(self) -> Mapping[str, str]:
        return self._claim.custom_fields or {}


# Used where no split rule needs the id.
_NO_ID = 0


class SubmittedClaim(NamedTuple):
    """A submitted claim with the number of its request."""

    request: int
    claim: ClaimSubmission
    # None if no id was reserved.
    claim_id: int | None


@dataclass(frozen=True, slots=True)
class ClaimStart:
    """Where a claim starts."""

    row: StartRow
    # True if the claim is unassigned because its workflow takes another currency.
    is_refused_for_currency: bool = False


async def decide_starts(
    work: Work, rulebook: Rulebook, claims: Mapping[int, SubmittedClaim]
) -> dict[int, ClaimStart]:
    """Return the starts by claim number. If the rules contain a split, each claim has its id
    already."""
    decider = _StartDecider(work, rulebook)
    starts, turns = {}, TimeSlices()
    for n, submitted in claims.items():
        starts[n] = decider.decide(submitted)
        await turns.yield_if_due()
    return starts


class _StartDecider:
    """Decides starts and caches what many claims of a batch share: the default by currency, and a
    workflow's start by the claim's due date."""

    def __init__(self, work: Work, rulebook: Rulebook) -> None:
        self._work = work
        self._rulebook = rulebook
        self._today = compute_today(work)
        self._default_start = cache(self._compute_default_start)
        self._workflow_start = cache(self._compute_workflow_start)

    def decide(self, submitted: SubmittedClaim) -> ClaimStart:
        claim = submitted.claim
        if not self._rulebook.prepared:
            return self._default_start(claim.currency, claim.first_primary_due_on)
        facts = SubmittedFacts(claim, self._today)
        arguments = (facts, claim.currency, self._rulebook.targets, submitted.claim_id or _NO_ID)
        chosen = choose_workflow(self._rulebook.prepared, *arguments)
        if chosen is not None:
            return self._workflow_start(chosen, claim.first_primary_due_on)
        start = self._default_start(claim.currency, claim.first_primary_due_on)
        if start.row is not UNASSIGNED or not self._has_other_currencies(claim.currency):
            return start
        match = match_rules(self._rulebook.rules, *arguments)
        return ClaimStart(UNASSIGNED, match.is_refused_for_currency)

    def _compute_default_start(self, currency: str, due_on: date | None) -> ClaimStart:
        """Return the start of a claim that no rule matches."""
        rules, targets = self._rulebook.rules, self._rulebook.targets
        match = match_default(rules, currency, targets)
        if match.workflow_id is not None:
            return self._workflow_start(match.workflow_id, due_on)
        is_refused = self._has_other_currencies(currency) and match.is_refused_for_currency
        return ClaimStart(UNASSIGNED, is_refused)

    def _compute_workflow_start(self, workflow_id: UUID, due_on: date | None) -> ClaimStart:
        version = self._rulebook.versions[workflow_id]
        timezone = self._work.merchant.configuration.timezone
        row = StartRow(
            workflow_id=version.workflow_id,
            workflow_major=version.major,
            next_step_id=version.definition.steps[0].id,
            due_at=compute_first_due(version.definition, timezone, due_on, self._work.now),
        )
        return ClaimStart(row)

    def _has_other_currencies(self, currency: str) -> bool:
        return any(target.currency != currency for target in self._rulebook.targets.values())
