"""The form of a step: of one that is there, and of a new one."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.cases.rollout.workflow_overviews import DraftOverview, get_draft_overview
from dunwell.core.workflows.drafts.edit_draft import PartEdit, add_step
from dunwell.core.workflows.versions.parts import name_step
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import read_id
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.workflows.part_forms import KINDS, build_step, open_step
from dunwell.interfaces.portal.workflows.parts_shown import (
    PartOutcome,
    check_part,
    find_amount_format,
    find_problems,
    save_part,
)
from dunwell.interfaces.portal.workflows.routes_editor import read_number
from dunwell.interfaces.portal.workflows.views_editor import StepPage
from dunwell.interfaces.web.condition_form import count_extra_rows
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.forms import Form
from dunwell.interfaces.web.responses import add_etag
from dunwell.platform.errors import NotFound, ValidationError
from dunwell.platform.text.differences import compute_revision

# Stands for the id of a new step while it is checked. No stored step has it.
_NEW_ID = 2_147_483_647
# Buttons that only show the form again.
_NOT_SAVED = ("check", "more_fields")


@at_merchant
async def show_step_form(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess
) -> Response:
    """With an ETag, as the editor."""
    step_id = read_number(visit.path_params["step_id"])
    async with site.work(access) as work:
        look = await get_draft_overview(work, read_id(visit, "workflow_id"))
    step = look.parts.get(name_step(step_id))
    if step is None:
        raise NotFound("There is no such step.")
    form = _open(site, visit, access, look=look, kind=step["kind"], step=step)
    problems = find_problems(look, name_step(step_id), form)
    outcome = PartOutcome(is_saved=True, problems=problems)
    page = _compose(visit, look, form, kind=step["kind"], step_id=step_id, outcome=outcome)
    return add_etag(site.answer_at(visit, access, page), visit.headers)


@takes_form_at_merchant
async def submit_step(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Saves what is typed, or only checks it. If somebody else has changed the step since, their
    version is shown beside it; a step that was removed comes back when it is saved once more."""
    step_id, kind = read_number(visit.path_params["step_id"]), _read_kind(fields)
    workflow_id, part = read_id(visit, "workflow_id"), name_step(step_id)
    is_save = fields["do"] not in _NOT_SAVED
    async with site.work(access) as work:
        look = await get_draft_overview(work, workflow_id)
        stored = look.parts.get(part)
        form = _open(site, visit, access, look=look, kind=kind, step=stored).fill(fields)
        content = form.read()
        step = {**build_step(kind, content, stored), "id": step_id}
        edit = PartEdit(part, fields["revision"], step)
        if is_save:
            outcome = await save_part(work, workflow_id, edit, form=form, content=content)
        else:
            outcome = await check_part(work, workflow_id, edit, form=form, content=content)
            look = await get_draft_overview(work, workflow_id, {part: step})
    if outcome.is_saved:
        to = {"workflow_id": workflow_id, "step_id": step_id}
        return site.redirect(visit, access, "workflow_step", **to, done="saved")
    status = 409 if outcome.conflict else 422 if is_save else 200
    page = _compose(visit, look, form, kind=kind, step_id=step_id, outcome=outcome)
    page = msgspec.structs.replace(page, extra_rows=count_extra_rows(fields["do"]))
    return site.answer_at(visit, access, page, status)


@at_merchant
async def show_new(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    kind = visit.ask("kind") if visit.ask("kind") in KINDS else KINDS[0]
    async with site.work(access) as work:
        look = await get_draft_overview(work, read_id(visit, "workflow_id"))
    form = _open(site, visit, access, look=look, kind=kind)
    page = _compose(visit, look, form, kind=kind, step_id=None, outcome=PartOutcome(is_saved=False))
    return site.answer_at(visit, access, page)


@takes_form_at_merchant
async def submit_new_step(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    workflow_id, after = read_id(visit, "workflow_id"), visit.ask("after")
    kind, is_save, part = _read_kind(fields), fields["do"] not in _NOT_SAVED, name_step(_NEW_ID)
    async with site.work(access) as work:
        look = await get_draft_overview(work, workflow_id)
        form = _open(site, visit, access, look=look, kind=kind).fill(fields)
        content = form.read()
        step = build_step(kind, content)
        if is_save and not content.faults:
            added = await _add(work, workflow_id, step, read_number(after) if after else None)
            if added is not None:
                to = {"workflow_id": workflow_id, "step_id": added}
                return site.redirect(visit, access, "workflow_step", **to, done="added")
        edit = PartEdit(part, "", {**step, "id": _NEW_ID})
        outcome = await check_part(work, workflow_id, edit, form=form, content=content)
        look = await get_draft_overview(work, workflow_id, {part: edit.value})
    page = _compose(visit, look, form, kind=kind, step_id=None, outcome=outcome)
    page = msgspec.structs.replace(page, extra_rows=count_extra_rows(fields["do"]))
    return site.answer_at(visit, access, page, 422 if is_save else 200)


async def _add(
    work: Work, workflow_id: UUID, step: Mapping[str, Any], after: int | None
) -> int | None:
    """None: it has no shape of a step."""
    try:
        return await add_step(work, workflow_id, step, after=after)
    except ValidationError:
        return None


def _read_kind(fields: FormFields) -> str:
    if fields["kind"] not in KINDS:
        raise NotFound("There is no such kind of step.")
    return fields["kind"]


def _open(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, *, look: DraftOverview,
    kind: str,
    step: Mapping[str, Any] | None = None,
) -> Form:  # fmt: skip
    language = site.frame(visit, access).language
    return open_step(kind, step, find_amount_format(access, look, language))


def _compose(
    visit: PortalRequest, look: DraftOverview, form: Form, *, kind: str, step_id: int | None,
    outcome: PartOutcome,
) -> StepPage:  # fmt: skip
    stored = look.parts.get(name_step(step_id)) if step_id else None
    return StepPage(
        look=look,
        form=form,
        problems=outcome.problems,
        seen=outcome.seen or compute_revision(stored),
        is_saved=outcome.is_saved,
        conflict=outcome.conflict,
        currency=form.amounts.currency,
        done_here=visit.ask("done"),
        kind=kind,
        step_id=step_id,
        after=visit.ask("after"),
        templates=sorted(look.definition.templates),
    )


PAGES: RoutedPages = {
    "workflow_step": {"GET": show_step_form, "POST": submit_step},
    "workflow_step_new": {"GET": show_new, "POST": submit_new_step},
}
