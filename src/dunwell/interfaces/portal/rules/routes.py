"""The list of assignment rules, editing the list, and importing and exporting it as a file."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec
from starlette.responses import Response

from dunwell.cases.assignment.edit_rules import (
    CopyRule,
    MoveRule,
    RemoveRule,
    SetDefault,
    edit_rules_draft,
)
from dunwell.cases.assignment.rules import (
    RulesDocument,
    build_document,
    compare_rules,
    list_unknown_name_faults,
    parse_rules,
    render_document,
)
from dunwell.cases.assignment.rules_draft import save_rules_draft
from dunwell.cases.assignment.rules_views import RulesView, get_rules
from dunwell.interfaces.portal.rules.views import (
    LoadedRules,
    RulesFilePage,
    RulesPage,
    build_rule_rows,
    check_page_access,
    load_rules,
)
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_file_response
from dunwell.platform.errors import EditConflict, Fault, ValidationError
from dunwell.platform.text.yaml_document import InvalidDocument, render_yaml

_MOVES: Mapping[str, int] = {"up": -1, "down": 1}


@at_merchant
async def get_rules_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_page(site, request, access)


@takes_form_at_merchant
async def submit_rule_change(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Move, copy or remove one rule, unless the list was changed since it was rendered."""
    check_page_access(access)
    name, action, position = fields["name"], fields["do"], _parse_position(fields["place"])
    position = max(0, position + _MOVES.get(action, 0))
    edit: MoveRule | CopyRule | RemoveRule = MoveRule(name, position)
    if action == "copy":
        edit = CopyRule(name)
    elif action == "remove":
        edit = RemoveRule(name)
    try:
        async with site.open_work(access) as work:
            await edit_rules_draft(work, edit, expected_revision=fields["revision"])
    except EditConflict:
        return site.redirect(request, access, "rules", done="conflict")
    except ValidationError:
        return site.redirect(request, access, "rules", done="too_many")
    if isinstance(edit, MoveRule):
        return site.redirect(request, access, "rules", done="moved", at=position + 1, by=action)
    return site.redirect(request, access, "rules", done=f"rule_{action}")


