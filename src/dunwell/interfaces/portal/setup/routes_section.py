"""One section of the settings: its form, the preview of a change, and saving it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any, Self

from starlette.responses import Response

from dunwell.accounts.merchants.configuration import Logo
from dunwell.interfaces.portal.setup.sections import (
    SECTIONS,
    AvailableChoices,
    Section,
    flatten_reasons,
    flatten_section,
    list_fields,
    list_reason_languages,
    list_reason_rows,
    parse_reasons,
    unflatten_section,
)
from dunwell.interfaces.portal.setup.views import (
    TIMEZONES,
    SectionPage,
    SettingsConfirmPage,
    build_brand_view,
    check_may_configure,
    get_amount_format,
    get_installation_limits,
    load_choices,
    open_logo_maker,
)
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.confirm_identity import SensitiveAction, confirmed
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.web.uploads import Upload, takes_upload_at_merchant
from dunwell.interfaces.web.forms import (
    AmountFormat,
    Field,
    FieldFaults,
    FieldKind,
    Form,
    FormContent,
    FormFields,
    Typed,
    find_field,
    parse_fields,
    render_fields,
)
from dunwell.interfaces.web.responses import build_asset_response
from dunwell.operations.merchant_file.change_settings import (
    SettingsChange,
    check_settings,
    get_settings,
    save_settings,
)
from dunwell.operations.merchant_file.logo import LOGO_POINTER
from dunwell.operations.merchant_file.logo_image import ImageRefused
from dunwell.operations.merchant_file.settings import compute_parts_revision
from dunwell.platform.errors import EditConflict, Fault, NotFound, ValidationError

_REASON_PREFIX = "disputes.reasons."


@dataclass(frozen=True, slots=True)
class SectionForm(Form):
    """The form of a section. `document` has the settings as in the merchant file. `seen_revision`
    is the revision that the user saw; if it is "", the form shows what is stored now."""

    section: Section
    document: Mapping[str, Any]
    seen_revision: str = ""

    @property
    def revision(self) -> str:
        """The revision that must still be stored when the form is saved."""
        return self.seen_revision or compute_parts_revision(self.document, self.section.keys)

    def with_sent_fields(self, sent: FormFields) -> Self:
        form = replace(Form.with_sent_fields(self, sent), seen_revision=sent["revision"])
        if self.section.name != "disputes":
            return form
        reasons = {name: sent.text(name) for name in sent if name.startswith(_REASON_PREFIX)}
        return replace(form, typed={**form.typed, **reasons})

    def parse_content(self) -> FormContent:
        """Return the values by the keys of the merchant file, and the faults of unreadable
        values."""
        content = parse_fields(self.fields, self.typed, self.amounts)
        if self.section.name == "disputes":
            reasons = [each for _, each in parse_reasons(self.typed, self.document)]
            content.parts.setdefault("disputes", {})["reasons"] = reasons
        return replace(content, parts=unflatten_section(self.section.name, content.parts))

    def locate_faults(
        self, faults: Sequence[Fault], root: str = "", fallback: str = ""
    ) -> FieldFaults:
        located = Form.locate_faults(self, faults, root, fallback)
        if self.section.name != "disputes":
            return located
        return [(self._find_reason_field(fault.path) or name, fault) for name, fault in located]

    def _find_reason_field(self, pointer: str) -> str:
        """Return the field of the reason to dispute that a fault concerns, or "" for other
        faults."""
        path = pointer.removeprefix("/").replace("/", ".")
        if not path.startswith(_REASON_PREFIX):
            return ""
        index, _, key = path.removeprefix(_REASON_PREFIX).partition(".")
        rows = parse_reasons(self.typed, self.document)
        row = rows[int(index)][0] if index.isdecimal() and int(index) < len(rows) else ""
        return find_field(
            [name for name in self.typed if name.startswith(f"{row}.")], f"/{row}.{key}"
        )


def open_section_form(
    section: Section, document: Mapping[str, Any], choices: AvailableChoices, amounts: AmountFormat
) -> SectionForm:
    fields = list_fields(section, document, choices)
    stored = render_fields(fields, flatten_section(section.name, document), amounts)
    fields = [_keep_stored_option(each, stored[each.name]) for each in fields]
    if section.name == "disputes":
        stored = {**stored, **flatten_reasons(document)}
    return SectionForm(
        fields, stored=stored, typed=stored, amounts=amounts, section=section, document=document
    )


def _keep_stored_option(field: Field, stored: str | Sequence[str]) -> Field:
    """Keep the stored value as an option if the installation no longer offers it."""
    if field.kind not in (FieldKind.PICK, FieldKind.PICKS):
        return field
    values = [stored] if isinstance(stored, str) else stored
    missing = [each for each in values if each and each not in field.options]
    return replace(field, options=(*field.options, *missing))


@at_merchant
async def get_section_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    check_may_configure(access)
    form = await _open_form(site, request, access)
    return _render_page(site, request, access, form=form)


def _changes_bank_account(request: PortalRequest, fields: FormFields) -> bool:
    """Changing a bank account changes where money goes, so it needs a confirmation."""
    return request.path_params["section"] in ("payment", "debit") and fields["do"] == "save"


@takes_upload_at_merchant
@confirmed(SensitiveAction.BANK_ACCOUNT, when=_changes_bank_account)
async def submit_section(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, upload: Upload
) -> Response:
    """Handle the buttons: "look" shows the form again, "save" (on the preview) saves it. The
    button of the form shows a preview if the section requires one, and otherwise saves it."""
    check_may_configure(access)
    form = (await _open_form(site, request, access)).with_sent_fields(upload.fields)
    do = upload.fields["do"]
    if do == "look":
        return _render_page(site, request, access, form=form)
    content = form.parse_content()
    logo, logo_faults = await _choose_logo(site, access, upload)
    if "brand" in content.parts and logo is not None:
        # A placeholder: the image itself is passed separately.
        content.parts["brand"]["logo"] = "logo"
    change = SettingsChange(content.parts, form.revision, logo)
    if content.faults or logo_faults:
        # For keys without a readable value the stored value is checked.
        stored = {key: form.document.get(key) for key in form.section.keys}
        readable = replace(change, parts={**stored, **content.parts})
        other_faults = await _list_other_faults(site, access, form=form, change=readable)
        faults = FormContent(faults=[*content.faults, *logo_faults]).combine_faults(other_faults)
        return _render_page(site, request, access, form=form, faults=faults)
    needs_preview = form.section.needs_confirmation and do != "save"
    try:
        if needs_preview:
            return await _render_confirmation(site, request, access, form=form, change=change)
        async with site.open_work(access) as work:
            is_new = await save_settings(
                work, site.resources, change, get_installation_limits(site)
            )
    except ValidationError as refusal:
        faults = form.locate_faults(refusal.faults)
        return _render_page(site, request, access, form=form, faults=faults)
    except EditConflict:
        form = (await _open_form(site, request, access)).with_sent_fields(upload.fields)
        form = replace(form, seen_revision="")
        return _render_page(site, request, access, form=form, is_conflict=True)
    return site.redirect(request, access, "settings", done="saved" if is_new else "unchanged")


async def _list_other_faults(
    site: PortalSite,
    access: MerchantAccess,
    *,
    form: SectionForm,
    change: SettingsChange,
) -> FieldFaults:
    """Return the faults of the readable values, so that the form shows all errors at once."""
    try:
        async with site.open_work(access) as work:
            await check_settings(work, site.resources, change, get_installation_limits(site))
    except ValidationError as refusal:
        return form.locate_faults(refusal.faults)
    except EditConflict:
        # The form keeps its revision, so the conflict is shown when all values are readable.
        return []
    return []


async def _render_confirmation(
    site: PortalSite,
    request: PortalRequest,
    access: MerchantAccess,
    *,
    form: SectionForm,
    change: SettingsChange,
) -> Response:
    """Render the preview of the change, with a button that saves it."""
    async with site.open_work(access) as work:
        await check_settings(work, site.resources, change, get_installation_limits(site))
    differences = list(form.list_differences())
    if not differences:
        return site.redirect(request, access, "settings", done="unchanged")
    page = SettingsConfirmPage(
        form.section.name,
        differences,
        _list_hidden_fields(form.typed),
        change.revision,
    )
    return site.render_merchant_page(request, access, page)


@at_merchant
async def get_logo(_site: PortalSite, _request: PortalRequest, access: MerchantAccess) -> Response:
    """Return the logo as it appears in e-mails: a PNG that Dunwell rendered itself."""
    check_may_configure(access)
    logo = access.merchant.configuration.brand.logo
    if logo is None or logo.png is None:
        raise NotFound("There is no logo.")
    return build_asset_response(logo.png, "image/png", is_immutable=False)


async def _choose_logo(
    site: PortalSite, access: MerchantAccess, upload: Upload
) -> tuple[Logo | None, FieldFaults]:
    """Return the checked image from the upload, or the stored logo unless it is to be removed, and
    the faults of the image."""
    if "logo" in upload.too_large:
        return None, [("logo", Fault(LOGO_POINTER, "It is larger than 50 KB.", "WRONG_IMAGE"))]
    if "logo" not in upload.files:
        return (None if upload.fields["no_logo"] else access.merchant.configuration.brand.logo), []
    try:
        return await open_logo_maker(site, access).make_logo(upload.files["logo"]), []
    except ImageRefused as refusal:
        return None, [("logo", Fault(LOGO_POINTER, str(refusal), "WRONG_IMAGE"))]


async def _open_form(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> SectionForm:
    """Return the form of the section in the path. Raises NotFound."""
    section = SECTIONS.get(request.path_params["section"])
    if section is None:
        raise NotFound("There is no such page.")
    async with site.open_work(access) as work:
        document = await get_settings(work)
        choices = await load_choices(site, work.tx, access)
    return open_section_form(section, document, choices, get_amount_format(site, request, access))


def _render_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, form: SectionForm,
    faults: FieldFaults = (), is_conflict: bool = False,
) -> Response:  # fmt: skip
    name, brand = form.section.name, None
    if name == "brand":
        color = str(form.typed.get("brand.color", ""))
        brand = build_brand_view(color, access.merchant.configuration.brand.logo)
    stored = {field: before for field, before, _ in form.list_differences()}
    page = SectionPage(
        section=name,
        needs_confirmation=form.section.needs_confirmation,
        form=form,
        groups=[(group, list(each)) for group, each in groupby(form.fields, attrgetter("group"))],
        revision=form.revision,
        faults=faults,
        stored=stored if is_conflict else {},
        is_conflict=is_conflict,
        rows=list_reason_rows(form.typed) if name == "disputes" else (),
        languages=list_reason_languages(form.document) if name == "disputes" else (),
        brand=brand,
        timezones=TIMEZONES if name == "account" else (),
    )
    status = 409 if is_conflict else 422 if faults else 200
    return site.render_merchant_page(request, access, page, status)


def _list_hidden_fields(typed: Typed) -> list[tuple[str, str]]:
    return [
        (name, each)
        for name, value in typed.items()
        for each in ([value] if isinstance(value, str) else value)
    ]


PAGES: RoutedPages = {
    "settings_logo": {"GET": get_logo},
    "settings_section": {"GET": get_section_page, "POST": submit_section},
}
