"""A user of the portal: who has signed in, what they may do at which merchants, and the faults of a
new one. Pure.
"""

import base64
import hmac
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

from dunwell.accounts.merchants.actor import Actor, Interface, Origin, user_actor
from dunwell.accounts.merchants.rights import ROLE_RIGHTS, Right, Role
from dunwell.platform.errors import Fault
from dunwell.platform.text.texts import is_email_address, is_printable

Language: TypeAlias = Literal["en", "de"]
LANGUAGES: tuple[Language, ...] = ("en", "de")
_FORM = b"dunwell portal form"
_NO_RIGHTS: frozenset[Right] = frozenset()


@dataclass(frozen=True, slots=True)
class SignedInUser:
    """`everywhere`: a role over all merchants, also those to come: ADMIN, OPERATOR or AUDITOR.
    `memberships`: roles at single merchants. `csrf`: what every form of the session bears.
    `network`: where they signed in from, shortened."""

    user_id: UUID
    session_id: UUID
    email: str
    name: str
    language: Language
    global_role: Role | None
    memberships: Mapping[int, Role]
    csrf: str
    network: str | None = None
    # When they last proved who they are in this session (`confirm_session`).
    confirmed_at: datetime | None = None
    # Whether values of forms are kept that were sent after an earlier session had ended.
    has_kept_forms: bool = False

    def rights_at(self, merchant_id: int) -> frozenset[Right]:
        """None at a merchant that is not reached."""
        return self.rights_everywhere | _list_rights_of_role(self.memberships.get(merchant_id))

    @property
    def rights_everywhere(self) -> frozenset[Right]:
        """Those at every merchant, and those that belong to no merchant."""
        return _list_rights_of_role(self.global_role)

    def reaches(self, merchant_id: int) -> bool:
        return self.global_role is not None or merchant_id in self.memberships

    def actor_at(self, merchant_id: int) -> Actor:
        """As whom they do something at this merchant."""
        return user_actor(str(self.user_id), self.rights_at(merchant_id), self.origin)

    @property
    def actor(self) -> Actor:
        """As whom they do what belongs to no merchant."""
        return user_actor(str(self.user_id), self.rights_everywhere, self.origin)

    @property
    def origin(self) -> Origin:
        """Of what they do, for the audit log."""
        return Origin(Interface.PORTAL, network=self.network, session=str(self.session_id))

    def is_form_token(self, given: str) -> bool:
        """Whether a form that bears this is one of the session's."""
        return hmac.compare_digest(self.csrf.encode(), given.encode())


def derive_form_token(secret: str, user_id: UUID) -> str:
    """The token of the session with this secret, and whose it is: a form that is sent after the
    session has ended still says which user filled it in. It tells nothing about the secret."""
    return f"{_digest(secret.encode())}.{_digest(user_id.bytes)}"


def is_form_of_user(token: str, user_id: UUID) -> bool:
    """Whether the form was made in any session of this user, also in one that is over."""
    return token.partition(".")[2] == _digest(user_id.bytes)


def _digest(key: bytes) -> str:
    digest = hmac.digest(key, _FORM, "sha256")
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _list_rights_of_role(role: Role | None) -> frozenset[Right]:
    return _NO_RIGHTS if role is None else ROLE_RIGHTS[role]


MAX_NAME_LENGTH = 200
# A merchant's people answer for one merchant; who runs the installation is so everywhere.
ROLES_EVERYWHERE = (Role.ADMIN, Role.OPERATOR, Role.AUDITOR)
ROLES_AT_MERCHANT = (Role.MERCHANT_USER, Role.OPERATOR, Role.AUDITOR)


@dataclass(frozen=True, slots=True)
class UserRoles:
    """What somebody is: over all merchants, and at single ones by their ids."""

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
    """`joined_at`: when the invitation was taken; None: not yet. `revision`: raised by every change
    of what they are."""

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
    # An admin who may sign in here when single sign-on is required.
    is_break_glass: bool = False
    # Since when codes are accepted only in known browsers; None while they are accepted anywhere.
    second_factor_locked_at: datetime | None = None
    # Of single sign-on, by which they sign in; none: here.
    provider: str | None = None


@dataclass(frozen=True, slots=True)
class EffectiveRight:
    """`merchant_id`: where; None: everywhere. `role`: what gives it."""

    right: Right
    merchant_id: int | None
    role: Role


def fold_email(email: str) -> str:
    """As e-mail addresses of users are compared."""
    return unicodedata.normalize("NFKC", email).strip().casefold()


def find_user_faults(given: NewUser) -> Iterator[Fault]:
    if not is_email_address(given.email):
        yield Fault("/email", "Enter one e-mail address, as name@example.org.", "EMAIL")
    if not 0 < len(given.name) <= MAX_NAME_LENGTH or not is_printable(given.name):
        yield Fault("/name", f"Enter a name of at most {MAX_NAME_LENGTH} characters.", "NAME")
    if given.language not in LANGUAGES:
        yield Fault("/language", f"Choose one of: {', '.join(LANGUAGES)}.", "LANGUAGE")
    yield from find_role_faults(given.roles)
    if given.is_break_glass and given.roles.global_role is not Role.ADMIN:
        yield Fault("/role", "Only an admin can be a break-glass admin.", "ROLE")


def find_role_faults(roles: UserRoles) -> Iterator[Fault]:
    if roles.global_role is None and not roles.memberships:
        yield Fault("/role", "Choose a role over all merchants, or at least one merchant.", "ROLE")
    if roles.global_role not in (None, *ROLES_EVERYWHERE):
        yield Fault("/role", "A merchant's user works for single merchants. Name them.", "ROLE")
    if any(role not in ROLES_AT_MERCHANT for role in roles.memberships.values()):
        yield Fault("/merchants", "An admin is one everywhere, not at one merchant.", "ROLE")


def list_effective_rights(roles: UserRoles) -> Sequence[EffectiveRight]:
    """Each right with every reason for it, in the order of the rights, everywhere first."""
    reasons: list[tuple[int | None, Role]] = []
    if roles.global_role is not None:
        reasons.append((None, roles.global_role))
    reasons += sorted(roles.memberships.items())
    return [
        EffectiveRight(right, merchant_id, role)
        for right in Right
        for merchant_id, role in reasons
        if right in ROLE_RIGHTS[role]
    ]
