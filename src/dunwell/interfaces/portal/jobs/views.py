"""What the pages about jobs show."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from dunwell.interfaces.web.templates import Page
from dunwell.operations.jobs.job import Job, JobRow, Reason
from dunwell.operations.jobs.read_jobs import JobView
from dunwell.operations.jobs.start_job import DryRun


class BulkPage(Page, frozen=True):
    """What would become of a selection, before anything is done."""

    template: ClassVar[str] = "bulk.html"
    area: ClassVar[str] = "claims"

    action: str
    # The ticked claims; none: all that the filters leave.
    claim_ids: Sequence[int]
    filters: Mapping[str, str]
    values: Mapping[str, str]
    workflows: Sequence[tuple[str, str]]
    count: int
    # None: it cannot be tried as it is.
    dry_run: DryRun | None
    skipped: Sequence[tuple[Reason, int]]
    # Codes of what is wrong: NONE, TOO_MANY, TOO_WIDE, DAY, PAST, LINE, WORKFLOW, COUNT, MOVED.
    faults: Sequence[str]


class JobsPage(Page, frozen=True):
    template: ClassVar[str] = "jobs.html"
    area: ClassVar[str] = "jobs"

    jobs: Sequence[Job]
    names: Mapping[str, str]
    after: str
    next_cursor: str | None


class JobPage(Page, frozen=True):
    template: ClassVar[str] = "job.html"
    area: ClassVar[str] = "jobs"

    view: JobView
    starter: str
    # Those that were skipped or failed, the first of them.
    rows: Sequence[JobRow]
    reasons: Sequence[tuple[str, str, int]]
    may_cancel: bool
