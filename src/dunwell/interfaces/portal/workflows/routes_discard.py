"""Discarding a draft, once it is shown what is lost and whose it is."""

from starlette.responses import Response

from dunwell.cases.rollout.delete_workflow import drop_draft
from dunwell.cases.rollout.look_at_workflows import look_at_draft
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import read_id, read_known_id
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.workflows.authors import group_changes
from dunwell.interfaces.portal.workflows.parts_shown import find_amount_format
from dunwell.interfaces.portal.workflows.views_publish import DiscardPage
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import InvalidState


@at_merchant
async def show_discard(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    return await _answer(site, visit, access)


@takes_form_at_merchant
async def discard(
    site: PortalSite, visit: PortalRequest, access: Access, fields: FormFields
) -> Response:
    workflow_id, known_id = read_id(visit, "workflow_id"), read_known_id(fields, "known_draft")
    try:
        async with site.work(access) as work:
            is_gone = await drop_draft(work, workflow_id, expected_id=known_id)
    except InvalidState as refusal:
        return await _answer(site, visit, access, refusal=refusal)
    if is_gone:
        return site.redirect(visit, access, "workflows", done="gone")
    return site.redirect(visit, access, "workflow", workflow_id=workflow_id, done="discarded")


async def _answer(
    site: PortalSite, visit: PortalRequest, access: Access, *, refusal: InvalidState | None = None
) -> Response:
    async with site.work(access) as work:
        look = await look_at_draft(work, read_id(visit, "workflow_id"))
    is_in_use = refusal is not None and refusal.details.get("state") == "IN_USE"
    page = DiscardPage(
        look=look,
        authors=group_changes(look.changes, access.actor),
        currency=find_amount_format(access, look, "").currency,
        is_conflict=refusal is not None and not is_in_use,
        refusal=refusal.message if refusal is not None and is_in_use else "",
    )
    return site.answer_at(visit, access, page, 409 if refusal else 200)


PAGES: RoutedPages = {"workflow_discard": {"GET": show_discard, "POST": discard}}
