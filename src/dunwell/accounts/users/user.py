"""Somebody who works with Dunwell, what they may be, and what that lets them do. Pure."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.rights import ROLE_RIGHTS, Right, Role
from dunwell.accounts.users.signed_in import LANGUAGES, Language
from dunwell.platform.errors import Fault
from dunwell.platform.text.texts import is_email_address, is_printable

LONGEST_NAME = 200
# A merchant's people answer for one merchant; who runs the installation is so everywhere.
ROLES_EVERYWHERE = (Role.ADMIN, Role.OPERATOR, Role.AUDITOR)
ROLES_AT_MERCHANT = (Role.MERCHANT_USER, Role.OPERATOR, Role.AUDITOR)


@dataclass(frozen=True, slots=True)
class Place:
    """What somebody is: over all merchants, and at single ones by their ids."""

    everywhere: Role | None = None
    memberships: Mapping[int, Role] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewUser:
    email: str
    name: str
    language: Language
    place: Place
    is_break_glass: bool = False


@dataclass(frozen=True, slots=True)
class User:
    """`joined_at`: when the invitation was taken; None: not yet. `revision`: raised by every change
    of what they are."""

    user_id: UUID
    email: str
    name: str
    language: Language
    place: Place
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
    if not 0 < len(given.name) <= LONGEST_NAME or not is_printable(given.name):
        yield Fault("/name", f"Enter a name of at most {LONGEST_NAME} characters.", "NAME")
    if given.language not in LANGUAGES:
        yield Fault("/language", f"Choose one of: {', '.join(LANGUAGES)}.", "LANGUAGE")
    yield from find_place_faults(given.place)
    if given.is_break_glass and given.place.everywhere is not Role.ADMIN:
        yield Fault("/role", "Only an admin can be a break-glass admin.", "ROLE")


def find_place_faults(place: Place) -> Iterator[Fault]:
    if place.everywhere is None and not place.memberships:
        yield Fault("/role", "Choose a role over all merchants, or at least one merchant.", "ROLE")
    if place.everywhere not in (None, *ROLES_EVERYWHERE):
        yield Fault("/role", "A merchant's user works for single merchants. Name them.", "ROLE")
    if any(role not in ROLES_AT_MERCHANT for role in place.memberships.values()):
        yield Fault("/merchants", "An admin is one everywhere, not at one merchant.", "ROLE")


def list_effective_rights(place: Place) -> Sequence[EffectiveRight]:
    """Each right with every reason for it, in the order of the rights, everywhere first."""
    reasons: list[tuple[int | None, Role]] = []
    if place.everywhere is not None:
        reasons.append((None, place.everywhere))
    reasons += sorted(place.memberships.items())
    return [
        EffectiveRight(right, merchant_id, role)
        for right in Right
        for merchant_id, role in reasons
        if right in ROLE_RIGHTS[role]
    ]
