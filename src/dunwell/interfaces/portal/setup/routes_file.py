"""The merchant file: export it, and preview and apply a submitted one."""

from collections.abc import Sequence

from starlette.responses import Response

from dunwell.accounts.merchants.store import load_merchant
from dunwell.interfaces.portal.setup.views import (
    FileChangesPage,
    MerchantFilePage,
    check_may_configure,
    get_installation_limits,
    open_logo_maker,
)
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.confirm_identity import SensitiveAction, confirmed
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.web.uploads import Upload, takes_upload_at_merchant
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_file_response
from dunwell.operations.merchant_file.apply_file import (
    apply_given_file,
    export_merchant_file,
    parse_given_file,
    plan_given_file,
)
from dunwell.operations.merchant_file.read_file import MerchantFileSource
from dunwell.platform.errors import EditConflict, Fault, ValidationError
from dunwell.platform.text.yaml_document import render_yaml


@at_merchant
async def get_file_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_file_page(site, request, access)


@at_merchant
async def send_file(site: PortalSite, _request: PortalRequest, access: MerchantAccess) -> Response:
    check_may_configure(access)
    text = await _export(site, access)
    return build_file_response(text.encode(), "application/yaml", f"{access.merchant.key}.yaml")


@at_merchant
async def redirect_to_file(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Redirect a GET of the preview, such as a reload or a change of the language."""
    check_may_configure(access)
    return site.redirect(request, access, "settings_file")


def _is_applying(_request: PortalRequest, fields: FormFields) -> bool:
    return fields["do"] == "apply"


@takes_upload_at_merchant
@confirmed(SensitiveAction.MERCHANT_FILE, when=_is_applying)
async def submit_file(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, upload: Upload
) -> Response:
    """Preview the file, or apply it if the field `do` is "apply" and nothing has changed since the
    preview."""
    check_may_configure(access)
    fields, publish = upload.fields, bool(upload.fields["publish"])
    text = upload.files.get("file", fields["text"].encode()).decode("utf-8", "replace")
    text = text.replace("\r\n", "\n")
    too_large = [Fault("", "It is larger than 1 MB.", "TOO_LARGE")]
    if "file" in upload.too_large or not text.strip():
        faults = too_large if upload.too_large else [Fault("", "No file was given.", "NO_FILE")]
        return await _render_file_page(site, request, access, text=text, faults=faults)
    try:
        if fields["do"] == "apply":
            return await _apply_file(
                site,
                request,
                access,
                text=text,
                publish=publish,
                known_revision=fields["known_revision"],
            )
        return await _render_plan(site, request, access, text=text, publish=publish)
    except ValidationError as refusal:
        return await _render_file_page(site, request, access, text=text, faults=refusal.faults)
    except EditConflict:
        return await _render_plan(
            site, request, access, text=text, publish=publish, is_conflict=True
        )


async def _render_plan(
    site: PortalSite,
    request: PortalRequest,
    access: MerchantAccess,
    *,
    text: str,
    publish: bool,
    is_conflict: bool = False,
) -> Response:
    source, limits = await _parse_file(site, access, text), get_installation_limits(site)
    async with site.open_work(access) as work:
        # Load the merchant first, so that a change made during planning counts as a conflict.
        merchant = await load_merchant(work.tx, work.merchant_id)
        report = await plan_given_file(work, site.resources, source, limits, publish=publish)
    revision = merchant.revision if merchant else 0
    page = FileChangesPage(report, text, publish, revision, is_conflict=is_conflict)
    return site.render_merchant_page(request, access, page, 409 if is_conflict else 200)


async def _parse_file(site: PortalSite, access: MerchantAccess, text: str) -> MerchantFileSource:
    documents, logos = site.services.documents, open_logo_maker(site, access)
    return await parse_given_file(
        text, access.merchant, documents, logos=logos, key=access.person.user_id
    )


async def _apply_file(
    site: PortalSite,
    request: PortalRequest,
    access: MerchantAccess,
    *,
    text: str,
    publish: bool,
    known_revision: str,
) -> Response:
    """Apply the file. The secrets of new endpoints and credentials are shown only in this
    response."""
    source = await _parse_file(site, access, text)
    is_number = known_revision.isascii() and known_revision.isdecimal()
    revision = int(known_revision) if is_number and len(known_revision) < 10 else -1
    async with site.open_work(access) as work:
        report = await apply_given_file(
            work, site.resources, source, get_installation_limits(site),
            publish=publish, known_revision=revision,
        )  # fmt: skip
    page = FileChangesPage(report, "", publish, 0, is_applied=True)
    return site.render_merchant_page(request, access, page)


async def _render_file_page(
    site: PortalSite,
    request: PortalRequest,
    access: MerchantAccess,
    *,
    text: str = "",
    faults: Sequence[Fault] = (),
) -> Response:
    check_may_configure(access)
    page = MerchantFilePage(await _export(site, access), faults, text if faults else "")
    return site.render_merchant_page(request, access, page, 422 if faults else 200)


async def _export(site: PortalSite, access: MerchantAccess) -> str:
    async with site.open_work(access) as work:
        return render_yaml(await export_merchant_file(work, site.resources))


PAGES: RoutedPages = {
    "settings_file": {"GET": get_file_page},
    "settings_yaml": {"GET": send_file},
    "settings_changes": {"GET": redirect_to_file, "POST": submit_file},
}
