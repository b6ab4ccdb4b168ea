"""A workflow's versions: listed, looked at, compared, put back as a draft, written as a file."""

from collections.abc import Mapping
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.look_at_workflows import MOST_COUNTED, LookedAtWorkflow, look_at_workflow
from dunwell.cases.rollout.read_workflows import (
    LookedAtVersion,
    compare_two,
    list_versions,
    look_at_version,
)
from dunwell.core.workflows.drafts.save_draft import replace_draft
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import read_id, read_known_id
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.workflows.authors import group_changes
from dunwell.interfaces.portal.workflows.files import render_file
from dunwell.interfaces.portal.workflows.views_history import ComparePage, HistoryPage, VersionPage
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import InvalidState, NotFound

_TYPES: Mapping[str, str] = {"yaml": "application/yaml", "json": "application/json"}


@at_merchant
async def show_history(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    workflow_id = read_id(visit, "workflow_id")
    async with site.work(access) as work:
        workflow = await look_at_workflow(work, workflow_id)
        versions = await list_versions(work, workflow_id)
    page = HistoryPage(workflow, versions[::-1], MOST_COUNTED, visit.ask("done"))
    return site.answer_at(visit, access, page)


@at_merchant
async def show_version(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    return await _answer_version(site, visit, access)


@takes_form_at_merchant
async def restore(
    site: PortalSite, visit: PortalRequest, access: Access, fields: FormFields
) -> Response:
    """What the version says becomes the draft; of a draft that was changed meanwhile nothing is
    lost."""
    workflow_id = read_id(visit, "workflow_id")
    try:
        async with site.work(access) as work:
            work.need(Right.CONFIGURE)
            version = await look_at_version(work, workflow_id, visit.path_params["version"])
            known_id = read_known_id(fields, "known_newest")
            await replace_draft(work, workflow_id, version.definition, expected_id=known_id)
    except InvalidState:
        return await _answer_version(site, visit, access, is_conflict=True)
    return site.redirect(visit, access, "workflow", workflow_id=workflow_id, done="restored")


async def _answer_version(
    site: PortalSite, visit: PortalRequest, access: Access, *, is_conflict: bool = False
) -> Response:
    workflow_id = read_id(visit, "workflow_id")
    async with site.work(access) as work:
        workflow = await look_at_workflow(work, workflow_id)
        version = await look_at_version(work, workflow_id, visit.path_params["version"])
    page = VersionPage(
        workflow=workflow,
        version=version,
        authors=group_changes(version.changes, access.actor),
        currency=find_currency(access, version),
        newest=find_newest(workflow),
        is_conflict=is_conflict,
    )
    return site.answer_at(visit, access, page, 409 if is_conflict else 200)


@at_merchant
async def show_comparison(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    """Of the two that the address names; the latest and the draft, or the two latest."""
    workflow_id = read_id(visit, "workflow_id")
    async with site.work(access) as work:
        workflow = await look_at_workflow(work, workflow_id)
        names = [each.name for each in await list_versions(work, workflow_id)]
        asked = [each if each in names else "" for each in map(visit.ask, ("before", "after"))]
        before = asked[0] or names[max(0, len(names) - 2)]
        after = asked[1] or names[-1]
        one = await look_at_version(work, workflow_id, before)
        other = await look_at_version(work, workflow_id, after)
    found = compare_two(one, other)
    page = ComparePage(
        workflow=workflow, names=names, before=before, after=after, verdict=found.verdict,
        differences=found.differences, currency=find_currency(access, other),
    )  # fmt: skip
    return site.answer_at(visit, access, page)


@at_merchant
async def download(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    """As `dunwell workflow show` prints it, and as it is taken back."""
    workflow_id, form = read_id(visit, "workflow_id"), visit.path_params["form"]
    if form not in _TYPES:
        raise NotFound("There is no such form of a file.")
    async with site.work(access) as work:
        workflow = await look_at_workflow(work, workflow_id)
        version = await look_at_version(work, workflow_id, visit.path_params["version"])
    return render_file(workflow, version, form, _TYPES[form])


def find_newest(workflow: LookedAtWorkflow) -> UUID | None:
    """The id of the draft, or without one of the current version."""
    return workflow.draft_id or workflow.version_id


def find_currency(access: Access, version: LookedAtVersion) -> str:
    return version.definition.settings.currency or access.merchant.configuration.currency


PAGES: RoutedPages = {
    "workflow_history": {"GET": show_history},
    "workflow_version": {"GET": show_version, "POST": restore},
    "workflow_compare": {"GET": show_comparison},
    "workflow_download": {"GET": download},
}
