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
from dunwell.core.workflows.versions.parts import SETTINGS, STEP_ORDER, build_step_part_name
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest, parse_path_id
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.workflows.part_forms import (
    STEP_KINDS,
    PartOutcome,
    build_settings,
    build_step,
    check_part,
    get_amount_format,
    locate_part_faults,
    open_settings_form,
    open_step_form,
    save_part,
)
from dunwell.interfaces.portal.workflows.views import (
    WorkflowEditorPage,
    WorkflowSettingsPage,
    WorkflowStepPage,
    build_step_cards,
    describe_faults,
    list_faults_of_no_step,
)
from dunwell.interfaces.web.condition_form import count_extra_rows
from dunwell.interfaces.web.forms import Form, FormFields
from dunwell.interfaces.web.responses import add_etag
from dunwell.platform.errors import EditConflict, NotFound, ValidationError
from dunwell.platform.text.differences import compute_revision


@dataclass(frozen=True, slots=True)
class _EditorNotice:
    """The result of a change of the list: a code, or a conflict over the order or over one step."""

    result_code: str
    is_order_conflict: bool = False
    conflict_step: str = ""


@at_merchant
async def get_editor_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Return the editor, with an ETag so that polling for a colleague's changes is cheap. Users who
    may only read are redirected to the published versions."""
    if not access.may(Right.CONFIGURE):
        workflow_id = parse_path_id(request, "workflow_id")
        return site.redirect(request, access, "workflow_history", workflow_id=workflow_id)
    return add_etag(
        await _render_editor_page(
            site, request, access, _EditorNotice(request.get_parameter("done"))
        ),
        request.headers,
    )


@takes_form_at_merchant
async def submit_arrangement(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Move, duplicate or remove one step."""
    workflow_id, step_id = parse_path_id(request, "workflow_id"), parse_step_id(fields["step"])
    try:
        async with site.open_work(access) as work:
            await _arrange_step(work, request, fields, step_id)
    except EditConflict as conflict:
        is_order = conflict.part == STEP_ORDER
        notice = _EditorNotice("", is_order, "" if is_order else fields["name"])
        return await _render_editor_page(site, request, access=access, notice=notice, status=409)
    except ValidationError:
        return await _render_editor_page(
            site, request, access=access, notice=_EditorNotice("last"), status=422
        )
    return site.redirect(request, access, "workflow", workflow_id=workflow_id, done=fields["do"])


async def _arrange_step(
    work: Work, request: PortalRequest, fields: FormFields, step_id: int
) -> None:
    workflow_id, action = parse_path_id(request, "workflow_id"), fields["do"]
    if action == "double":
        await duplicate_step(work, workflow_id, step_id)
    elif action == "remove":
        await edit_draft(
            work, workflow_id, PartEdit(build_step_part_name(step_id), fields["revision"], None)
        )
    elif action in ("up", "down"):
        await shift_step(
            work, workflow_id, step_id, action, expected_revision=fields["order_revision"]
        )
    else:
        after = parse_step_id(fields["after"]) if fields["after"] else None
        await move_step(
            work, workflow_id, step_id, after=after, expected_revision=fields["order_revision"]
        )


async def _render_editor_page(
    site: PortalSite,
    request: PortalRequest,
    access: MerchantAccess,
    notice: _EditorNotice,
    status: int = 200,
) -> Response:
    async with site.open_work(access) as work:
        draft = await get_draft_overview(work, parse_path_id(request, "workflow_id"))
    page = WorkflowEditorPage(
        draft=draft,
        cards=build_step_cards(draft, access.merchant.configuration.letters.postal_days),
        faults=describe_faults(draft.definition, list_faults_of_no_step(draft)),
        order_revision=compute_revision(draft.parts.get(STEP_ORDER)),
        currency=get_amount_format(access, draft, "").currency,
        result_code=notice.result_code,
        is_order_conflict=notice.is_order_conflict,
        conflict_step=notice.conflict_step,
    )
    return site.render_merchant_page(request, access, page, status)


