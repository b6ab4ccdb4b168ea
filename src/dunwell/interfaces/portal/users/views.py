"""The pages for signing in, for one's own account, and for managing users."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar
from uuid import UUID

import msgspec
from markupsafe import Markup

from dunwell.accounts.installation.single_sign_on_settings import IdentityProviderSettings
from dunwell.accounts.users.own_account import UserAccount
from dunwell.accounts.users.sessions.store import SessionRow
from dunwell.accounts.users.store import NamedMerchant
from dunwell.accounts.users.user import EffectiveRight, User
from dunwell.interfaces.web.templates import Page

# The faults of a form, by field. The template has the text for each.
Faults = Mapping[str, str]


class SignInPage(Page, frozen=True):
    template: ClassVar[str] = "sign_in.html"

    # The entered e-mail address, and the page to open after the sign-in.
    email: str = ""
    next: str = ""
    # WRONG, TOO_OFTEN, LOCKED, GONE, PASSKEY, "SSO_" followed by a `SignOnFailure`, or "" if there
    # is no fault.
    fault: str = ""
    minutes: int = 0
    has_passkeys: bool = False
    # The providers of single sign-on.
    providers: Sequence[IdentityProviderSettings] = ()
    # True if only admins with emergency access may sign in without a provider.
    is_required: bool = False
    # The name of the provider that the fault concerns.
    title: str = ""
    # The provider of the user who has just signed out.
    left_provider: IdentityProviderSettings | None = None


class SignOnRefusedPage(Page, frozen=True):
    """Tells a user who signed in at the provider why they may not use the portal."""

    template: ClassVar[str] = "unwelcome.html"

    # A `RefusalReason`.
    reason: str
    # The provider's name.
    title: str
    # The address that the provider sent.
    email: str
    # For EMAIL_TAKEN: the command that links the user to the identity.
    command: str


class ConfirmationPage(Page, frozen=True):
    """The result of a new sign-in at the provider that confirms a session."""

    template: ClassVar[str] = "confirmation.html"

    # A `ConfirmationFailure`, TOO_OFTEN, or "" if the session is confirmed.
    failure: str
    # The provider's name, as on its button.
    title: str
    minutes: int = 0


class SecondFactorPage(Page, frozen=True):
    """The form for the app's code, or for a recovery code, after the password."""

    template: ClassVar[str] = "second.html"

    next: str
    is_recovery: bool
    # WRONG, TOO_OFTEN, LOCKED or "".
    fault: str = ""
    minutes: int = 0


class InvitationPage(Page, frozen=True):
    template: ClassVar[str] = "invitation.html"

    link: str
    name: str
    email: str
    # The authenticator app's secret in groups of base32 characters.
    secret: str
    # The QR code of `address`, the otpauth URI that opens an authenticator app.
    code_image: Markup
    address: str
    faults: Faults
    has_passkeys: bool


class InvitationGonePage(Page, frozen=True):
    template: ClassVar[str] = "invitation_gone.html"


class UserAccountPage(Page, frozen=True):
    template: ClassVar[str] = "account.html"

    account: UserAccount
    merchants: Mapping[int, str]
    has_passkeys: bool
    # True if the session began in a network in which the user never signed in before.
    is_new_network: bool
    faults: Faults


class PasswordPage(Page, frozen=True):
    template: ClassVar[str] = "account_password.html"

    has_password: bool
    email: str
    faults: Faults
    minutes: int = 0


class AppPage(Page, frozen=True):
    """The setup of an authenticator app. `secret` is "" if the setup has not been started;
    `address` is the otpauth URI that opens an app, and `code_image` its QR code."""

    template: ClassVar[str] = "account_app.html"

    has_password: bool
    secret: str
    code_image: Markup
    address: str
    faults: Faults
    minutes: int = 0


class CodesPage(Page, frozen=True):
    template: ClassVar[str] = "account_codes.html"

    # Empty if the codes are no longer shown.
    codes: Sequence[str]
    codes_left: int
    has_password: bool
    email: str
    faults: Faults
    minutes: int = 0


class UsersPage(Page, frozen=True):
    template: ClassVar[str] = "people.html"

    users: Sequence[User]
    merchants: Mapping[int, str]


class InvitePage(Page, frozen=True):
    template: ClassVar[str] = "people_invite.html"

    merchants: Sequence[NamedMerchant]
    typed: Mapping[str, str]
    # The roles by merchant id.
    roles: Mapping[int, str]
    faults: Faults


class OneTimeLinkPage(Page, frozen=True):
    """A one-time link, shown only once, to the user who created it."""

    template: ClassVar[str] = "people_link.html"

    name: str
    email: str
    address: str
    expires_at: datetime


class UserPage(Page, frozen=True):
    template: ClassVar[str] = "people_user.html"

    user: User
    merchants: Sequence[NamedMerchant]
    names: Mapping[int, str]
    rights: Sequence[EffectiveRight]
    # The active sessions, the newest first.
    sessions: Sequence[SessionRow]
    is_own_account: bool
    # The role that was chosen and not saved because of a conflict.
    typed_global_role: str
    typed_roles: Mapping[int, str]
    faults: Faults


class InstallationAuditRow(msgspec.Struct, frozen=True, gc=False):
    """An entry of the audit log, with names instead of ids where they are known."""

    audit_id: UUID
    at: datetime
    actor: str
    action: str
    subject: str
    before: str
    after: str
    network: str


class UserAuditPage(Page, frozen=True):
    template: ClassVar[str] = "people_audit.html"

    rows: Sequence[InstallationAuditRow]
    # The user whose entries are shown, or "" for all.
    user_id: str
    # The cursor of the next page, or "" on the last one.
    after: str
