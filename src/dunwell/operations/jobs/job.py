"""Background jobs as values: what a job does, its progress, the outcome of each row, and whether it
does anything to a claim. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeAlias
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.actor import Actor
from dunwell.core.claims.states import ACTIVE, HoldKind, Status

# The maximum number of claims in one selection.
MAX_ROWS = 50_000
# The maximum number of jobs of a merchant that wait or run.
MAX_LIVE = 10
_RETENTION = timedelta(days=30)
_EXPORT_RETENTION = timedelta(days=7)


class JobKind(StrEnum):
    PAUSE = "PAUSE"
    RESUME = "RESUME"
    ASSIGN = "ASSIGN"
    ARCHIVE = "ARCHIVE"
    EXPORT = "EXPORT"
    PREVIEW = "PREVIEW"


# The kinds that process a selection of claims row by row.
ROW_BY_ROW_KINDS = (JobKind.PAUSE, JobKind.RESUME, JobKind.ASSIGN, JobKind.ARCHIVE)


class JobState(StrEnum):
    # No worker has leased it yet.
    WAITING = "WAITING"
    RUNNING = "RUNNING"
    DONE = "DONE"
    CANCELLED = "CANCELLED"
    # The job itself failed. A job with failed rows is DONE.
    FAILED = "FAILED"


LIVE = frozenset({JobState.WAITING, JobState.RUNNING})


class RowOutcome(StrEnum):
    # The row is not processed yet, or never was because the job was cancelled.
    WAITING = "WAITING"
    DONE = "DONE"
    SKIPPED = "SKIPPED"
    FAILED = "FAILED"


class RowReason(StrEnum):
    """Why a row was skipped or failed."""

    # The merchant has no such claim.
    ABSENT = "ABSENT"
    # The claim was collected, archived or withdrawn.
    ENDED = "ENDED"
    DISPUTED = "DISPUTED"
    # The claim already is as requested.
    UNCHANGED = "UNCHANGED"
    # The workflow is for claims in another currency.
    OTHER_CURRENCY = "OTHER_CURRENCY"
    # The use case refused it with a message.
    REFUSED = "REFUSED"
    # The user who started the job no longer has the right.
    RIGHT_LOST = "RIGHT_LOST"
    # An internal error.
    ERROR = "ERROR"


class Pause(msgspec.Struct, frozen=True, tag="PAUSE"):
    """Pauses the claims."""

    until: datetime | None = None
    reason: str | None = None


class Resume(msgspec.Struct, frozen=True, tag="RESUME"):
    """Removes the pauses of the claims."""


class Assign(msgspec.Struct, frozen=True, tag="ASSIGN"):
    """Assigns the claims to a workflow."""

    workflow_id: UUID


class ArchiveAction(msgspec.Struct, frozen=True, tag="ARCHIVE"):
    """Archives the claims: their workflows end although the claims are not collected."""


class ExportedList(StrEnum):
    CLAIMS = "claims"
    DISPUTES = "disputes"
    MODALITIES = "payment-modalities"
    PAYMENTS = "payments"
    REQUESTS = "payment-requests"
    MANDATES = "mandates"
    COLLECTIONS = "collections"
    COMMUNICATIONS = "communications"
    SUPPRESSIONS = "suppressions"
    AUDIT = "audit-log"


class Export(msgspec.Struct, frozen=True, tag="EXPORT"):
    """Writes a list as a CSV file. `wanted` maps the names of the list's filters to their
    values."""

    list: ExportedList
    wanted: Mapping[str, Any] = msgspec.field(default_factory=dict)


class PreviewDraft(msgspec.Struct, frozen=True, tag="PREVIEW"):
    """Computes which claims a draft of a workflow would move, and its effect on the coming days."""

    workflow_id: UUID
    draft_id: UUID


# What a job does to each claim of a selection. `JobTask` is everything that a job can do.
Action: TypeAlias = Pause | Resume | Assign | ArchiveAction
JobTask: TypeAlias = Pause | Resume | Assign | ArchiveAction | Export | PreviewDraft

KINDS: Mapping[type[JobTask], JobKind] = {
    Pause: JobKind.PAUSE,
    Resume: JobKind.RESUME,
    Assign: JobKind.ASSIGN,
    ArchiveAction: JobKind.ARCHIVE,
    Export: JobKind.EXPORT,
    PreviewDraft: JobKind.PREVIEW,
}


@dataclass(frozen=True, slots=True)
class Progress:
    """Rows by outcome. An export counts the rows it has written in `done`, a preview the claims it
    has examined; the other numbers are 0."""

    total: int
    done: int = 0
    skipped: int = 0
    failed: int = 0

    @property
    def waiting(self) -> int:
        return max(0, self.total - self.done - self.skipped - self.failed)


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    """A stored job. All instants are in real time."""

    job_id: UUID
    task: JobTask
    state: JobState
    # The user who started it, with the rights at that time.
    starter: Actor
    progress: Progress
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    failure: str | None
    # When the job is deleted, with its file.
    kept_until: datetime | None
    retry_of: UUID | None

    @property
    def kind(self) -> JobKind:
        return KINDS[type(self.task)]

    @property
    def is_live(self) -> bool:
        return self.state in LIVE


@dataclass(frozen=True, slots=True)
class JobRow:
    position: int
    claim_id: int
    outcome: RowOutcome
    reason: RowReason | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class NotDone:
    """Why a row was not done."""

    outcome: RowOutcome
    reason: RowReason
    message: str | None = None


# The outcome of each row, by claim id: why it was not done, or None if it was.
Outcomes: TypeAlias = Mapping[int, NotDone | None]


def count_progress(total: int, outcomes: Sequence[NotDone | None]) -> Progress:
    by_outcome = [None if each is None else each.outcome for each in outcomes]
    return Progress(
        total, by_outcome.count(None), by_outcome.count(RowOutcome.SKIPPED),
        by_outcome.count(RowOutcome.FAILED),
    )  # fmt: skip


def compute_retention(task: JobTask) -> timedelta:
    """Return how long an ended job is kept. The file of an export is kept as long."""
    return _EXPORT_RETENTION if isinstance(task, Export) else _RETENTION


def encode_task(task: JobTask) -> dict[str, Any]:
    encoded: dict[str, Any] = msgspec.to_builtins(task)
    return encoded


def decode_task(stored: Mapping[str, Any]) -> JobTask:
    task: JobTask = msgspec.convert(stored, JobTask)
    return task


@dataclass(frozen=True, slots=True)
class JobClaim:
    claim_id: int
    status: Status
    currency: str
    workflow_id: UUID | None
    # The kinds of the active holds.
    holds: Sequence[HoldKind]
    # The end and the reason of each active pause by the merchant.
    pauses: Sequence[tuple[datetime | None, str | None]]


@dataclass(frozen=True, slots=True)
class JobTarget:
    """The workflow of an assignment, and its currency."""

    workflow_id: UUID
    currency: str


def decide_row(action: Action, facts: JobClaim | None, target: JobTarget | None) -> NotDone | None:
    """Return None if the row has to be done, otherwise why not. `target` is set only for an
    assignment."""
    reason = (
        RowReason.ABSENT
        if facts is None
        else _DECIDE_BY_ACTION[type(action)](action, facts, target)
    )
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


_DECIDE_BY_ACTION: dict[type[Action], Any] = {
    Pause: _decide_pause,
    Resume: _decide_resume,
    ArchiveAction: _decide_archive,
    Assign: _decide_assign,
}
