"""The form of a step: of one that is there, and of a new one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.cases.rollout.look_at_draft import LookedAtDraft, look_at_draft
from dunwell.core.workflows.arrange_steps import add_step
from dunwell.core.workflows.edit_draft import Edit
from dunwell.core.workflows.parts import fingerprint, name_step
from dunwell.interfaces.portal.processes.parts_shown import (
    Outcome,
    find_manner,
    find_problems,
    save_part,
)
from dunwell.interfaces.portal.processes.routes_editor import read_number
from dunwell.interfaces.portal.processes.step_form import (
    FIELDS,
    KINDS,
    begin_step,
    read_step,
    show_step,
)
from dunwell.interfaces.portal.processes.views_editor import StepPage
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import read_id
from dunwell.interfaces.portal.web.site import Site
from dunwell.interfaces.portal.web.visit import Fields, Visit
from dunwell.interfaces.web.responses import add_etag
from dunwell.platform.errors import NotFound, ValidationError

# Of a step that is not there yet, among those that are: no step that is kept has it.
_NEW_ID = 2_147_483_647


@dataclass(frozen=True, slots=True)
class _Form:
    """step: as the fields show it; it may be of another shape than a step. step_id: None: new."""

    look: LookedAtDraft
    step: Mapping[str, Any]
    step_id: int | None
    outcome: Outcome
    status: int = 200


@at_merchant
async def show_step_form(site: Site, visit: Visit, access: Access) -> Response:
    """With an ETag, as the editor."""
    step_id = read_number(visit.path_params["step_id"])
    async with site.work(access) as work:
        look = await look_at_draft(work, read_id(visit, "workflow_id"))
    step = look.parts.get(name_step(step_id))
    if step is None:
        raise NotFound("There is no such step.")
    problems = find_problems(look, name_step(step_id), FIELDS)
    form = _Form(look, step, step_id, Outcome(is_saved=True, problems=problems))
    return add_etag(_show(site, visit, access, form), visit.headers)


@takes_form_at_merchant
async def take_step(site: Site, visit: Visit, access: Access, fields: Fields) -> Response:
    """Saves what is typed, or only checks it. What somebody else has changed since is shown beside
    it; a step that was taken out meanwhile comes back when it is saved once more."""
    step_id, kind = read_number(visit.path_params["step_id"]), _read_kind(fields)
    workflow_id, part = read_id(visit, "workflow_id"), name_step(step_id)
    async with site.work(access) as work:
        before = await look_at_draft(work, workflow_id)
        manner = find_manner(access, before, site.frame(visit, access).language)
        step = {**read_step(kind, fields, manner, before.parts.get(part)), "id": step_id}
        if fields["do"] == "check":
            look = await look_at_draft(work, workflow_id, {part: step})
            outcome = Outcome(
                is_saved=False, problems=find_problems(look, part, FIELDS), seen=fields["seen"]
            )
            return _show(site, visit, access, _Form(look, step, step_id, outcome))
        outcome = await save_part(work, workflow_id, Edit(part, fields["seen"], step), FIELDS)
        look = await look_at_draft(work, workflow_id)
    if outcome.is_saved:
        to = {"workflow_id": workflow_id, "step_id": step_id}
        return site.redirect(visit, access, "workflow_step", **to, done="saved")
    status = 409 if outcome.overtaken else 422
    return _show(
        site, visit, access, _Form(look, step, step_id=step_id, outcome=outcome, status=status)
    )


@at_merchant
async def show_new(site: Site, visit: Visit, access: Access) -> Response:
    kind = visit.ask("kind") if visit.ask("kind") in KINDS else KINDS[0]
    async with site.work(access) as work:
        look = await look_at_draft(work, read_id(visit, "workflow_id"))
    form = _Form(look, begin_step(kind), None, Outcome(is_saved=False))
    return _show(site, visit, access, form)


@takes_form_at_merchant
async def take_new(site: Site, visit: Visit, access: Access, fields: Fields) -> Response:
    workflow_id, after = read_id(visit, "workflow_id"), visit.ask("after")
    kind, is_check = _read_kind(fields), fields["do"] == "check"
    async with site.work(access) as work:
        before = await look_at_draft(work, workflow_id)
        step = read_step(
            kind, fields, find_manner(access, before, site.frame(visit, access).language)
        )
        if not is_check:
            added = await _add(work, workflow_id, step, read_number(after) if after else None)
            if added is not None:
                to = {"workflow_id": workflow_id, "step_id": added}
                return site.redirect(visit, access, "workflow_step", **to, done="added")
        part = name_step(_NEW_ID)
        look = await look_at_draft(work, workflow_id, {part: {**step, "id": _NEW_ID}})
    outcome = Outcome(is_saved=False, problems=find_problems(look, part, FIELDS))
    form = _Form(look, step, step_id=None, outcome=outcome, status=200 if is_check else 422)
    return _show(site, visit, access, form)


async def _add(
    work: Work, workflow_id: UUID, step: Mapping[str, Any], after: int | None
) -> int | None:
    """None: it has no shape of a step."""
    try:
        return await add_step(work, workflow_id, step, after=after)
    except ValidationError:
        return None


def _read_kind(fields: Fields) -> str:
    if fields["kind"] not in KINDS:
        raise NotFound("There is no such kind of step.")
    return fields["kind"]


def _show(site: Site, visit: Visit, access: Access, form: _Form) -> Response:
    look, frame = form.look, site.frame(visit, access)
    manner = find_manner(access, look, frame.language)
    standing = look.parts.get(name_step(form.step_id)) if form.step_id else None
    page = StepPage(
        look=look,
        shown=show_step(form.step, manner),
        problems=form.outcome.problems,
        seen=form.outcome.seen or fingerprint(standing),
        is_saved=form.outcome.is_saved,
        overtaken=form.outcome.overtaken,
        currency=manner.currency,
        done_here=visit.ask("done"),
        kind=form.step["kind"],
        step_id=form.step_id,
        after=visit.ask("after"),
        templates=sorted(look.definition.templates),
    )
    return site.answer(frame, page, form.status)


PAGES: RoutedPages = {
    "workflow_step": {"GET": show_step_form, "POST": take_step},
    "workflow_step_new": {"GET": show_new, "POST": take_new},
}
