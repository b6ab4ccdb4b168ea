"""A process as a file: written out, and taken in once it is shown what that would change."""

from dataclasses import dataclass

from starlette.responses import Response

from dunwell.errors import InvalidRequest, InvalidState, ValidationError
from dunwell.kit.requests import read_apart
from dunwell.portal.processes.files import render_text
from dunwell.portal.processes.routes_history import find_newest
from dunwell.portal.processes.views_history import FilePage
from dunwell.portal.web.access import Access
from dunwell.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.portal.web.looking import read_id, read_known_id
from dunwell.portal.web.site import Site
from dunwell.portal.web.visit import Fields, Visit
from dunwell.rollout.look_at_draft import look_at_draft
from dunwell.rollout.look_at_workflows import look_at_workflow
from dunwell.workflows.audited import list_parts
from dunwell.workflows.checking import read_definition
from dunwell.workflows.definition import Definition
from dunwell.workflows.given_definition import PlacedFault, place_faults, read_given_text
from dunwell.workflows.part_differences import compare_parts
from dunwell.workflows.save_draft import replace_draft


@dataclass(frozen=True, slots=True)
class _Read:
    """A file as it was given. definition: None: it is none."""

    text: str
    definition: Definition | None = None
    unreadable: str = ""
    faults: list[PlacedFault] | tuple[()] = ()


@at_merchant
async def show_file(site: Site, visit: Visit, access: Access) -> Response:
    return await _answer(site, visit, access, None)


@takes_form_at_merchant
async def take_file(site: Site, visit: Visit, access: Access, fields: Fields) -> Response:
    """Looked at, or made the draft; another draft by now is not overwritten."""
    workflow_id = read_id(visit, "workflow_id")
    read = await read_apart(_read, fields.text("text"))
    if read.definition is None or fields["do"] != "import":
        return await _answer(site, visit, access, read, status=200 if read.definition else 422)
    known_id = read_known_id(fields, "known_newest")
    try:
        async with site.work(access) as work:
            await replace_draft(work, workflow_id, read.definition, expected_id=known_id)
    except InvalidState:
        return await _answer(site, visit, access, read, is_overtaken=True, status=409)
    return site.redirect(visit, access, "workflow", workflow_id=workflow_id, done="imported")


async def _answer(
    site: Site, visit: Visit, access: Access, read: _Read | None, *, is_overtaken: bool = False,
    status: int = 200,
) -> Response:  # fmt: skip
    workflow_id = read_id(visit, "workflow_id")
    async with site.work(access) as work:
        look = await look_at_draft(work, workflow_id)
        workflow = await look_at_workflow(work, workflow_id)
    given = read.definition if read else None
    page = FilePage(
        workflow=workflow,
        text=read.text if read else render_text(look.definition),
        newest=find_newest(workflow),
        is_looked=given is not None,
        is_overtaken=is_overtaken,
        unreadable=read.unreadable if read else "",
        faults=read.faults if read else (),
        differences=compare_parts(look.parts, list_parts(given)) if given else (),
        currency=look.definition.settings.currency or access.merchant.configuration.currency,
    )
    return site.answer_at(visit, access, page, status)


def _read(text: str) -> _Read:
    try:
        given = read_given_text(text, "file")
    except InvalidRequest as refusal:
        return _Read(text, unreadable=refusal.message)
    try:
        return _Read(text, read_definition(given.document))
    except ValidationError as refusal:
        return _Read(text, faults=place_faults(given, refusal.faults))


PAGES: RoutedPages = {"workflow_file": {"GET": show_file, "POST": take_file}}
