"""What the pages about people show."""

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

# What is wrong with a form: by field, the name of what to say (`_people_faults.html`).
Faults = Mapping[str, str]


class SignInPage(Page, frozen=True):
    template: ClassVar[str] = "sign_in.html"

    # What was typed, and the page of ours that is asked for.
    email: str = ""
    next: str = ""
    # WRONG, TOO_OFTEN, LOCKED, GONE, PASSKEY, SSO_ and the name of a failure, or "".
    fault: str = ""
    minutes: int = 0
    has_passkeys: bool = False
    # Of single sign-on; whether break-glass admins alone come in without; and as which one is
    # called that the fault is about.
    providers: Sequence[IdentityProviderSettings] = ()
    is_required: bool = False
    title: str = ""
    # The provider that somebody signed in with who has just signed out here.
    left: IdentityProviderSettings | None = None


class SignOnRefusedPage(Page, frozen=True):
    """Somebody whom the provider knows is not let in."""

    template: ClassVar[str] = "unwelcome.html"

    # NO_GROUP, WEAK, ENDED, NO_EMAIL, EMAIL_TAKEN or OVER.
    reason: str
    title: str
    # By the provider's word.
    email: str
    # What links the two, for EMAIL_TAKEN.
    command: str


class ConfirmationPage(Page, frozen=True):
    """What came of a fresh sign-in at the provider that was to confirm a session."""

    template: ClassVar[str] = "confirmation.html"

    # As of `ConfirmationFailure`, or TOO_OFTEN; "": it is confirmed.
    failure: str
    # The provider's, as its button says it.
    title: str
    minutes: int = 0


class SecondFactorPage(Page, frozen=True):
    """The app's code, or a recovery code, behind a right password."""

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
    # Of the authenticator app: in base32, in groups, and as a picture of its address.
    secret: str
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
    # The session began where they never signed in before: was that you?
    is_new_network: bool
    faults: Faults


class PasswordPage(Page, frozen=True):
    template: ClassVar[str] = "account_password.html"

    has_password: bool
    email: str
    faults: Faults
    minutes: int = 0


class AppPage(Page, frozen=True):
    """An authenticator app that is to be given its secret; none: it was not started yet."""

    template: ClassVar[str] = "account_app.html"

    has_password: bool
    secret: str
    code_image: Markup
    address: str
    faults: Faults
    minutes: int = 0


class CodesPage(Page, frozen=True):
    template: ClassVar[str] = "account_codes.html"

    # As they are printed; none: they are not shown any more.
    codes: Sequence[str]
    left: int
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
    # By merchant.
    roles: Mapping[int, str]
    faults: Faults


class OneTimeLinkPage(Page, frozen=True):
    """A one-time address, shown to whoever made it, this once."""

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
    # Those that have not ended, the newest first.
    sessions: Sequence[SessionRow]
    is_own_account: bool
    # What was typed and not saved, as somebody else was faster.
    typed_global_role: str
    typed_roles: Mapping[int, str]
    faults: Faults


class InstallationAuditRow(msgspec.Struct, frozen=True, gc=False):
    """Names in place of ids, where they are known."""

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
    of: str
    # Behind which the next page begins; "": it is the last.
    after: str
