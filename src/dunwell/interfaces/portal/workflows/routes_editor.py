"""The editor of a draft: its list of steps, and the forms of one step and of the settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.workflow_overviews import DraftOverview, get_draft_overview
from dunwell.core.workflows.drafts.edit_draft import (
    PartEdit,
    add_step,
    duplicate_step,
    edit_draft,
    move_step,
    shift_step,
)
from dunwell.core.workflows.versions.parts import SETTINGS, STEP_ORDER, name_step
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import read_id
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.workflows.part_forms import (
    STEP_KINDS,
    PartOutcome,
    build_settings,
    build_step,
    check_part,
    find_problems,
    get_amount_format,
    open_settings,
    open_step,
    save_part,
)
from dunwell.interfaces.portal.workflows.views import (
    EditorPage,
    StepPage,
    WorkflowSettingsPage,
    describe_faults,
    find_other_faults,
    list_cards,
)
from dunwell.interfaces.web.condition_form import count_extra_rows
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.forms import Form
from dunwell.interfaces.web.responses import add_etag
from dunwell.platform.errors import EditConflict, NotFound, ValidationError
from dunwell.platform.text.differences import compute_revision


@dataclass(frozen=True, slots=True)
class _EditorNotice:
    """What did not go through: the order was changed, or the step."""

    done: str
    is_order_conflict: bool = False
    conflict_step: str = ""


@at_merchant
async def get_editor(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    """With an ETag, so that whoever waits for a colleague's changes asks for little. Who may only
    read sees the published versions."""
    if not access.may(Right.CONFIGURE):
        workflow_id = read_id(visit, "workflow_id")
        return site.redirect(visit, access, "workflow_history", workflow_id=workflow_id)
    return add_etag(
        await _answer_editor(site, visit, access, _EditorNotice(visit.ask("done"))), visit.headers
    )


@takes_form_at_merchant
async def submit_arrangement(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Moves, doubles or takes out one step."""
    workflow_id, step_id = read_id(visit, "workflow_id"), parse_step_id(fields["step"])
    try:
        async with site.work(access) as work:
            await _arrange_step(work, visit, fields, step_id)
    except EditConflict as conflict:
        is_order = conflict.part == STEP_ORDER
        told = _EditorNotice("", is_order, "" if is_order else fields["name"])
        return await _answer_editor(site, visit, access=access, told=told, status=409)
    except ValidationError:
        return await _answer_editor(
            site, visit, access=access, told=_EditorNotice("last"), status=422
        )
    return site.redirect(visit, access, "workflow", workflow_id=workflow_id, done=fields["do"])


async def _arrange_step(work: Work, visit: PortalRequest, fields: FormFields, step_id: int) -> None:
    workflow_id, wish = read_id(visit, "workflow_id"), fields["do"]
    if wish == "double":
        await duplicate_step(work, workflow_id, step_id)
    elif wish == "remove":
        await edit_draft(work, workflow_id, PartEdit(name_step(step_id), fields["revision"], None))
    elif wish in ("up", "down"):
        await shift_step(work, workflow_id, step_id, wish, seen=fields["order_revision"])
    else:
        after = parse_step_id(fields["after"]) if fields["after"] else None
        await move_step(work, workflow_id, step_id, after=after, seen=fields["order_revision"])


async def _answer_editor(
    site: PortalSite,
    visit: PortalRequest,
    access: MerchantAccess,
    told: _EditorNotice,
    status: int = 200,
) -> Response:
    async with site.work(access) as work:
        look = await get_draft_overview(work, read_id(visit, "workflow_id"))
    page = EditorPage(
        look=look,
        cards=list_cards(look, access.merchant.configuration.letters.postal_days),
        faults=describe_faults(look.definition, find_other_faults(look)),
        order_revision=compute_revision(look.parts.get(STEP_ORDER)),
        currency=get_amount_format(access, look, "").currency,
        done_here=told.done,
        is_order_conflict=told.is_order_conflict,
        conflict_step=told.conflict_step,
    )
    return site.answer_at(visit, access, page, status)