def parse_step_id(text: str) -> int:
    """Return the id of a step. Raises NotFound if `text` cannot be an id."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 10):
        raise NotFound("There is no such step.")
    return int(text)


# The id of a new step while it is checked. No stored step has it.
_NEW_ID = 2_147_483_647
# Buttons that show the form again without saving it.
_REDISPLAY_BUTTONS = ("check", "more_fields")


@at_merchant
async def get_step_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Return the form of a step, with an ETag like the editor."""
    step_id = parse_step_id(request.path_params["step_id"])
    async with site.open_work(access) as work:
        draft = await get_draft_overview(work, parse_path_id(request, "workflow_id"))
    step = draft.parts.get(build_step_part_name(step_id))
    if step is None:
        raise NotFound("There is no such step.")
    form = _open_step_form(site, request, access, draft=draft, kind=step["kind"], step=step)
    problems = locate_part_faults(draft, build_step_part_name(step_id), form)
    outcome = PartOutcome(is_saved=True, problems=problems)
    page = _build_step_page(
        request, draft, form, kind=step["kind"], step_id=step_id, outcome=outcome
    )
    return add_etag(site.render_merchant_page(request, access, page), request.headers)


@takes_form_at_merchant
async def submit_step(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Save the form of a step, or only check it. If another user changed the step in the meantime,
    the other user's version is shown next to the entered one. A step that the other user removed is
    restored when this user saves again."""
    step_id, kind = parse_step_id(request.path_params["step_id"]), _get_step_kind(fields)
    workflow_id, part = parse_path_id(request, "workflow_id"), build_step_part_name(step_id)
    is_save = fields["do"] not in _REDISPLAY_BUTTONS
    async with site.open_work(access) as work:
        draft = await get_draft_overview(work, workflow_id)
        stored = draft.parts.get(part)
        form = _open_step_form(
            site, request, access, draft=draft, kind=kind, step=stored
        ).with_sent_fields(fields)
        content = form.parse_content()
        step = {**build_step(kind, content, stored), "id": step_id}
        edit = PartEdit(part, fields["revision"], step)
        if is_save:
            outcome = await save_part(work, workflow_id, edit, form=form, content=content)
        else:
            outcome = await check_part(work, workflow_id, edit, form=form, content=content)
            draft = await get_draft_overview(work, workflow_id, {part: step})
    if outcome.is_saved:
        path_values = {"workflow_id": workflow_id, "step_id": step_id}
        return site.redirect(request, access, "workflow_step", **path_values, done="saved")
    status = 409 if outcome.conflict else 422 if is_save else 200
    page = _build_step_page(request, draft, form, kind=kind, step_id=step_id, outcome=outcome)
    page = msgspec.structs.replace(page, extra_rows=count_extra_rows(fields["do"]))
    return site.render_merchant_page(request, access, page, status)


@at_merchant
async def get_new_step_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    kind = (
        request.get_parameter("kind")
        if request.get_parameter("kind") in STEP_KINDS
        else STEP_KINDS[0]
    )
    async with site.open_work(access) as work:
        draft = await get_draft_overview(work, parse_path_id(request, "workflow_id"))
    form = _open_step_form(site, request, access, draft=draft, kind=kind)
    page = _build_step_page(
        request, draft, form, kind=kind, step_id=None, outcome=PartOutcome(is_saved=False)
    )
    return site.render_merchant_page(request, access, page)


@takes_form_at_merchant
async def submit_new_step(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    workflow_id, after = parse_path_id(request, "workflow_id"), request.get_parameter("after")
    kind, is_save, part = (
        _get_step_kind(fields),
        fields["do"] not in _REDISPLAY_BUTTONS,
        build_step_part_name(_NEW_ID),
    )
    async with site.open_work(access) as work:
        draft = await get_draft_overview(work, workflow_id)
        form = _open_step_form(site, request, access, draft=draft, kind=kind).with_sent_fields(
            fields
        )
        content = form.parse_content()
        step = build_step(kind, content)
        if is_save and not content.faults:
            added = await _add_step(
                work, workflow_id, step, parse_step_id(after) if after else None
            )
            if added is not None:
                path_values = {"workflow_id": workflow_id, "step_id": added}
                return site.redirect(request, access, "workflow_step", **path_values, done="added")
        edit = PartEdit(part, "", {**step, "id": _NEW_ID})
        outcome = await check_part(work, workflow_id, edit, form=form, content=content)
        draft = await get_draft_overview(work, workflow_id, {part: edit.value})
    page = _build_step_page(request, draft, form, kind=kind, step_id=None, outcome=outcome)
    page = msgspec.structs.replace(page, extra_rows=count_extra_rows(fields["do"]))
    return site.render_merchant_page(request, access, page, 422 if is_save else 200)


async def _add_step(
    work: Work, workflow_id: UUID, step: Mapping[str, Any], after: int | None
) -> int | None:
    """Add the step and return its id, or None if its structure is not valid."""
    try:
        return await add_step(work, workflow_id, step, after=after)
    except ValidationError:
        return None


def _get_step_kind(fields: FormFields) -> str:
    if fields["kind"] not in STEP_KINDS:
        raise NotFound("There is no such kind of step.")
    return fields["kind"]


def _open_step_form(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, draft: DraftOverview,
    kind: str,
    step: Mapping[str, Any] | None = None,
) -> Form:  # fmt: skip
    language = site.build_context(request, access).language
    return open_step_form(kind, step, get_amount_format(access, draft, language))


def _build_step_page(
    request: PortalRequest, draft: DraftOverview, form: Form, *, kind: str, step_id: int | None,
    outcome: PartOutcome,
) -> WorkflowStepPage:  # fmt: skip
    stored = draft.parts.get(build_step_part_name(step_id)) if step_id else None
    return WorkflowStepPage(
        draft=draft,
        form=form,
        problems=outcome.problems,
        revision=outcome.revision or compute_revision(stored),
        is_saved=outcome.is_saved,
        conflict=outcome.conflict,
        currency=form.amounts.currency,
        result_code=request.get_parameter("done"),
        kind=kind,
        step_id=step_id,
        after=request.get_parameter("after"),
        templates=sorted(draft.definition.templates),
    )


@at_merchant
async def get_settings_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Return the form of the settings, with an ETag like the editor."""
    async with site.open_work(access) as work:
        draft = await get_draft_overview(work, parse_path_id(request, "workflow_id"))
    form = _open_settings_form(site, request, access, draft)
    outcome = PartOutcome(is_saved=True, problems=locate_part_faults(draft, SETTINGS, form))
    page = _build_settings_page(request, draft, form, outcome)
    return add_etag(site.render_merchant_page(request, access, page), request.headers)


@takes_form_at_merchant
async def submit_settings(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Save the form of the settings, or only check it."""
    workflow_id, is_save = parse_path_id(request, "workflow_id"), fields["do"] != "check"
    async with site.open_work(access) as work:
        draft = await get_draft_overview(work, workflow_id)
        form = _open_settings_form(site, request, access, draft).with_sent_fields(fields)
        content = form.parse_content()
        edit = PartEdit(SETTINGS, fields["revision"], build_settings(content))
        if is_save:
            outcome = await save_part(work, workflow_id, edit, form=form, content=content)
        else:
            outcome = await check_part(work, workflow_id, edit, form=form, content=content)
            draft = await get_draft_overview(work, workflow_id, {SETTINGS: edit.value})
    if outcome.is_saved:
        return site.redirect(
            request, access, "workflow_settings", workflow_id=workflow_id, done="saved"
        )
    status = 409 if outcome.conflict else 422 if is_save else 200
    return site.render_merchant_page(
        request, access, _build_settings_page(request, draft, form, outcome), status
    )


def _open_settings_form(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, draft: DraftOverview
) -> Form:
    amounts = get_amount_format(access, draft, site.build_context(request, access).language)
    return open_settings_form(draft.parts[SETTINGS], amounts)


def _build_settings_page(
    request: PortalRequest, draft: DraftOverview, form: Form, outcome: PartOutcome
) -> WorkflowSettingsPage:
    return WorkflowSettingsPage(
        draft=draft,
        form=form,
        problems=outcome.problems,
        revision=outcome.revision or compute_revision(draft.parts[SETTINGS]),
        is_saved=outcome.is_saved,
        conflict=outcome.conflict,
        currency=form.amounts.currency,
        result_code=request.get_parameter("done"),
    )


PAGES: RoutedPages = {
    "workflow": {"GET": get_editor_page, "POST": submit_arrangement},
    "workflow_step": {"GET": get_step_page, "POST": submit_step},
    "workflow_step_new": {"GET": get_new_step_page, "POST": submit_new_step},
    "workflow_settings": {"GET": get_settings_page, "POST": submit_settings},
}
