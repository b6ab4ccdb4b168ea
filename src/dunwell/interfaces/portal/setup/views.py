"""The pages of the settings, and what their routes share: the permission, the choices of the
installation and the preview of the brand."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar
from zoneinfo import available_timezones

import msgspec

from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.configuration import Logo
from dunwell.accounts.merchants.credentials.credential import Credential
from dunwell.accounts.merchants.credentials.store import CredentialRotation
from dunwell.accounts.merchants.rights import Right
from dunwell.adapters.installed import list_adapters
from dunwell.core.events.webhooks.endpoint import EndpointHealth, NewEndpointSecret
from dunwell.core.files.upload import StorageUse
from dunwell.interfaces.portal.setup.sections import AvailableChoices, ReasonRow
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import AmountFormat, Field, FieldFaults, Form
from dunwell.interfaces.web.templates import Page
from dunwell.operations.merchant_file.changes import ApplyReport
from dunwell.operations.merchant_file.check_file import InstallationLimits
from dunwell.operations.merchant_file.checklist import Checklist
from dunwell.operations.merchant_file.logo import LogoMaker
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Fault, NotFound
from dunwell.platform.text.colors import is_color, measure_contrast


class BrandView(msgspec.Struct, frozen=True):
    """The preview of the brand. `color` is "" for none. `contrast` with white has one decimal
    place, rounded down. `legibility` is READ if text in this color is legible on white, SEEN if
    only lines are visible, and UNSEEN otherwise. `logo` is the media type, or "" for none.
    `is_mailed` is true if e-mails contain the logo."""

    color: str = ""
    contrast: str = ""
    legibility: str = ""
    logo: str = ""
    logo_bytes: int = 0
    is_mailed: bool = False


class _SettingsPage(Page, frozen=True):
    area: ClassVar[str] = "settings"


class NewMerchantPage(Page, frozen=True):
    template: ClassVar[str] = "merchant_new.html"

    typed: Mapping[str, str]
    faults: FieldFaults
    timezones: Sequence[str]


class MerchantSettingsPage(_SettingsPage, frozen=True):
    """The overview of the settings. `section_of` maps keys of the checklist to sections.
    `counterpart` is the id and key of a live merchant's sandbox, or of a sandbox's live merchant,
    if it exists; `counterpart_key` is the key that it has or would get."""

    template: ClassVar[str] = "settings.html"

    checklist: Checklist
    section_of: Mapping[str, str]
    sections: Sequence[str]
    counterpart: tuple[int, str] | None
    counterpart_key: str
    active_credentials: int
    endpoints: int
    has_published_workflow: bool
    has_rules: bool
    has_brand: bool
    storage: StorageUse


class SectionPage(_SettingsPage, frozen=True):
    """The form of a section. `stored` has the stored values that differ from the entered ones, by
    field, after a conflict. `rows` are the reasons to dispute."""

    template: ClassVar[str] = "settings_section.html"

    section: str
    needs_confirmation: bool
    form: Form
    groups: Sequence[tuple[str, Sequence[Field]]]
    revision: str
    faults: FieldFaults
    stored: Mapping[str, object]
    is_conflict: bool
    rows: Sequence[ReasonRow]
    languages: Sequence[str]
    brand: BrandView | None
    timezones: Sequence[str]


class SettingsConfirmPage(_SettingsPage, frozen=True):
    """The preview of a change. `hidden_fields` repeat all entered values."""

    template: ClassVar[str] = "settings_confirm.html"

    section: str
    differences: Sequence[tuple[str, object, object]]
    hidden_fields: Sequence[tuple[str, str]]
    revision: str


class MerchantFilePage(_SettingsPage, frozen=True):
    template: ClassVar[str] = "settings_file.html"

    text: str
    # The faults of the submitted file.
    faults: Sequence[Fault]
    typed: str


class FileChangesPage(_SettingsPage, frozen=True):
    """The changes that a file would make, or has made if `is_applied`; then they include new
    secrets."""

    template: ClassVar[str] = "settings_changes.html"

    report: ApplyReport
    text: str
    publish: bool
    revision: int
    is_applied: bool = False
    is_conflict: bool = False


class CredentialsPage(_SettingsPage, frozen=True):
    template: ClassVar[str] = "credentials.html"

    credentials: Sequence[Credential]
    typed: Mapping[str, Any]
    faults: FieldFaults
    scopes: Sequence[str]


class CredentialPage(_SettingsPage, frozen=True):
    template: ClassVar[str] = "credential.html"

    credential: Credential
    rotation: CredentialRotation
    is_conflict: bool = False


class CredentialSecretPage(_SettingsPage, frozen=True):
    """The only page that shows a new secret."""

    template: ClassVar[str] = "credential_secret.html"

    client_id: str
    client_secret: str
    is_rotated: bool


class WebhookSettingsPage(_SettingsPage, frozen=True):
    """The endpoints. `created` is a new endpoint with its secret."""

    template: ClassVar[str] = "settings_webhooks.html"

    endpoints: Sequence[EndpointHealth]
    types: Sequence[str]
    typed: Mapping[str, Any]
    faults: FieldFaults
    created: NewEndpointSecret | None = None


class ClockPage(_SettingsPage, frozen=True):
    """The test clock. `now` and `next_at` are times of the merchant's clock. `new_events` are the
    events since `since`, the newest last."""

    template: ClassVar[str] = "clock.html"

    now: datetime
    next_at: datetime | None
    since: datetime | None
    new_events: Sequence[Mapping[str, Any]]
    has_more: bool
    typed: str
    error: str


_WHITE = "#ffffff"
# The limits of the e-mails (WCAG 2): for lines, and for text.
_VISIBLE_CONTRAST, _READABLE_CONTRAST = 3.0, 4.5


def build_brand_view(color: str, logo: Logo | None) -> BrandView:
    view = BrandView()
    if logo is not None:
        size, is_mailed = len(logo.content), logo.png is not None
        view = BrandView(logo=logo.content_type, logo_bytes=size, is_mailed=is_mailed)
    known = color.strip().lower()
    if not is_color(known):
        return view
    contrast = measure_contrast(known, _WHITE)
    legibility = (
        "READ"
        if contrast >= _READABLE_CONTRAST
        else "SEEN"
        if contrast >= _VISIBLE_CONTRAST
        else "UNSEEN"
    )
    tenths = int(contrast * 10)
    rendered_contrast = f"{tenths // 10}.{tenths % 10}"
    return msgspec.structs.replace(
        view, color=known, contrast=rendered_contrast, legibility=legibility
    )


# Time zones named after places, without aliases.
TIMEZONES = sorted(
    each for each in available_timezones() if "/" in each and not each.startswith(("Etc/", "posix"))
)


def check_may_configure(access: MerchantAccess) -> None:
    """Raise NotFound if the user lacks the permission: the page must not be distinguishable from
    a missing one."""
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")


def get_installation_limits(site: PortalSite) -> InstallationLimits:
    settings = site.resources.settings
    return InstallationLimits(
        list_adapters(settings), settings.is_development, {*site.debtors.providers}
    )


def open_logo_maker(site: PortalSite, access: MerchantAccess) -> LogoMaker:
    """Return a logo maker with the child processes that also check uploads and print previews."""
    return LogoMaker(site.debtors.inspector, site.debtors.printer, access.person.user_id)


async def load_choices(
    site: PortalSite, tx: Connection, access: MerchantAccess
) -> AvailableChoices:
    """Return the choices of the installation. A sandbox sends nothing to the outside, so it has no
    delivery providers and no connections to banks."""
    limits = get_installation_limits(site)
    delivery_providers: dict[str, list[str]] = {}
    banks: list[str] = []
    if not access.merchant.is_sandbox:
        installation = (await load_installation(tx)).installation
        for name, provider in (installation.delivery_providers or {}).items():
            delivery_providers.setdefault(provider.channel, []).append(name)
        banks = list(installation.bank_connections or {})
    return AvailableChoices(
        limits.available_adapters, delivery_providers, limits.available_providers, banks
    )


def get_amount_format(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> AmountFormat:
    language = site.build_context(request, access).language
    return AmountFormat(access.merchant.configuration.currency, language)
