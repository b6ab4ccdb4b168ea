"""Users for tests: cheap password hashes, a user who has joined, and a browser that signs in."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

import pyotp
from argon2 import PasswordHasher

from dunwell.accounts.merchants.actor import build_operator_actor
from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.accept_invitation import (
    InvitationForm,
    accept_with_app,
    find_invitation,
)
from dunwell.accounts.users.factors.recovery_codes import list_shown_codes
from dunwell.accounts.users.manage_users import RANDOM_BYTES, Invitation, invite_user
from dunwell.accounts.users.passwords import Passwords, SignInServices
from dunwell.accounts.users.sessions.session_rules import SECRET_BYTES
from dunwell.accounts.users.sessions.sessions import OpenedSession
from dunwell.accounts.users.sign_in.sign_in import (
    PendingSignIn,
    SubmittedCode,
    check_password,
    check_totp_code,
)
from dunwell.accounts.users.user import NewUser, UserRoles
from dunwell.accounts.users.user_work import Visitor
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.resources import Resources

PASSWORD = "gravel lantern oboe 71"
HOME = Visitor("203.0.113.7", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0")
AWAY = Visitor("198.51.100.9", "Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36")
OPERATOR = build_operator_actor("test")
# The opening token of the browser that opens links.
OPENER = "o" * 43
_drawn = iter(range(1, 2**31))


@dataclass
class CountingHasher:
    """argon2id with the lowest cost, and a count of its calls."""

    hashed: int = 0
    verified: int = 0
    hasher: PasswordHasher = field(
        default_factory=lambda: PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    )

    @property
    def memory_cost(self) -> int:
        return self.hasher.memory_cost

    @property
    def time_cost(self) -> int:
        return self.hasher.time_cost

    @property
    def parallelism(self) -> int:
        return self.hasher.parallelism

    def hash(self, password: str) -> str:
        self.hashed += 1
        return self.hasher.hash(password)

    def verify(self, stored: str, password: str) -> bool:
        self.verified += 1
        return self.hasher.verify(stored, password)

    def check_needs_rehash(self, stored: str) -> bool:
        return self.hasher.check_needs_rehash(stored)


@dataclass(frozen=True)
class JoinedUser:
    """A user who has joined."""

    user_id: UUID
    email: str
    app_secret: str
    session: OpenedSession

    def code(self, now: datetime) -> str:
        return pyotp.TOTP(self.app_secret).at(now)


def randomness(length: int = SECRET_BYTES) -> bytes:
    """Return a different value each time."""
    return hashlib.shake_256(next(_drawn).to_bytes(8)).digest(length)


def build_sign_in_services(
    resources: Resources, hasher: CountingHasher | None = None
) -> SignInServices:
    return SignInServices(resources, Passwords(hasher or CountingHasher()))


def a_new_user(email: str = "erika@example.org", **more: object) -> NewUser:
    values = {"name": "Erika", "language": "en", "roles": UserRoles(Role.ADMIN), **more}
    return NewUser(email=email, **values)  # type: ignore[arg-type]


async def invite(services: SignInServices, new: NewUser) -> Invitation:
    async with services.work(OPERATOR) as work:
        return await invite_user(work, new, randomness(RANDOM_BYTES))


async def join(
    services: SignInServices, new: NewUser, *, password: str = PASSWORD, visitor: Visitor = HOME
) -> JoinedUser:
    """Invite a user who then joins with a password and an authenticator app."""
    link = (await invite(services, new)).secret
    invited = await find_invitation(services, link, OPENER)
    assert invited is not None
    code = pyotp.TOTP(invited.app_secret).at(services.now())
    joining = InvitationForm(link, OPENER, visitor, randomness(), password=password, code=code)
    opened = await accept_with_app(services, joining)
    assert isinstance(opened, OpenedSession), opened
    return JoinedUser(invited.user.user_id, new.email, invited.app_secret, opened)


async def start_sign_in(
    services: SignInServices,
    person: JoinedUser,
    *,
    password: str = PASSWORD,
    visitor: Visitor = HOME,
) -> str:
    """Return the secret of a sign-in that waits for the second factor."""
    entry = await check_password(services, person.email, password, visitor, randomness())
    assert isinstance(entry, PendingSignIn), entry
    return entry.secret


def build_submitted_code(entry: str, code: str, visitor: Visitor = HOME) -> SubmittedCode:
    return SubmittedCode(entry, code, visitor, randomness())


async def sign_in(
    services: SignInServices,
    person: JoinedUser,
    *,
    password: str = PASSWORD,
    visitor: Visitor = HOME,
) -> OpenedSession:
    """Sign in with the next code of the app; the clock advances by one period."""
    clock = services.resources.clock
    assert isinstance(clock, MovableClock)
    clock.advance(timedelta(seconds=30))
    entry = await start_sign_in(services, person, password=password, visitor=visitor)
    code = person.code(services.now())
    opened = await check_totp_code(services, build_submitted_code(entry, code, visitor))
    assert isinstance(opened, OpenedSession), opened
    return opened


async def read_codes(services: SignInServices, person: JoinedUser) -> list[str]:
    """Return the recovery codes that were created in the session in which the user joined."""
    async with services.work(OPERATOR) as work:
        found = await list_shown_codes(work, person.user_id, person.session.secret)
        return list(found)


async def count_rows(database: Database, table: Literal["users", "portal_sessions"]) -> int:
    async with database.connection() as connection:
        count: int = await connection.fetchval(f"SELECT count(*) FROM {table}")
        return count
