"""Whether a job does anything to a claim, and why not: asked for the dry run over a selection, and
again for each row under its lock. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from dunwell.core.claims.holds import HoldKind
from dunwell.core.claims.states import ACTIVE, Status
from dunwell.operations.jobs.job import (
    Action,
    Archive,
    Assign,
    NotDone,
    Pause,
    Reason,
    Resume,
    RowOutcome,
)


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    claim_id: int
    status: Status
    currency: str
    workflow_id: UUID | None
    # Kinds of the holds that stand.
    holds: Sequence[HoldKind]
    # The merchant's own pauses that stand: until when, and why.
    pauses: Sequence[tuple[datetime | None, str | None]]


@dataclass(frozen=True, slots=True)
class Target:
    """The workflow that claims are assigned to; the currency it takes."""

    workflow_id: UUID
    currency: str


def decide_row(action: Action, facts: ClaimFacts | None, target: Target | None) -> NotDone | None:
    """None: it is done. target: of an assignment."""
    reason = Reason.ABSENT if facts is None else _DECIDE[type(action)](action, facts, target)
    return None if reason is None else NotDone(RowOutcome.SKIPPED, reason)


def _decide_pause(action: Pause, facts: ClaimFacts, _target: Target | None) -> Reason | None:
    if facts.status not in ACTIVE:
        return Reason.ENDED
    if HoldKind.DISPUTE in facts.holds:
        return Reason.DISPUTED
    return Reason.UNCHANGED if (action.until, action.reason) in facts.pauses else None


def _decide_resume(_action: Resume, facts: ClaimFacts, _target: Target | None) -> Reason | None:
    return None if HoldKind.PAUSE in facts.holds else Reason.UNCHANGED


def _decide_archive(_action: Archive, facts: ClaimFacts, _target: Target | None) -> Reason | None:
    if facts.status is Status.ARCHIVED:
        return Reason.UNCHANGED
    if facts.status not in ACTIVE:
        return Reason.ENDED
    return Reason.DISPUTED if HoldKind.DISPUTE in facts.holds else None


def _decide_assign(action: Assign, facts: ClaimFacts, target: Target | None) -> Reason | None:
    assert target is not None
    if facts.status not in ACTIVE:
        return Reason.ENDED
    if facts.workflow_id == action.workflow_id:
        return Reason.UNCHANGED
    return None if facts.currency == target.currency else Reason.OTHER_CURRENCY


_DECIDE: dict[type[Action], Any] = {
    Pause: _decide_pause,
    Resume: _decide_resume,
    Archive: _decide_archive,
    Assign: _decide_assign,
}
