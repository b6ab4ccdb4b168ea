"""The list of assignment rules: looked at, and changed one by one: moved, copied, removed; what a
claim gets that no rule takes."""

from collections.abc import Mapping
from uuid import UUID

from starlette.responses import Response

from dunwell.cases.assignment.edit_rules import edit_rules_draft
from dunwell.cases.assignment.editing import CopyRule, MoveRule, RemoveRule, SetDefault
from dunwell.cases.assignment.rules import compare_rules
from dunwell.interfaces.portal.rules.looking import Looked, check_may, look
from dunwell.interfaces.portal.rules.marks import list_shown
from dunwell.interfaces.portal.rules.views import RulesPage
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import EditConflict, ValidationError

_STEPS: Mapping[str, int] = {"up": -1, "down": 1}


@at_merchant
async def show_rules(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    return await _answer(site, visit, access)


@takes_form_at_merchant
async def change_list(
    site: PortalSite, visit: PortalRequest, access: Access, fields: FormFields
) -> Response:
    """One rule moved, copied or removed, as the list was seen."""
    check_may(access)
    name, wish, place = fields["name"], fields["do"], _read_place(fields["place"])
    place = max(0, place + _STEPS.get(wish, 0))
    edit: MoveRule | CopyRule | RemoveRule = MoveRule(name, place)
    if wish == "copy":
        edit = CopyRule(name)
    elif wish == "remove":
        edit = RemoveRule(name)
    try:
        async with site.work(access) as work:
            await edit_rules_draft(work, edit, known=fields["revision"])
    except EditConflict:
        return site.redirect(visit, access, "rules", done="conflict")
    except ValidationError:
        return site.redirect(visit, access, "rules", done="too_many")
    if isinstance(edit, MoveRule):
        return site.redirect(visit, access, "rules", done="moved", at=place + 1, by=wish)
    return site.redirect(visit, access, "rules", done=f"rule_{wish}")


@takes_form_at_merchant
async def change_default(
    site: PortalSite, visit: PortalRequest, access: Access, fields: FormFields
) -> Response:
    check_may(access)
    wanted = fields["default"]
    try:
        async with site.work(access) as work:
            looked = await look(work)
            ids = {row.name: row.workflow_id for row in looked.view.workflows.values()}
            edit = SetDefault(ids.get(wanted), _read_id(fields["known_default"]))
            await edit_rules_draft(work, edit)
    except EditConflict:
        return await _answer(site, visit, access, default_typed=wanted, status=409)
    return site.redirect(visit, access, "rules", done="default")


async def _answer(
    site: PortalSite,
    visit: PortalRequest,
    access: Access,
    *,
    default_typed: str | None = None,
    status: int = 200,
) -> Response:
    check_may(access)
    async with site.work(access) as work:
        looked = await look(work)
    return site.answer_at(visit, access, _make_page(visit, access, looked, default_typed), status)


def _make_page(
    visit: PortalRequest, access: Access, looked: Looked, default_typed: str | None
) -> RulesPage:
    view = looked.view
    published = view.published if view.drafted else None
    obstacles = {each.name: each.obstacle for each in looked.choices}
    default = looked.document.default
    return RulesPage(
        view=view,
        rows=list_shown(looked.rulebook, looked.document, looked.overlaps, published),
        default=default,
        default_id=str(view.edited.default or ""),
        default_obstacle=obstacles.get(default, "SKIPPED_DELETED") if default else "",
        choices=looked.choices,
        differences=[*compare_rules(view.published, looked.document)] if view.drafted else (),
        writers=looked.writers,
        currency=access.merchant.configuration.currency,
        done_here=visit.ask("done"),
        at=_read_place(visit.ask("at")),
        by=visit.ask("by"),
        default_typed=default_typed,
    )


def _read_place(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else 0


def _read_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


PAGES: RoutedPages = {
    "rules": {"GET": show_rules, "POST": change_list},
    "rules_default": {"GET": show_rules, "POST": change_default},
}