@takes_form_at_merchant
async def submit_default(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    check_page_access(access)
    wanted = fields["default"]
    try:
        async with site.open_work(access) as work:
            loaded = await load_rules(work)
            ids = {row.name: row.workflow_id for row in loaded.view.workflows.values()}
            edit = SetDefault(ids.get(wanted), _parse_uuid(fields["known_default"]))
            await edit_rules_draft(work, edit)
    except EditConflict:
        return await _render_page(site, request, access, default_typed=wanted, status=409)
    return site.redirect(request, access, "rules", done="default")


async def _render_page(
    site: PortalSite,
    request: PortalRequest,
    access: MerchantAccess,
    *,
    default_typed: str | None = None,
    status: int = 200,
) -> Response:
    check_page_access(access)
    async with site.open_work(access) as work:
        loaded = await load_rules(work)
    return site.render_merchant_page(
        request, access, _build_page(request, access, loaded, default_typed), status
    )


def _build_page(
    request: PortalRequest, access: MerchantAccess, loaded: LoadedRules, default_typed: str | None
) -> RulesPage:
    view = loaded.view
    published = view.published if view.draft_rules else None
    obstacles = {each.name: each.obstacle for each in loaded.choices}
    default = loaded.document.default
    return RulesPage(
        view=view,
        rows=build_rule_rows(loaded.rulebook, loaded.document, loaded.overlaps, published),
        default=default,
        default_id=str(view.edited.default or ""),
        default_obstacle=obstacles.get(default, "SKIPPED_DELETED") if default else "",
        choices=loaded.choices,
        differences=[*compare_rules(view.published, loaded.document)] if view.draft_rules else (),
        author_names=loaded.author_names,
        currency=access.merchant.configuration.currency,
        result_code=request.get_parameter("done"),
        at=_parse_position(request.get_parameter("at")),
        by=request.get_parameter("by"),
        default_typed=default_typed,
    )


def _parse_position(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else 0


def _parse_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


@at_merchant
async def get_file_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_file_page(site, request, access)


@at_merchant
async def send_file(site: PortalSite, _request: PortalRequest, access: MerchantAccess) -> Response:
    check_page_access(access)
    async with site.open_work(access) as work:
        view = await get_rules(work)
    name = f"{access.merchant.key}-assignment-rules.yaml"
    return build_file_response(_render_file(view).encode(), "application/yaml; charset=utf-8", name)


@takes_form_at_merchant
async def submit_file(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Check the file, or save it as the draft."""
    check_page_access(access)
    text = fields["text"].replace("\r\n", "\n")
    try:
        document = await site.services.documents.read(text, access.person.user_id, parse_rules)
        async with site.open_work(access) as work:
            if fields["do"] != "check":
                await save_rules_draft(work, document, expected_revision=fields["revision"])
                return site.redirect(request, access, "rules", done="file")
            view = await get_rules(work)
        _check_names(view, document)
    except InvalidDocument as error:
        return await _render_faults_page(
            site, request, access=access, fields=fields, faults=[("", str(error))]
        )
    except ValidationError as refusal:
        line_faults = await _locate_faults(site, access, text, refusal.faults)
        return await _render_faults_page(
            site, request, access=access, fields=fields, faults=line_faults
        )
    except EditConflict:
        return await _render_file_page(site, request, access, text, is_conflict=True, status=409)
    page = _build_file_page(
        access, view, text, known_revision=fields["revision"], document=document
    )
    return site.render_merchant_page(request, access, page)


def _check_names(view: RulesView, document: RulesDocument) -> None:
    """Check that every workflow in the rules exists. Raises ValidationError."""
    known = {row.name for row in view.workflows.values() if not row.is_deleted}
    faults = list(list_unknown_name_faults(document, known))
    if faults:
        raise ValidationError(faults)


async def _render_file_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, text: str | None = None, *,
    is_conflict: bool = False, status: int = 200,
) -> Response:  # fmt: skip
    check_page_access(access)
    async with site.open_work(access) as work:
        view = await get_rules(work)
    page = _build_file_page(access, view, text)
    if is_conflict:
        page = msgspec.structs.replace(page, current_text=_render_file(view))
    return site.render_merchant_page(request, access, page, status)


async def _render_faults_page(
    site: PortalSite,
    request: PortalRequest,
    access: MerchantAccess,
    fields: FormFields,
    faults: Sequence[tuple[str, str]],
) -> Response:
    """Render the page of the file with its faults, each as the line number and the message."""
    async with site.open_work(access) as work:
        view = await get_rules(work)
    page = _build_file_page(
        access, view, fields["text"], known_revision=fields["revision"], faults=faults
    )
    return site.render_merchant_page(request, access, page, 422)


def _build_file_page(
    access: MerchantAccess, view: RulesView, text: str | None, *, known_revision: str = "",
    faults: Sequence[tuple[str, str]] = (), document: RulesDocument | None = None,
) -> RulesFilePage:  # fmt: skip
    """Build the page of the file. `known_revision` is the revision on which the text is based;
    "" uses the current one."""
    return RulesFilePage(
        revision=known_revision or view.revision,
        is_draft=view.draft_rules is not None,
        text=_render_file(view) if text is None else text,
        faults=faults,
        differences=[*compare_rules(view.published, document)] if document else (),
        is_checked=document is not None,
        current_text="",
        currency=access.merchant.configuration.currency,
    )


def _render_file(view: RulesView) -> str:
    return render_yaml(render_document(build_document(view.edited, view.names)))


async def _locate_faults(
    site: PortalSite, access: MerchantAccess, text: str, faults: Sequence[Fault]
) -> list[tuple[str, str]]:
    """Return the faults with their line numbers."""
    paths = [_split_pointer(each.path) for each in faults]
    lines = await site.services.documents.list_lines(text, paths, access.person.user_id)
    return [(str(line), each.message) for line, each in zip(lines, faults, strict=True)]


def _split_pointer(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


PAGES: RoutedPages = {
    "rules": {"GET": get_rules_page, "POST": submit_rule_change},
    "rules_default": {"GET": get_rules_page, "POST": submit_default},
    "rules_file": {"GET": get_file_page, "POST": submit_file},
    "rules_download": {"GET": send_file},
}
