"""What the pages of the settings show."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from dunwell.accounts.merchants.credentials.credential import Credential
from dunwell.accounts.merchants.credentials.store import CredentialRotation
from dunwell.core.events.webhooks.endpoint import EndpointHealth, NewEndpointSecret
from dunwell.core.files.upload import StorageUse
from dunwell.interfaces.portal.setup.brand import BrandView
from dunwell.interfaces.portal.setup.reasons import ReasonRow
from dunwell.interfaces.web.forms import Field, Form, PlacedFaults
from dunwell.interfaces.web.templates import Page
from dunwell.operations.merchant_file.changes import ApplyReport
from dunwell.operations.merchant_file.checklist import Checklist
from dunwell.platform.errors import Fault


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
    beside: tuple[int, str] | None
    beside_key: str
    live_credentials: int
    endpoints: int
    # One is published.
    has_process: bool
    has_rules: bool
    has_brand: bool
    storage: StorageUse


class SectionPage(_SettingsPage, frozen=True):
    """`stored`: what of it is stored otherwise, by the field's name,
    when somebody else was faster. `rows`: of the reasons to dispute."""

    template: ClassVar[str] = "settings_section.html"

    section: str
    is_weighty: bool
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


class ConfirmPage(_SettingsPage, frozen=True):
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


class ChangesPage(_SettingsPage, frozen=True):
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


class SecretShownPage(_SettingsPage, frozen=True):
    """The one answer that bears a secret."""

    template: ClassVar[str] = "credential_secret.html"

    client_id: str
    client_secret: str
    is_rotated: bool


class HooksPage(_SettingsPage, frozen=True):
    """`made`: an endpoint that was added just now, with its secret."""

    template: ClassVar[str] = "settings_webhooks.html"

    endpoints: Sequence[EndpointHealth]
    types: Sequence[str]
    typed: Mapping[str, Any]
    faults: PlacedFaults
    made: NewEndpointSecret | None = None


class ClockPage(_SettingsPage, frozen=True):
    """`now`, `next_at`: the merchant's. `came`: events since `since`, the newest last."""

    template: ClassVar[str] = "clock.html"

    now: datetime
    next_at: datetime | None
    since: datetime | None
    came: Sequence[Mapping[str, Any]]
    has_more: bool
    typed: str
    error: str