def parse_step_id(text: str) -> int:
    """Of a step. Raises NotFound for what can be none's."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 10):
        raise NotFound("There is no such step.")
    return int(text)


# Stands for the id of a new step while it is checked. No stored step has it.
_NEW_ID = 2_147_483_647
# Buttons that only show the form again.
_REDISPLAY_BUTTONS = ("check", "more_fields")


@at_merchant
async def get_step(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    """With an ETag, as the editor."""
    step_id = parse_step_id(visit.path_params["step_id"])
    async with site.work(access) as work:
        look = await get_draft_overview(work, read_id(visit, "workflow_id"))
    step = look.parts.get(name_step(step_id))
    if step is None:
        raise NotFound("There is no such step.")
    form = _open_step_form(site, visit, access, look=look, kind=step["kind"], step=step)
    problems = find_problems(look, name_step(step_id), form)
    outcome = PartOutcome(is_saved=True, problems=problems)
    page = _build_step_page(visit, look, form, kind=step["kind"], step_id=step_id, outcome=outcome)
    return add_etag(site.answer_at(visit, access, page), visit.headers)


@takes_form_at_merchant
async def submit_step(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Saves what is typed, or only checks it. If somebody else has changed the step since, their
    version is shown beside it; a step that was removed comes back when it is saved once more."""
    step_id, kind = parse_step_id(visit.path_params["step_id"]), _get_step_kind(fields)
    workflow_id, part = read_id(visit, "workflow_id"), name_step(step_id)
    is_save = fields["do"] not in _REDISPLAY_BUTTONS
    async with site.work(access) as work:
        look = await get_draft_overview(work, workflow_id)
        stored = look.parts.get(part)
        form = _open_step_form(site, visit, access, look=look, kind=kind, step=stored).fill(fields)
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
    page = _build_step_page(visit, look, form, kind=kind, step_id=step_id, outcome=outcome)
    page = msgspec.structs.replace(page, extra_rows=count_extra_rows(fields["do"]))
    return site.answer_at(visit, access, page, status)


@at_merchant
async def get_new_step(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    kind = visit.ask("kind") if visit.ask("kind") in STEP_KINDS else STEP_KINDS[0]
    async with site.work(access) as work:
        look = await get_draft_overview(work, read_id(visit, "workflow_id"))
    form = _open_step_form(site, visit, access, look=look, kind=kind)
    page = _build_step_page(
        visit, look, form, kind=kind, step_id=None, outcome=PartOutcome(is_saved=False)
    )
    return site.answer_at(visit, access, page)


@takes_form_at_merchant
async def submit_new_step(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    workflow_id, after = read_id(visit, "workflow_id"), visit.ask("after")
    kind, is_save, part = (
        _get_step_kind(fields),
        fields["do"] not in _REDISPLAY_BUTTONS,
        name_step(_NEW_ID),
    )
    async with site.work(access) as work:
        look = await get_draft_overview(work, workflow_id)
        form = _open_step_form(site, visit, access, look=look, kind=kind).fill(fields)
        content = form.read()
        step = build_step(kind, content)
        if is_save and not content.faults:
            added = await _add_step(
                work, workflow_id, step, parse_step_id(after) if after else None
            )
            if added is not None:
                to = {"workflow_id": workflow_id, "step_id": added}
                return site.redirect(visit, access, "workflow_step", **to, done="added")
        edit = PartEdit(part, "", {**step, "id": _NEW_ID})
        outcome = await check_part(work, workflow_id, edit, form=form, content=content)
        look = await get_draft_overview(work, workflow_id, {part: edit.value})
    page = _build_step_page(visit, look, form, kind=kind, step_id=None, outcome=outcome)
    page = msgspec.structs.replace(page, extra_rows=count_extra_rows(fields["do"]))
    return site.answer_at(visit, access, page, 422 if is_save else 200)


async def _add_step(
    work: Work, workflow_id: UUID, step: Mapping[str, Any], after: int | None
) -> int | None:
    """None: it has no shape of a step."""
    try:
        return await add_step(work, workflow_id, step, after=after)
    except ValidationError:
        return None


def _get_step_kind(fields: FormFields) -> str:
    if fields["kind"] not in STEP_KINDS:
        raise NotFound("There is no such kind of step.")
    return fields["kind"]


def _open_step_form(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, *, look: DraftOverview,
    kind: str,
    step: Mapping[str, Any] | None = None,
) -> Form:  # fmt: skip
    language = site.frame(visit, access).language
    return open_step(kind, step, get_amount_format(access, look, language))


def _build_step_page(
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


@at_merchant
async def get_settings(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    """With an ETag, as the editor."""
    async with site.work(access) as work:
        look = await get_draft_overview(work, read_id(visit, "workflow_id"))
    form = _open_settings_form(site, visit, access, look)
    outcome = PartOutcome(is_saved=True, problems=find_problems(look, SETTINGS, form))
    page = _build_settings_page(visit, look, form, outcome)
    return add_etag(site.answer_at(visit, access, page), visit.headers)


@takes_form_at_merchant
async def submit_settings(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Saves what is typed, or only checks it."""
    workflow_id, is_save = read_id(visit, "workflow_id"), fields["do"] != "check"
    async with site.work(access) as work:
        look = await get_draft_overview(work, workflow_id)
        form = _open_settings_form(site, visit, access, look).fill(fields)
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
    return site.answer_at(visit, access, _build_settings_page(visit, look, form, outcome), status)


def _open_settings_form(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, look: DraftOverview
) -> Form:
    amounts = get_amount_format(access, look, site.frame(visit, access).language)
    return open_settings(look.parts[SETTINGS], amounts)


def _build_settings_page(
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


PAGES: RoutedPages = {
    "workflow": {"GET": get_editor, "POST": submit_arrangement},
    "workflow_step": {"GET": get_step, "POST": submit_step},
    "workflow_step_new": {"GET": get_new_step, "POST": submit_new_step},
    "workflow_settings": {"GET": get_settings, "POST": submit_settings},
}
