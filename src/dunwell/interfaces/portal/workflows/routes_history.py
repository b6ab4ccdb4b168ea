"""The versions of a workflow: list, view, compare, restore as a draft, export, and import from a
file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import UUID

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.workflow_overviews import (
    MAX_COUNTED_CLAIMS,
    WorkflowOverview,
    get_draft_overview,
    get_workflow_overview,
)
from dunwell.cases.rollout.workflow_views import (
    VersionDetails,
    compare_version_details,
    get_version_details,
    list_workflow_versions,
)
from dunwell.core.files.upload import render_disposition
from dunwell.core.workflows.checking import parse_definition
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.document import (
    DefinitionFile,
    LocatedFault,
    build_definition_file,
    build_unreadable_file,
    list_places,
    render_document,
    sort_faults,
)
from dunwell.core.workflows.drafts.edit_draft import replace_draft
from dunwell.core.workflows.versions.differences import PartDifference, compare_parts
from dunwell.core.workflows.versions.parts import list_parts
from dunwell.core.workflows.versions.store import VersionRow
from dunwell.core.workflows.versions.versions import VersionVerdict
from dunwell.interfaces.portal.web.access import (
    MerchantAccess,
    PortalRequest,
    parse_form_id,
    parse_path_id,
)
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.workflows.views import AuthorChanges, group_changes
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.text.yaml_document import InvalidDocument, render_yaml

_NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]+")
_DOWNLOAD_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}


def render_file(
    workflow: WorkflowOverview, version: VersionDetails, file_format: str, content_type: str
) -> Response:
    text = render_text(version.definition, file_format)
    name = _NOT_IN_FILE_NAMES.sub("-", f"{workflow.name}-{version.row.name}").strip("-")
    headers = {
        "Content-Type": f"{content_type}; charset=utf-8",
        "Content-Disposition": render_disposition(f"{name}.{file_format}"),
        **_DOWNLOAD_HEADERS,
    }
    return Response(text.encode(), 200, headers)


def render_text(definition: Definition, file_format: str = "yaml") -> str:
    document = render_document(definition)
    if file_format == "yaml":
        return render_yaml(document)
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


class WorkflowHistoryPage(Page, frozen=True):
    """The history of a workflow. `versions` begins with the newest one."""

    template: ClassVar[str] = "workflow_history.html"
    area: ClassVar[str] = "workflows"

    workflow: WorkflowOverview
    versions: Sequence[VersionRow]
    max_counted: int
    result_code: str


class WorkflowVersionPage(Page, frozen=True):
    """One version. `newest` identifies the draft or version that was the newest one when the page
    was rendered, so that a later change is detected."""

    template: ClassVar[str] = "workflow_version.html"
    area: ClassVar[str] = "workflows"

    workflow: WorkflowOverview
    version: VersionDetails
    authors: Sequence[AuthorChanges]
    currency: str
    newest: UUID | None
    is_conflict: bool


class WorkflowComparisonPage(Page, frozen=True):
    template: ClassVar[str] = "workflow_compare.html"
    area: ClassVar[str] = "workflows"

    workflow: WorkflowOverview
    names: Sequence[str]
    before: str
    after: str
    verdict: VersionVerdict
    differences: Sequence[PartDifference]
    currency: str


class WorkflowFilePage(Page, frozen=True):
    """The draft as a file, and the import of a file. `text` is the exported draft, or the text that
    was submitted. If `is_checked`, the page shows what the import would change. `faults` are the
    reasons why the file cannot be imported."""

    template: ClassVar[str] = "workflow_file.html"
    area: ClassVar[str] = "workflows"

    workflow: WorkflowOverview
    text: str
    newest: UUID | None
    is_checked: bool
    is_conflict: bool
    unreadable: str
    faults: Sequence[LocatedFault]
    differences: Sequence[PartDifference]
    currency: str


_CONTENT_TYPES: Mapping[str, str] = {"yaml": "application/yaml", "json": "application/json"}


@at_merchant
async def get_history_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    workflow_id = parse_path_id(request, "workflow_id")
    async with site.open_work(access) as work:
        workflow = await get_workflow_overview(work, workflow_id)
        versions = await list_workflow_versions(work, workflow_id)
    page = WorkflowHistoryPage(
        workflow, versions[::-1], MAX_COUNTED_CLAIMS, request.get_parameter("done")
    )
    return site.render_merchant_page(request, access, page)


@at_merchant
async def get_version_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_version_page(site, request, access)


@takes_form_at_merchant
async def submit_restore(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Make the version the draft. A draft that was changed in the meantime is not overwritten."""
    workflow_id = parse_path_id(request, "workflow_id")
    try:
        async with site.open_work(access) as work:
            work.require(Right.CONFIGURE)
            version = await get_version_details(work, workflow_id, request.path_params["version"])
            known_id = parse_form_id(fields, "known_newest")
            await replace_draft(work, workflow_id, version.definition, expected_id=known_id)
    except InvalidState:
        return await _render_version_page(site, request, access, is_conflict=True)
    return site.redirect(request, access, "workflow", workflow_id=workflow_id, done="restored")


async def _render_version_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, is_conflict: bool = False
) -> Response:
    workflow_id = parse_path_id(request, "workflow_id")
    async with site.open_work(access) as work:
        workflow = await get_workflow_overview(work, workflow_id)
        version = await get_version_details(work, workflow_id, request.path_params["version"])
    page = WorkflowVersionPage(
        workflow=workflow,
        version=version,
        authors=group_changes(version.changes, access.actor),
        currency=get_currency(access, version),
        newest=find_newest_id(workflow),
        is_conflict=is_conflict,
    )
    return site.render_merchant_page(request, access, page, 409 if is_conflict else 200)


