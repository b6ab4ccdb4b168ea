"""The pages of the settings, and what their routes share: the permission, the choices of the
installation and the preview of the brand.
"""

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
from dunwell.adapters.installed import list_adapters, list_providers
from dunwell.core.events.webhooks.endpoint import EndpointHealth, NewEndpointSecret
from dunwell.core.files.upload import StorageUse
from dunwell.interfaces.portal.setup.sections import AvailableChoices, ReasonRow
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import AmountFormat, Field, Form, PlacedFaults
from dunwell.interfaces.web.templates import Page
from dunwell.operations.merchant_file.changes import ApplyReport
from dunwell.operations.merchant_file.check_file import InstallationLimits
from dunwell.operations.merchant_file.checklist import Checklist
from dunwell.operations.merchant_file.logo import LogoMaker
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Fault, NotFound
from dunwell.platform.text.colors import is_color, measure_contrast


class BrandView(msgspec.Struct, frozen=True):
    """`color`: what is judged, "" for none. `contrast`: on white, to one place, rounded down.
    `logo`: of which kind; "" for none. `is_mailed`: whether e-mails have it."""

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
    faults: PlacedFaults
    timezones: Sequence[str]


class MerchantSettingsPage(_SettingsPage, frozen=True):
    """`sections`: the names of the forms, in their order. `section_of`: by the key that is needed.
    `beside`: the merchant's sandbox, or the live merchant of a sandbox, if there is one, by its
    number and key; `beside_key`: what it would be called."""

    template: ClassVar[str] = "settings.html"

    checklist: Checklist
    section_of: Mapping[str, str]
    sections: Sequence[str]
    counterpart: tuple[int, str] | None
    counterpart_key: str
    live_credentials: int
    endpoints: int
    # One is published.
    has_published_workflow: bool
    has_rules: bool
    has_brand: bool
    storage: StorageUse


class SectionPage(_SettingsPage, frozen=True):
    """`stored`: what of it is stored otherwise, by the field's name,
    when somebody else was faster. `rows`: of the reasons to dispute."""

    template: ClassVar[str] = "settings_section.html"

    section: str
    needs_confirmation: bool
    form: Form
    groups: Sequence[tuple[str, Sequence[Field]]]
    revision: str
    faults: PlacedFaults
    stored: Mapping[str, object]
    is_conflict: bool
    rows: Sequence[ReasonRow]
    languages: Sequence[str]
    brand: BrandView | None
    timezones: Sequence[str]


class SettingsConfirmPage(_SettingsPage, frozen=True):
    """What would change; `hidden_fields`: all that was typed, once more."""

    template: ClassVar[str] = "settings_confirm.html"

    section: str
    differences: Sequence[tuple[str, object, object]]
    hidden_fields: Sequence[tuple[str, str]]
    revision: str


class MerchantFilePage(_SettingsPage, frozen=True):
    template: ClassVar[str] = "settings_file.html"

    text: str
    # Of what was given and cannot be read.
    faults: Sequence[Fault]
    typed: str


class FileChangesPage(_SettingsPage, frozen=True):
    """What a given file would change; with `is_applied` what it has changed, secrets included."""

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
    faults: PlacedFaults
    scopes: Sequence[str]


class CredentialPage(_SettingsPage, frozen=True):
    template: ClassVar[str] = "credential.html"

    credential: Credential
    rotation: CredentialRotation
    is_conflict: bool = False


class CredentialSecretPage(_SettingsPage, frozen=True):
    """The one answer that bears a secret."""

    template: ClassVar[str] = "credential_secret.html"

    client_id: str
    client_secret: str
    is_rotated: bool


class WebhookSettingsPage(_SettingsPage, frozen=True):
    """`made`: an endpoint that was added just now, with its secret."""

    template: ClassVar[str] = "settings_webhooks.html"

    endpoints: Sequence[EndpointHealth]
    types: Sequence[str]
    typed: Mapping[str, Any]
    faults: PlacedFaults
    created: NewEndpointSecret | None = None


class ClockPage(_SettingsPage, frozen=True):
    """`now`, `next_at`: the merchant's. `came`: events since `since`, the newest last."""

    template: ClassVar[str] = "clock.html"

    now: datetime
    next_at: datetime | None
    since: datetime | None
    new_events: Sequence[Mapping[str, Any]]
    has_more: bool
    typed: str
    error: str


_WHITE = "#ffffff"
# As e-mails judge it: a line is seen, a text is read (WCAG 2).
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
    said = f"{tenths // 10}.{tenths % 10}"
    return msgspec.structs.replace(view, color=known, contrast=said, legibility=legibility)


# Of places: what a clerk looks for, without the aliases.
TIMEZONES = sorted(
    each for each in available_timezones() if "/" in each and not each.startswith(("Etc/", "posix"))
)


def check_may_configure(access: MerchantAccess) -> None:
    """Raises NotFound: denied looks like absent."""
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")


def get_installation_limits(site: PortalSite) -> InstallationLimits:
    settings = site.resources.settings
    return InstallationLimits(
        list_adapters(settings), settings.is_development, list_providers(settings)
    )


def open_logo_maker(site: PortalSite, access: MerchantAccess) -> LogoMaker:
    """With the children that also check uploads and print previews."""
    return LogoMaker(site.debtors.inspector, site.debtors.printer, access.person.user_id)


async def load_choices(
    site: PortalSite, tx: Connection, access: MerchantAccess
) -> AvailableChoices:
    """A sandbox sends nothing outside, so it has no lines to choose from."""
    limits = get_installation_limits(site)
    delivery_providers: dict[str, list[str]] = {}
    if not access.merchant.is_sandbox:
        installation = (await load_installation(tx)).installation
        for name, provider in (installation.delivery_providers or {}).items():
            delivery_providers.setdefault(provider.channel, []).append(name)
    return AvailableChoices(
        limits.available_adapters, delivery_providers, limits.available_providers
    )


def get_amount_format(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> AmountFormat:
    language = site.frame(request, access).language
    return AmountFormat(access.merchant.configuration.currency, language)
