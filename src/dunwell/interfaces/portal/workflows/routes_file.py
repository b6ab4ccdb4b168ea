"""A process as a file: written out, and taken in once it is shown what that would change."""

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from dunwell.cases.rollout.look_at_workflows import look_at_draft, look_at_workflow
from dunwell.core.workflows.checking import read_definition
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.document import (
    GivenDefinition,
    PlacedFault,
    list_places,
    order_faults,
    take_given,
    unreadable_file,
)
from dunwell.core.workflows.drafts.save_draft import replace_draft
from dunwell.core.workflows.versions.differences import compare_parts
from dunwell.core.workflows.versions.parts import list_parts
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import read_id, read_known_id
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.workflows.files import render_text
from dunwell.interfaces.portal.workflows.routes_history import find_newest
from dunwell.interfaces.portal.workflows.views_history import FilePage
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import Fault, InvalidState, ValidationError
from dunwell.platform.text.yaml_document import DocumentFaulty


@dataclass(frozen=True, slots=True)
class _Read:
    """A file as it was given. definition: None: it is none."""

    text: str
    definition: Definition | None = None
    unreadable: str = ""
    faults: list[PlacedFault] | tuple[()] = ()


@at_merchant
async def show_file(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    return await _answer(site, visit, access, None)


@takes_form_at_merchant
async def take_file(
    site: PortalSite, visit: PortalRequest, access: Access, fields: FormFields
) -> Response:
    """Looked at, or made the draft; another draft by now is not overwritten."""
    workflow_id = read_id(visit, "workflow_id")
    read = await _read(site, access, fields.text("text"))
    if read.definition is None or fields["do"] != "import":
        return await _answer(site, visit, access, read, status=200 if read.definition else 422)
    known_id = read_known_id(fields, "known_newest")
    try:
        async with site.work(access) as work:
            await replace_draft(work, workflow_id, read.definition, expected_id=known_id)
    except InvalidState:
        return await _answer(site, visit, access, read, is_conflict=True, status=409)
    return site.redirect(visit, access, "workflow", workflow_id=workflow_id, done="imported")


async def _answer(
    site: PortalSite, visit: PortalRequest, access: Access, read: _Read | None, *,
    is_conflict: bool = False, status: int = 200,
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
        is_conflict=is_conflict,
        unreadable=read.unreadable if read else "",
        faults=read.faults if read else (),
        differences=compare_parts(look.parts, list_parts(given)) if given else (),
        currency=look.definition.settings.currency or access.merchant.configuration.currency,
    )
    return site.answer_at(visit, access, page, status)


async def _read(site: PortalSite, access: Access, text: str) -> _Read:
    documents, key = site.around.documents, access.person.user_id
    try:
        given, read = await documents.read(text, key, lambda value: _make(value, text))
        if isinstance(read, Definition):
            return _Read(text, read)
        lines = await documents.find_lines(text, list_places(given, read), key)
        return _Read(text, faults=order_faults(read, lines))
    except DocumentFaulty as error:
        return _Read(text, unreadable=unreadable_file("file", error).message)


def _make(value: Any, text: str) -> tuple[GivenDefinition, Definition | list[Fault]]:
    """The definition, or what is wrong with it."""
    given = take_given(value, text, "file")
    try:
        return given, read_definition(given.document)
    except ValidationError as refusal:
        return given, refusal.faults


PAGES: RoutedPages = {"workflow_file": {"GET": show_file, "POST": take_file}}
