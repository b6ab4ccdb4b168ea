"""A user of the portal: the signed-in user, roles and permissions, and the faults of a new user.
Pure."""

import base64
import hmac
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

from dunwell.accounts.merchants.actor import Actor, Interface, Origin, build_user_actor
from dunwell.accounts.merchants.rights import ROLE_RIGHTS, Right, Role
from dunwell.platform.errors import Fault
from dunwell.platform.text.texts import is_email_address, is_printable

Language: TypeAlias = Literal["en", "de"]
LANGUAGES: tuple[Language, ...] = ("en", "de")
_FORM_PURPOSE = b"dunwell portal form"
_NO_RIGHTS: frozenset[Right] = frozenset()


@dataclass(frozen=True, slots=True)
class SignedInUser:
    """The signed-in user of a session.

    `global_role` is the role at all merchants, including future ones: ADMIN, OPERATOR or AUDITOR.
    `memberships` are roles at single merchants. `csrf` is the token in every form of the session.
    `network` is where the user signed in from, shortened.
    """

    user_id: UUID
    session_id: UUID
    email: str
    name: str
    language: Language
    global_role: Role | None
    memberships: Mapping[int, Role]
    csrf: str
    network: str | None = None
    # When the user last confirmed their identity in this session (`confirm_session`).
    confirmed_at: datetime | None = None
    # True if form values are saved that were sent after an earlier session had ended.
    has_kept_forms: bool = False

    def rights_at(self, merchant_id: int) -> frozenset[Right]:
        """Return the permissions at the merchant. Empty for a merchant without access."""
        return self.rights_everywhere | _list_rights_of_role(self.memberships.get(merchant_id))

    @property
    def rights_everywhere(self) -> frozenset[Right]:
        """The permissions at every merchant, and those that belong to no merchant."""
        return _list_rights_of_role(self.global_role)

    def has_access_to(self, merchant_id: int) -> bool:
        return self.global_role is not None or merchant_id in self.memberships

    def actor_at(self, merchant_id: int) -> Actor:
        """Return the actor for an action at this merchant."""
        return build_user_actor(str(self.user_id), self.rights_at(merchant_id), self.origin)

    @property
    def actor(self) -> Actor:
        """The actor for an action that belongs to no merchant."""
        return build_user_actor(str(self.user_id), self.rights_everywhere, self.origin)

    @property
    def origin(self) -> Origin:
        """The origin of the user's actions, for the audit log."""
        return Origin(Interface.PORTAL, network=self.network, session=str(self.session_id))

    def is_form_token(self, token: str) -> bool:
        """Return whether the form token belongs to this session."""
        return hmac.compare_digest(self.csrf.encode(), token.encode())


def derive_form_token(secret: str, user_id: UUID) -> str:
    """Return the form token of a session. The token depends on the user, too, so that a form that
    is sent after the session has ended can be restored. The token does not reveal the secret."""
    return f"{_digest(secret.encode())}.{_digest(user_id.bytes)}"


def is_form_of_user(token: str, user_id: UUID) -> bool:
    """Return whether the form token was made in any session of this user, including an
    ended one.
    """
    return token.partition(".")[2] == _digest(user_id.bytes)


def _digest(key: bytes) -> str:
    digest = hmac.digest(key, _FORM_PURPOSE, "sha256")
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _list_rights_of_role(role: Role | None) -> frozenset[Right]:
    return _NO_RIGHTS if role is None else ROLE_RIGHTS[role]


MAX_NAME_LENGTH = 200
# The roles that can be given at single merchants and over all merchants.
ROLES_EVERYWHERE = (Role.ADMIN, Role.OPERATOR, Role.AUDITOR)
ROLES_AT_MERCHANT = (Role.MERCHANT_USER, Role.OPERATOR, Role.AUDITOR)


@dataclass(frozen=True, slots=True)
class UserRoles:
    """A user's roles: over all merchants, and at single merchants by id."""

    global_role: Role | None = None
    memberships: Mapping[int, Role] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewUser:
    email: str
    name: str
    language: Language
    roles: UserRoles
    is_break_glass: bool = False


@dataclass(frozen=True, slots=True)
class User:
    """`joined_at` is when the invitation was accepted, or None. `revision` increases with every
    change of the roles."""

    user_id: UUID
    email: str
    name: str
    language: Language
    roles: UserRoles
    has_password: bool
    created_at: datetime
    joined_at: datetime | None
    ended_at: datetime | None
    revision: int
    # An administrator who may sign in without single sign-on although it is required.
    is_break_glass: bool = False
    # Since when codes of the second factor are accepted only in known browsers. None: they are
    # accepted in all browsers.
    second_factor_locked_at: datetime | None = None
    # The identity provider with which the user signs in. None: without single sign-on.
    provider: str | None = None

    def rights_at(self, merchant_id: int) -> frozenset[Right]:
        """Return the permissions at the merchant. A deactivated user has none."""
        if self.ended_at is not None:
            return _NO_RIGHTS
        at_merchant = _list_rights_of_role(self.roles.memberships.get(merchant_id))
        return at_merchant | _list_rights_of_role(self.roles.global_role)


@dataclass(frozen=True, slots=True)
class EffectiveRight:
    """A permission and the role that gives it. `merchant_id` None: at all merchants."""

    right: Right
    merchant_id: int | None
    role: Role


def fold_email(email: str) -> str:
    """Return the form in which users' e-mail addresses are compared."""
    return unicodedata.normalize("NFKC", email).strip().casefold()


def find_user_faults(user: NewUser) -> Iterator[Fault]:
    if not is_email_address(user.email):
        yield Fault("/email", "Enter one e-mail address, as name@example.org.", "EMAIL")
    if not 0 < len(user.name) <= MAX_NAME_LENGTH or not is_printable(user.name):
        yield Fault("/name", f"Enter a name of at most {MAX_NAME_LENGTH} characters.", "NAME")
    if user.language not in LANGUAGES:
        yield Fault("/language", f"Choose one of: {', '.join(LANGUAGES)}.", "LANGUAGE")
    yield from find_role_faults(user.roles)
    if user.is_break_glass and user.roles.global_role is not Role.ADMIN:
        yield Fault("/role", "Only an admin can have emergency access.", "ROLE")


def find_role_faults(roles: UserRoles) -> Iterator[Fault]:
    if roles.global_role is None and not roles.memberships:
        yield Fault(
            "/role", "Choose a role for all merchants, or for at least one merchant.", "ROLE"
        )
    if roles.global_role not in (None, *ROLES_EVERYWHERE):
        yield Fault("/role", "A merchant's user needs at least one merchant.", "ROLE")
    if any(role not in ROLES_AT_MERCHANT for role in roles.memberships.values()):
        yield Fault("/merchants", "An admin has access to all merchants.", "ROLE")


def list_effective_rights(roles: UserRoles) -> Sequence[EffectiveRight]:
    """Return each permission with every role that gives it, in the order of permissions, those over
    all merchants first."""
    granting_roles: list[tuple[int | None, Role]] = []
    if roles.global_role is not None:
        granting_roles.append((None, roles.global_role))
    granting_roles += sorted(roles.memberships.items())
    return [
        EffectiveRight(right, merchant_id, role)
        for right in Right
        for merchant_id, role in granting_roles
        if right in ROLE_RIGHTS[role]
    ]
