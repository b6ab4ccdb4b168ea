"""The response templates of a merchant."""

from starlette.responses import Response

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.response_templates import (
    add_response_template,
    list_response_templates,
    remove_response_template,
)
from dunwell.interfaces.portal.disputes.views import ResponseTemplatesPage
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import read_id
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import NotFound, ValidationError


@at_merchant
async def show_texts(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    return await _answer(site, visit, access)


@takes_form_at_merchant
async def submit_template(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    name, text = fields.text("name"), fields.text("text")
    try:
        async with site.work(access) as work:
            await add_response_template(work, name, text)
    except ValidationError as refusal:
        faults = [(each.path.rpartition("/")[2], each.code) for each in refusal.faults]
        return await _answer(site, visit, access=access, name=name, text=text, faults=faults)
    return site.redirect(visit, access, "answer_texts", done="saved")


@takes_form_at_merchant
async def drop_text(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, _fields: FormFields
) -> Response:
    async with site.work(access) as work:
        await remove_response_template(work, read_id(visit, "template_id"))
    return site.redirect(visit, access, "answer_texts", done="removed")


@at_merchant
async def redirect_to_templates(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess
) -> Response:
    return site.redirect(visit, access, "answer_texts")


async def _answer(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, name: str = "", text: str = "",
    *,
    faults: list[tuple[str, str]] | None = None,
) -> Response:  # fmt: skip
    if not access.may(Right.ANSWER):
        raise NotFound("There is no such page.")
    async with site.work(access) as work:
        texts = await list_response_templates(work)
    page = ResponseTemplatesPage(texts, name, text, faults or ())
    return site.answer_at(visit, access, page, 422 if faults else 200)


PAGES: RoutedPages = {
    "answer_texts": {"GET": show_texts, "POST": submit_template},
    "answer_text_end": {"GET": redirect_to_templates, "POST": drop_text},
}
