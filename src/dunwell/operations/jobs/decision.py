"""Whether a job does anything to a claim, and why not: asked for the dry run over a selection, and
again for each row under its lock. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from dunwell.core.claims.states import ACTIVE, HoldKind, Status
from dunwell.operations.jobs.job import (
    Action,
    ArchiveAction,
    Assign,
    NotDone,
    Pause,
    Resume,
    RowOutcome,
    RowReason,
)


@dataclass(frozen=True, slots=True)
class JobClaim:
    claim_id: int
    status: Status
    currency: str
    workflow_id: UUID | None
    # Kinds of the holds that stand.
    holds: Sequence[HoldKind]
    # The merchant's own pauses that stand: until when, and why.
    pauses: Sequence[tuple[datetime | None, str | None]]


@dataclass(frozen=True, slots=True)
class JobTarget:
    """The workflow that claims are assigned to; the currency it takes."""

    workflow_id: UUID
    currency: str


def decide_row(action: Action, facts: JobClaim | None, target: JobTarget | None) -> NotDone | None:
    """None: it is done. target: of an assignment."""
    reason = RowReason.ABSENT if facts is None else _DECIDE[type(action)](action, facts, target)
    return None if reason is None else NotDone(RowOutcome.SKIPPED, reason)


def _decide_pause(action: Pause, facts: JobClaim, _target: JobTarget | None) -> RowReason | None:
    if facts.status not in ACTIVE:
        return RowReason.ENDED
    if HoldKind.DISPUTE in facts.holds:
        return RowReason.DISPUTED
    return RowReason.UNCHANGED if (action.until, action.reason) in facts.pauses else None


def _decide_resume(_action: Resume, facts: JobClaim, _target: JobTarget | None) -> RowReason | None:
    return None if HoldKind.PAUSE in facts.holds else RowReason.UNCHANGED


def _decide_archive(
    _action: ArchiveAction, facts: JobClaim, _target: JobTarget | None
) -> RowReason | None:
    if facts.status is Status.ARCHIVED:
        return RowReason.UNCHANGED
    if facts.status not in ACTIVE:
        return RowReason.ENDED
    return RowReason.DISPUTED if HoldKind.DISPUTE in facts.holds else None


def _decide_assign(action: Assign, facts: JobClaim, target: JobTarget | None) -> RowReason | None:
    assert target is not None
    if facts.status not in ACTIVE:
        return RowReason.ENDED
    if facts.workflow_id == action.workflow_id:
        return RowReason.UNCHANGED
    return None if facts.currency == target.currency else RowReason.OTHER_CURRENCY


_DECIDE: dict[type[Action], Any] = {
    Pause: _decide_pause,
    Resume: _decide_resume,
    ArchiveAction: _decide_archive,
    Assign: _decide_assign,
}