@at_merchant
async def get_comparison_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Compare the two versions that the query names; by default the latest one with the draft, or
    the two latest ones."""
    workflow_id = parse_path_id(request, "workflow_id")
    async with site.open_work(access) as work:
        workflow = await get_workflow_overview(work, workflow_id)
        names = [each.name for each in await list_workflow_versions(work, workflow_id)]
        chosen = [
            each if each in names else ""
            for each in map(request.get_parameter, ("before", "after"))
        ]
        before = chosen[0] or names[max(0, len(names) - 2)]
        after = chosen[1] or names[-1]
        before_version = await get_version_details(work, workflow_id, before)
        after_version = await get_version_details(work, workflow_id, after)
    found = compare_version_details(before_version, after_version)
    page = WorkflowComparisonPage(
        workflow=workflow, names=names, before=before, after=after, verdict=found.verdict,
        differences=found.differences, currency=get_currency(access, after_version),
    )  # fmt: skip
    return site.render_merchant_page(request, access, page)


@at_merchant
async def send_version_file(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Download the version in the format that `dunwell workflow show` prints and that can be
    imported."""
    workflow_id, file_format = parse_path_id(request, "workflow_id"), request.path_params["form"]
    if file_format not in _CONTENT_TYPES:
        raise NotFound("There is no such file format.")
    async with site.open_work(access) as work:
        workflow = await get_workflow_overview(work, workflow_id)
        version = await get_version_details(work, workflow_id, request.path_params["version"])
    return render_file(workflow, version, file_format, _CONTENT_TYPES[file_format])


def find_newest_id(workflow: WorkflowOverview) -> UUID | None:
    """Return the id of the draft, or of the current version if there is no draft."""
    return workflow.draft_id or workflow.version_id


def get_currency(access: MerchantAccess, version: VersionDetails) -> str:
    return version.definition.settings.currency or access.merchant.configuration.currency


@dataclass(frozen=True, slots=True)
class _ParsedFile:
    """A submitted file. `definition` is None if the file is not a valid definition."""

    text: str
    definition: Definition | None = None
    unreadable: str = ""
    faults: list[LocatedFault] | tuple[()] = ()


@at_merchant
async def get_file_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_page(site, request, access, None)


@takes_form_at_merchant
async def submit_file(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Preview the import, or import the file as the draft. A draft that was changed in the meantime
    is not overwritten."""
    workflow_id = parse_path_id(request, "workflow_id")
    parsed = await _parse_file(site, access, fields.text("text"))
    if parsed.definition is None or fields["do"] != "import":
        return await _render_page(
            site, request, access, parsed, status=200 if parsed.definition else 422
        )
    known_id = parse_form_id(fields, "known_newest")
    try:
        async with site.open_work(access) as work:
            await replace_draft(work, workflow_id, parsed.definition, expected_id=known_id)
    except InvalidState:
        return await _render_page(site, request, access, parsed, is_conflict=True, status=409)
    return site.redirect(request, access, "workflow", workflow_id=workflow_id, done="imported")


async def _render_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, parsed: _ParsedFile | None, *,
    is_conflict: bool = False, status: int = 200,
) -> Response:  # fmt: skip
    workflow_id = parse_path_id(request, "workflow_id")
    async with site.open_work(access) as work:
        draft = await get_draft_overview(work, workflow_id)
        workflow = await get_workflow_overview(work, workflow_id)
    given = parsed.definition if parsed else None
    page = WorkflowFilePage(
        workflow=workflow,
        text=parsed.text if parsed else render_text(draft.definition),
        newest=find_newest_id(workflow),
        is_checked=given is not None,
        is_conflict=is_conflict,
        unreadable=parsed.unreadable if parsed else "",
        faults=parsed.faults if parsed else (),
        differences=compare_parts(draft.parts, list_parts(given)) if given else (),
        currency=draft.definition.settings.currency or access.merchant.configuration.currency,
    )
    return site.render_merchant_page(request, access, page, status)


async def _parse_file(site: PortalSite, access: MerchantAccess, text: str) -> _ParsedFile:
    documents, key = site.services.documents, access.person.user_id
    try:
        given, parsed = await documents.read(
            text, key, lambda value: _parse_definition(value, text)
        )
        if isinstance(parsed, Definition):
            return _ParsedFile(text, parsed)
        lines = await documents.list_lines(text, list_places(given, parsed), key)
        return _ParsedFile(text, faults=sort_faults(parsed, lines))
    except InvalidDocument as error:
        return _ParsedFile(text, unreadable=build_unreadable_file("file", error).message)


def _parse_definition(value: Any, text: str) -> tuple[DefinitionFile, Definition | list[Fault]]:
    """Return the definition, or its faults."""
    given = build_definition_file(value, text, "file")
    try:
        return given, parse_definition(given.document)
    except ValidationError as refusal:
        return given, refusal.faults


PAGES: RoutedPages = {
    "workflow_history": {"GET": get_history_page},
    "workflow_version": {"GET": get_version_page, "POST": submit_restore},
    "workflow_compare": {"GET": get_comparison_page},
    "workflow_download": {"GET": send_version_file},
    "workflow_file": {"GET": get_file_page, "POST": submit_file},
}
