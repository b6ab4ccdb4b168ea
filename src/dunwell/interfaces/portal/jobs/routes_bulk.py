"""Bulk actions on selected claims, or on all that match: a dry run, then a confirmation by entering
their number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from uuid import UUID
from zoneinfo import ZoneInfo

from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.workflow_views import list_workflow_names
from dunwell.core.claims.lists.list_claims import list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.interfaces.portal.jobs.routes import BulkPage
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.claim_filters import get_filters, parse_claim_filters
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import build_job_filter, parse_day
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.operations.jobs.job import (
    MAX_ROWS,
    Action,
    ArchiveAction,
    Assign,
    Export,
    ExportedList,
    Pause,
    Resume,
)
from dunwell.operations.jobs.jobs import DryRun, preview_job, start_export, start_job
from dunwell.platform.errors import NotFound, ValidationError
from dunwell.platform.text.texts import is_line

ACTIONS = ("pause", "resume", "assign", "archive")
FIELD_NAMES = ("until", "reason", "workflow_id")
_PAGE_SIZE, _MAX_PAGES = 1_000, 60


@dataclass(frozen=True, slots=True)
class BulkRequest:
    """The requested action. `action` is None if there are `faults`."""

    name: str
    action: Action | None
    values: Mapping[str, str]
    faults: Sequence[str]


def parse_bulk_action(fields: FormFields, now: datetime, timezone: str) -> BulkRequest:
    name = fields["action"] if fields["action"] in ACTIONS else "pause"
    values, faults = {each: fields.text(each) for each in FIELD_NAMES}, list[str]()
    if name == "pause":
        until = _parse_until(values["until"], timezone, faults)
        if until is not None and until <= now:
            faults.append("PAST")
        if not is_line(values["reason"]):
            faults.append("LINE")
        action: Action | None = Pause(until, values["reason"] or None)
    elif name == "assign":
        workflow_id = _parse_id(values["workflow_id"])
        if workflow_id is None:
            faults.append("WORKFLOW")
        action = Assign(workflow_id) if workflow_id else None
    else:
        action = Resume() if name == "resume" else ArchiveAction()
    return BulkRequest(name, None if faults else action, values, faults)


def parse_selected_claims(fields: FormFields) -> list[int]:
    given = [each for each in fields.all("claim") if each.isascii() and each.isdigit()]
    return list(dict.fromkeys(int(each) for each in given if len(each) <= 18))


async def select_all(work: Work, wanted: ClaimFilter) -> list[int] | None:
    """Return the ids of the claims that the filters select. Stop soon after the number that a job
    accepts. Return None if the filters select few claims among too many to search."""
    work.require(Right.CHANGE_CLAIMS)
    claim_ids: list[int] = []
    cursor = None
    for _ in range(_MAX_PAGES):
        found = await list_claims(work, limit=_PAGE_SIZE, cursor=cursor, wanted=wanted)
        claim_ids += [each.claim_id for each in found.items]
        cursor = found.next_cursor
        if cursor is None or len(claim_ids) > MAX_ROWS:
            return claim_ids
    return None


def _parse_until(text: str, timezone: str, faults: list[str]) -> datetime | None:
    if not text:
        return None
    day = parse_day(text)
    if day is None:
        faults.append("DAY")
        return None
    return datetime.combine(day, time(), ZoneInfo(timezone)).astimezone(UTC)


def _parse_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


@takes_form_at_merchant
async def submit_bulk(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Preview the action, or start it as a job if the correct number of claims was entered. If
    the number of matching claims has changed in the meantime, the preview is shown again."""
    if not access.may(Right.CHANGE_CLAIMS):
        raise NotFound("There is no such form.")
    context, filters = site.build_context(request, access), get_filters(fields.text)
    wanted, filter_faults = parse_claim_filters(filters, access.merchant, context.language)
    is_all = fields["which"] == "all"
    selected_ids = [] if is_all else parse_selected_claims(fields)
    async with site.open_work(access) as work:
        bulk_request = parse_bulk_action(fields, work.now, context.timezone)
        if not is_all:
            found = selected_ids
        elif filters.q or filter_faults:
            # The other filters alone would select more claims than the user sees.
            found = None
        else:
            found = await select_all(work, wanted)
        selected = found or []
        count_faults = ["TOO_WIDE"] if found is None else _list_count_faults(fields, len(selected))
        faults = [*bulk_request.faults, *count_faults]
        if fields["do"] == "start" and not faults and bulk_request.action is not None:
            job = await start_job(work, bulk_request.action, selected)
            return site.redirect(request, access, "job", job_id=job.job_id, done="job")
        dry_run = await _preview(work, bulk_request, selected)
        workflows = [(str(each), name) for each, name in await list_workflow_names(work)]
    is_shown = fields["do"] in ("start", "try")
    page = BulkPage(
        action=bulk_request.name,
        is_all=is_all,
        claim_ids=selected_ids,
        filters=filters.query,
        values=bulk_request.values,
        workflows=workflows,
        count=len(selected),
        dry_run=dry_run,
        skipped=[*dry_run.skipped.items()] if dry_run else (),
        faults=faults if is_shown else [each for each in faults if each in ("NONE", "TOO_WIDE")],
    )
    return site.render_page(context, page, 422 if page.faults else 200)


@takes_form_at_merchant
async def submit_export(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Start a job that exports the list as CSV."""
    context, filters = site.build_context(request, access), get_filters(fields.text)
    wanted, _ = parse_claim_filters(filters, access.merchant, context.language)
    async with site.open_work(access) as work:
        job = await start_export(work, Export(ExportedList.CLAIMS, build_job_filter(wanted)))
    return site.redirect(request, access, "job", job_id=job.job_id)


@at_merchant
async def redirect_to_claims(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return site.redirect(request, access, "claims")


def _list_count_faults(fields: FormFields, count: int) -> list[str]:
    if not count:
        return ["NONE"]
    if count > MAX_ROWS:
        return ["TOO_MANY"]
    if fields["do"] != "start":
        return []
    if fields["known_count"] != str(count):
        return ["MOVED"]
    typed = fields.text("count").replace(",", "").replace(".", "").replace(" ", "")
    return [] if typed == str(count) else ["COUNT"]


async def _preview(work: Work, bulk_request: BulkRequest, selected: list[int]) -> DryRun | None:
    if bulk_request.action is None or not 0 < len(selected) <= MAX_ROWS:
        return None
    try:
        return await preview_job(work, bulk_request.action, selected)
    except (ValidationError, NotFound):
        return None


PAGES: RoutedPages = {
    "bulk": {"GET": redirect_to_claims, "POST": submit_bulk},
    "export": {"GET": redirect_to_claims, "POST": submit_export},
}
