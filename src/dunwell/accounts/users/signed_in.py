"""Somebody who has signed in, as every request of theirs is asked and answered.

What they may do at a merchant is their role over all merchants together with their role there. Who
has neither does not reach the merchant, for whom it is as if it were not there. Pure.
"""

import base64
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

from dunwell.accounts.merchants.actor import Actor, Interface, Origin, user_actor
from dunwell.accounts.merchants.rights import ROLE_RIGHTS, Right, Role

Language: TypeAlias = Literal["en", "de"]
LANGUAGES: tuple[Language, ...] = ("en", "de")
_FORM = b"dunwell portal form"
_NO_RIGHTS: frozenset[Right] = frozenset()


@dataclass(frozen=True, slots=True)
class SignedIn:
    """`everywhere`: a role over all merchants, also those to come: ADMIN, OPERATOR or AUDITOR.
    `memberships`: roles at single merchants. `csrf`: what every form of the session bears.
    `network`: where they signed in from, shortened."""

    user_id: UUID
    session_id: UUID
    email: str
    name: str
    language: Language
    everywhere: Role | None
    memberships: Mapping[int, Role]
    csrf: str
    network: str | None = None
    # When they last proved who they are in this session (`confirm_session`).
    confirmed_at: datetime | None = None
    # Whether values of forms are kept that were sent after an earlier session had ended.
    has_kept_forms: bool = False

    def rights_at(self, merchant_id: int) -> frozenset[Right]:
        """None at a merchant that is not reached."""
        return self.rights_everywhere | _find_rights(self.memberships.get(merchant_id))

    @property
    def rights_everywhere(self) -> frozenset[Right]:
        """Those at every merchant, and those that belong to no merchant."""
        return _find_rights(self.everywhere)

    def reaches(self, merchant_id: int) -> bool:
        return self.everywhere is not None or merchant_id in self.memberships

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


def _find_rights(role: Role | None) -> frozenset[Right]:
    return _NO_RIGHTS if role is None else ROLE_RIGHTS[role]
