"""Background jobs: their list, one with its progress and results, and files to download."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from starlette.responses import Response, StreamingResponse

from dunwell.accounts.merchants.account import Work
from dunwell.core.files.upload import render_disposition
from dunwell.interfaces.portal.render.labels import JOB_ROW_OUTCOMES, JOB_ROW_REASONS
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest, parse_path_id
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import PAGE_SIZE, load_page
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import add_etag
from dunwell.interfaces.web.templates import Page
from dunwell.operations.claim_status.store import load_user_names
from dunwell.operations.jobs.exported_lists import BYTE_ORDER_MARK, render_rows
from dunwell.operations.jobs.job import BackgroundJob, JobRow, RowOutcome, RowReason
from dunwell.operations.jobs.jobs import (
    DryRun,
    JobView,
    TooManyJobs,
    cancel_job,
    get_job,
    list_job_rows,
    list_jobs,
    may_cancel,
    open_export,
    retry_failed,
)
from dunwell.platform.errors import InvalidState
from dunwell.platform.text.translation import LazyText


class BulkPage(Page, frozen=True):
    """The preview of a bulk action."""

    template: ClassVar[str] = "bulk.html"
    area: ClassVar[str] = "claims"

    action: str
    # True for all claims that match the filters; otherwise for the claims in `claim_ids`.
    is_all: bool
    claim_ids: Sequence[int]
    filters: Mapping[str, str]
    values: Mapping[str, str]
    workflows: Sequence[tuple[str, str]]
    count: int
    # None if the faults prevent a dry run.
    dry_run: DryRun | None
    skipped: Sequence[tuple[RowReason, int]]
    # The codes of faults: NONE, TOO_MANY, TOO_WIDE, DAY, PAST, LINE, WORKFLOW, COUNT, MOVED.
    faults: Sequence[str]


class JobsPage(Page, frozen=True):
    template: ClassVar[str] = "jobs.html"
    area: ClassVar[str] = "jobs"

    jobs: Sequence[BackgroundJob]
    names: Mapping[str, str]
    after: str
    next_cursor: str | None


class JobPage(Page, frozen=True):
    template: ClassVar[str] = "job.html"
    area: ClassVar[str] = "jobs"

    view: JobView
    starter: str
    # The first rows that were skipped or failed.
    rows: Sequence[JobRow]
    reasons: Sequence[tuple[str, str, int]]
    may_cancel: bool


_MAX_SHOWN, _BATCH_SIZE = 100, 5_000
_ROW_HEADINGS = (
    LazyText("No."), LazyText("Claim"), LazyText("Outcome"), LazyText("Reason"),
    LazyText("Comment"),
)  # fmt: skip
_CSV_HEADERS = {
    "Content-Type": "text/csv; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}


@at_merchant
async def get_jobs_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    after = request.get_parameter("after")
    async with site.open_work(access) as work:
        found = await load_page(
            lambda cursor: list_jobs(work, limit=PAGE_SIZE, cursor=cursor), after
        )
        ids = {each.starter.actor_id for each in found.items if each.starter.actor_id}
        names = await load_user_names(work.tx, ids)
    return site.render_merchant_page(
        request, access, JobsPage(found.items, names, after, found.next_cursor)
    )


@at_merchant
async def get_job_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Return the job, with an ETag so that polling is cheap."""
    job_id = parse_path_id(request, "job_id")
    async with site.open_work(access) as work:
        view = await get_job(work, job_id)
        rows = await _list_skipped_and_failed(work, request)
        names = await load_user_names(work.tx, {view.job.starter.actor_id or ""})
    reasons = [(str(kind), str(reason), count) for (kind, reason), count in view.reasons.items()]
    starter = names.get(view.job.starter.actor_id or "", view.job.starter.actor_id or "")
    response = site.render_merchant_page(
        request,
        access,
        JobPage(
            view, starter, rows=rows, reasons=reasons, may_cancel=may_cancel(access.actor, view.job)
        ),
    )
    return add_etag(response, request.headers)


@takes_form_at_merchant
async def change_job(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Cancel the job, or start another one for the rows that failed."""
    job_id = parse_path_id(request, "job_id")
    try:
        async with site.open_work(access) as work:
            if fields["do"] == "retry":
                job_id = (await retry_failed(work, job_id)).job_id
            elif fields["do"] == "cancel":
                await cancel_job(work, job_id)
    except TooManyJobs:
        raise
    except InvalidState:
        return site.redirect(request, access, "job", job_id=job_id, done="job_over")
    return site.redirect(request, access, "job", job_id=job_id)


@at_merchant
async def send_rows(site: PortalSite, request: PortalRequest, access: MerchantAccess) -> Response:
    """Return the result of each row as CSV, in the user's language."""
    job_id = parse_path_id(request, "job_id")
    language = site.pages.languages[site.build_context(request, access).language]
    outcomes = {name: language.translate(label.text) for name, label in JOB_ROW_OUTCOMES.items()}
    reasons = {name: language.translate(label.text) for name, label in JOB_ROW_REASONS.items()}
    headings = [language.translate(each.text) for each in _ROW_HEADINGS]
    body, after = [BYTE_ORDER_MARK, render_rows([headings])], 0
    async with site.open_work(access) as work:
        while rows := await list_job_rows(work, job_id, after=after, limit=_BATCH_SIZE):
            body.append(
                render_rows(
                    (
                        row.position,
                        row.claim_id,
                        outcomes.get(row.outcome, row.outcome),
                        reasons.get(row.reason or "", row.reason),
                        row.message,
                    )
                    for row in rows
                )
            )
            after = rows[-1].position
    disposition = {"Content-Disposition": render_disposition(f"job-{job_id}.csv")}
    return Response(b"".join(body), 200, {**_CSV_HEADERS, **disposition})


@at_merchant
async def send_file(site: PortalSite, request: PortalRequest, access: MerchantAccess) -> Response:
    """Stream the file, so that the download starts immediately."""
    job_id = parse_path_id(request, "job_id")
    async with site.open_work(access) as work:
        parts = await open_export(work, site.storage, job_id)
    disposition = {"Content-Disposition": render_disposition(f"export-{job_id}.csv")}
    return StreamingResponse(parts, 200, {**_CSV_HEADERS, **disposition})


async def _list_skipped_and_failed(work: Work, request: PortalRequest) -> Sequence[JobRow]:
    job_id = parse_path_id(request, "job_id")
    rows: list[JobRow] = []
    for outcome in (RowOutcome.FAILED, RowOutcome.SKIPPED):
        rows += await list_job_rows(work, job_id, outcome=outcome, limit=_MAX_SHOWN)
    return rows[:_MAX_SHOWN]


PAGES: RoutedPages = {
    "jobs": {"GET": get_jobs_page},
    "job": {"GET": get_job_page, "POST": change_job},
    "job_rows": {"GET": send_rows},
    "job_file": {"GET": send_file},
}
