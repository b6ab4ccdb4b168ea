"""The rules as a file: written out, and taken in as the draft. What is written out reads back as
the same rules."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from dunwell.cases.assignment.checking import check_rules, find_unknown_names
from dunwell.cases.assignment.read_rules import RulesView, read_rules
from dunwell.cases.assignment.rules import (
    RulesDocument,
    compare_rules,
    render_document,
    write_rules,
)
from dunwell.cases.assignment.rules_draft import save_rules_draft
from dunwell.interfaces.portal.rules.looking import check_may
from dunwell.interfaces.portal.rules.views import FilePage
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.responses import answer_file
from dunwell.platform.errors import EditConflict, Fault, ValidationError
from dunwell.platform.text.yaml_document import DocumentFaulty, render_yaml


@at_merchant
async def show_file(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    return await _answer(site, visit, access)


@at_merchant
async def send_file(site: PortalSite, _visit: PortalRequest, access: Access) -> Response:
    check_may(access)
    async with site.work(access) as work:
        view = await read_rules(work)
    name = f"{access.merchant.key}-assignment-rules.yaml"
    return answer_file(_render(view).encode(), "application/yaml; charset=utf-8", name)


@takes_form_at_merchant
async def take_file(
    site: PortalSite, visit: PortalRequest, access: Access, fields: FormFields
) -> Response:
    """Looked at first, when that is asked for; else it becomes the draft."""
    check_may(access)
    text = fields["text"].replace("\r\n", "\n")
    try:
        document = await site.around.documents.read(text, access.person.user_id, check_rules)
        async with site.work(access) as work:
            if fields["do"] != "check":
                await save_rules_draft(work, document, known=fields["revision"])
                return site.redirect(visit, access, "rules", done="file")
            view = await read_rules(work)
        _check_names(view, document)
    except DocumentFaulty as error:
        return await _answer_faults(
            site, visit, access=access, fields=fields, faults=[("", str(error))]
        )
    except ValidationError as refusal:
        found = await _place(site, access, text, refusal.faults)
        return await _answer_faults(site, visit, access=access, fields=fields, faults=found)
    except EditConflict:
        return await _answer(site, visit, access, text, is_conflict=True, status=409)
    page = _make_page(access, view, text, seen=fields["revision"], document=document)
    return site.answer_at(visit, access, page)


def _check_names(view: RulesView, document: RulesDocument) -> None:
    """Raises ValidationError."""
    known = {row.name for row in view.workflows.values() if not row.is_deleted}
    faults = list(find_unknown_names(document, known))
    if faults:
        raise ValidationError(faults)


async def _answer(
    site: PortalSite, visit: PortalRequest, access: Access, text: str | None = None, *,
    is_conflict: bool = False, status: int = 200,
) -> Response:  # fmt: skip
    check_may(access)
    async with site.work(access) as work:
        view = await read_rules(work)
    page = _make_page(access, view, text)
    if is_conflict:
        page = msgspec.structs.replace(page, others=_render(view))
    return site.answer_at(visit, access, page, status)


async def _answer_faults(
    site: PortalSite,
    visit: PortalRequest,
    access: Access,
    fields: FormFields,
    faults: Sequence[tuple[str, str]],
) -> Response:
    """faults: where in the text, by the line, and what is wrong there."""
    async with site.work(access) as work:
        view = await read_rules(work)
    page = _make_page(access, view, fields["text"], seen=fields["revision"], faults=faults)
    return site.answer_at(visit, access, page, 422)


def _make_page(
    access: Access, view: RulesView, text: str | None, *, seen: str = "",
    faults: Sequence[tuple[str, str]] = (), document: RulesDocument | None = None,
) -> FilePage:  # fmt: skip
    """seen: the revision that the text was written against; none: it is read now."""
    return FilePage(
        revision=seen or view.revision,
        is_draft=view.drafted is not None,
        text=_render(view) if text is None else text,
        faults=faults,
        differences=[*compare_rules(view.published, document)] if document else (),
        is_checked=document is not None,
        others="",
        currency=access.merchant.configuration.currency,
    )


def _render(view: RulesView) -> str:
    return render_yaml(render_document(write_rules(view.edited, view.names)))


async def _place(
    site: PortalSite, access: Access, text: str, faults: Sequence[Fault]
) -> list[tuple[str, str]]:
    """Each with the line that it is in."""
    places = [_split(each.path) for each in faults]
    lines = await site.around.documents.find_lines(text, places, access.person.user_id)
    return [(str(line), each.message) for line, each in zip(lines, faults, strict=True)]


def _split(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


PAGES: RoutedPages = {
    "rules_file": {"GET": show_file, "POST": take_file},
    "rules_download": {"GET": send_file},
}
