"""The editor of a draft: its steps one below the other, moved, doubled, taken out."""

from dataclasses import dataclass

from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.workflow_overviews import get_draft_overview
from dunwell.core.workflows.drafts.edit_draft import (
    PartEdit,
    duplicate_step,
    edit_draft,
    move_step,
    shift_step,
)
from dunwell.core.workflows.versions.parts import STEP_ORDER, name_step
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import read_id
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.workflows.parts_shown import find_amount_format
from dunwell.interfaces.portal.workflows.views_editor import (
    EditorPage,
    find_other_faults,
    list_cards,
)
from dunwell.interfaces.portal.workflows.views_publish import describe_faults
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.responses import add_etag
from dunwell.platform.errors import EditConflict, NotFound, ValidationError
from dunwell.platform.text.differences import compute_revision


@dataclass(frozen=True, slots=True)
class _Told:
    """What did not go through: the order was changed, or the step."""

    done: str
    is_order_conflict: bool = False
    conflict_step: str = ""


@at_merchant
async def show_editor(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    """With an ETag, so that whoever waits for a colleague's changes asks for little. Who may only
    read sees the published versions."""
    if not access.may(Right.CONFIGURE):
        workflow_id = read_id(visit, "workflow_id")
        return site.redirect(visit, access, "workflow_history", workflow_id=workflow_id)
    return add_etag(await _answer(site, visit, access, _Told(visit.ask("done"))), visit.headers)


@takes_form_at_merchant
async def arrange(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Moves, doubles or takes out one step."""
    workflow_id, step_id = read_id(visit, "workflow_id"), read_number(fields["step"])
    try:
        async with site.work(access) as work:
            await _arrange(work, visit, fields, step_id)
    except EditConflict as conflict:
        is_order = conflict.part == STEP_ORDER
        told = _Told("", is_order, "" if is_order else fields["name"])
        return await _answer(site, visit, access=access, told=told, status=409)
    except ValidationError:
        return await _answer(site, visit, access=access, told=_Told("last"), status=422)
    return site.redirect(visit, access, "workflow", workflow_id=workflow_id, done=fields["do"])


async def _arrange(work: Work, visit: PortalRequest, fields: FormFields, step_id: int) -> None:
    workflow_id, wish = read_id(visit, "workflow_id"), fields["do"]
    if wish == "double":
        await duplicate_step(work, workflow_id, step_id)
    elif wish == "remove":
        await edit_draft(work, workflow_id, PartEdit(name_step(step_id), fields["revision"], None))
    elif wish in ("up", "down"):
        await shift_step(work, workflow_id, step_id, wish, seen=fields["order_revision"])
    else:
        after = read_number(fields["after"]) if fields["after"] else None
        await move_step(work, workflow_id, step_id, after=after, seen=fields["order_revision"])


async def _answer(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, told: _Told, status: int = 200
) -> Response:
    async with site.work(access) as work:
        look = await get_draft_overview(work, read_id(visit, "workflow_id"))
    page = EditorPage(
        look=look,
        cards=list_cards(look, access.merchant.configuration.letters.postal_days),
        faults=describe_faults(look.definition, find_other_faults(look)),
        order_revision=compute_revision(look.parts.get(STEP_ORDER)),
        currency=find_amount_format(access, look, "").currency,
        done_here=told.done,
        is_order_conflict=told.is_order_conflict,
        conflict_step=told.conflict_step,
    )
    return site.answer_at(visit, access, page, status)


def read_number(text: str) -> int:
    """Of a step. Raises NotFound for what can be none's."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 10):
        raise NotFound("There is no such step.")
    return int(text)


PAGES: RoutedPages = {"workflow": {"GET": show_editor, "POST": arrange}}
