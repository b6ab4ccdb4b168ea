"""The form of a workflow's settings."""

from starlette.responses import Response

from dunwell.cases.rollout.workflow_overviews import DraftOverview, get_draft_overview
from dunwell.core.workflows.drafts.edit_draft import PartEdit
from dunwell.core.workflows.versions.parts import SETTINGS
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import read_id
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.workflows.part_forms import build_settings, open_settings
from dunwell.interfaces.portal.workflows.parts_shown import (
    PartOutcome,
    check_part,
    find_amount_format,
    find_problems,
    save_part,
)
from dunwell.interfaces.portal.workflows.views_editor import WorkflowSettingsPage
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.forms import Form
from dunwell.interfaces.web.responses import add_etag
from dunwell.platform.text.differences import compute_revision


@at_merchant
async def show_settings_form(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess
) -> Response:
    """With an ETag, as the editor."""
    async with site.work(access) as work:
        look = await get_draft_overview(work, read_id(visit, "workflow_id"))
    form = _open(site, visit, access, look)
    outcome = PartOutcome(is_saved=True, problems=find_problems(look, SETTINGS, form))
    page = _compose(visit, look, form, outcome)
    return add_etag(site.answer_at(visit, access, page), visit.headers)


@takes_form_at_merchant
async def submit_settings(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Saves what is typed, or only checks it."""
    workflow_id, is_save = read_id(visit, "workflow_id"), fields["do"] != "check"
    async with site.work(access) as work:
        look = await get_draft_overview(work, workflow_id)
        form = _open(site, visit, access, look).fill(fields)
        content = form.read()
        edit = PartEdit(SETTINGS, fields["revision"], build_settings(content))
        if is_save:
            outcome = await save_part(work, workflow_id, edit, form=form, content=content)
        else:
            outcome = await check_part(work, workflow_id, edit, form=form, content=content)
            look = await get_draft_overview(work, workflow_id, {SETTINGS: edit.value})
    if outcome.is_saved:
        return site.redirect(
            visit, access, "workflow_settings", workflow_id=workflow_id, done="saved"
        )
    status = 409 if outcome.conflict else 422 if is_save else 200
    return site.answer_at(visit, access, _compose(visit, look, form, outcome), status)


def _open(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, look: DraftOverview
) -> Form:
    amounts = find_amount_format(access, look, site.frame(visit, access).language)
    return open_settings(look.parts[SETTINGS], amounts)


def _compose(
    visit: PortalRequest, look: DraftOverview, form: Form, outcome: PartOutcome
) -> WorkflowSettingsPage:
    return WorkflowSettingsPage(
        look=look,
        form=form,
        problems=outcome.problems,
        seen=outcome.seen or compute_revision(look.parts[SETTINGS]),
        is_saved=outcome.is_saved,
        conflict=outcome.conflict,
        currency=form.amounts.currency,
        done_here=visit.ask("done"),
    )


PAGES: RoutedPages = {"workflow_settings": {"GET": show_settings_form, "POST": submit_settings}}
