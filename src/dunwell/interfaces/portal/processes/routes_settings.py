"""The form of a process's settings."""

from starlette.responses import Response

from dunwell.cases.rollout.look_at_draft import LookedAtDraft, look_at_draft
from dunwell.core.workflows.edit_draft import Edit
from dunwell.core.workflows.parts import SETTINGS, fingerprint
from dunwell.interfaces.portal.processes.parts_shown import (
    Outcome,
    find_manner,
    find_problems,
    save_part,
)
from dunwell.interfaces.portal.processes.settings_form import FIELDS, read_settings, show_settings
from dunwell.interfaces.portal.processes.views_editor import SettingsPage
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import read_id
from dunwell.interfaces.portal.web.site import Site
from dunwell.interfaces.portal.web.visit import Fields, Visit
from dunwell.interfaces.web.responses import add_etag


@at_merchant
async def show_settings_form(site: Site, visit: Visit, access: Access) -> Response:
    """With an ETag, as the editor."""
    async with site.work(access) as work:
        look = await look_at_draft(work, read_id(visit, "workflow_id"))
    outcome = Outcome(is_saved=True, problems=find_problems(look, SETTINGS, FIELDS))
    page = _compose(visit, access, look=look, settings=look.parts[SETTINGS], outcome=outcome)
    return add_etag(site.answer_at(visit, access, page), visit.headers)


@takes_form_at_merchant
async def take_settings(site: Site, visit: Visit, access: Access, fields: Fields) -> Response:
    """Saves what is typed, or only checks it."""
    workflow_id = read_id(visit, "workflow_id")
    async with site.work(access) as work:
        before = await look_at_draft(work, workflow_id)
        manner = find_manner(access, before, site.frame(visit, access).language)
        typed = read_settings(fields, manner, before.parts[SETTINGS])
        if fields["do"] == "check":
            look = await look_at_draft(work, workflow_id, {SETTINGS: typed})
            outcome = Outcome(
                is_saved=False, problems=find_problems(look, SETTINGS, FIELDS), seen=fields["seen"]
            )
            return site.answer_at(
                visit, access, _compose(visit, access, look=look, settings=typed, outcome=outcome)
            )
        outcome = await save_part(work, workflow_id, Edit(SETTINGS, fields["seen"], typed), FIELDS)
        look = await look_at_draft(work, workflow_id)
    if outcome.is_saved:
        return site.redirect(
            visit, access, "workflow_settings", workflow_id=workflow_id, done="saved"
        )
    page = _compose(visit, access, look=look, settings=typed, outcome=outcome)
    return site.answer_at(visit, access, page, 409 if outcome.overtaken else 422)


def _compose(
    visit: Visit, access: Access, look: LookedAtDraft, settings: dict[str, object], outcome: Outcome
) -> SettingsPage:
    return SettingsPage(
        look=look,
        shown=show_settings(settings),
        problems=outcome.problems,
        seen=outcome.seen or fingerprint(look.parts[SETTINGS]),
        is_saved=outcome.is_saved,
        overtaken=outcome.overtaken,
        currency=find_manner(access, look, "").currency,
        done_here=visit.ask("done"),
    )


PAGES: RoutedPages = {"workflow_settings": {"GET": show_settings_form, "POST": take_settings}}
