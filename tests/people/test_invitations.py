"""Invitation links: who may create them, that each works once, and what joining requires."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pyotp
import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.accept_invitation import (
    InvitationFault,
    InvitationForm,
    accept_with_app,
    find_invitation,
)
from dunwell.accounts.users.manage_users import (
    RANDOM_BYTES,
    invite_first_admin,
    invite_user,
    reset_user,
)
from dunwell.accounts.users.passwords import PasswordFault, SignInServices
from dunwell.accounts.users.sessions.sessions import OpenedSession
from dunwell.accounts.users.sign_in.sign_in import (
    SignInExpired,
    WrongSignIn,
    check_password,
    check_totp_code,
)
from dunwell.accounts.users.user import UserRoles
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.errors import InsufficientScope, ValidationError
from tests.people.test_sessions import find, require
from tests.support.users import (
    HOME,
    OPENER,
    OPERATOR,
    PASSWORD,
    a_new_user,
    build_submitted_code,
    count_rows,
    invite,
    join,
    randomness,
    read_codes,
    sign_in,
    start_sign_in,
)

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


async def a_joining(services: SignInServices, link: str) -> InvitationForm:
    invited = await find_invitation(services, link, OPENER)
    assert invited is not None
    code = pyotp.TOTP(invited.app_secret).at(services.now())
    return InvitationForm(link, OPENER, HOME, randomness(), password=PASSWORD, code=code)


async def test_an_invitation_link_works_once(services: SignInServices) -> None:
    link = (await invite(services, a_new_user())).secret
    joining = await a_joining(services, link)
    assert isinstance(await accept_with_app(services, joining), OpenedSession)
    again = replace(joining, randomness=randomness())
    assert await accept_with_app(services, again) is InvitationFault.LINK
    assert await find_invitation(services, link, OPENER) is None


async def test_concurrent_uses_of_an_invitation_create_one_session(
    services: SignInServices,
) -> None:
    link = (await invite(services, a_new_user())).secret
    joining = await a_joining(services, link)
    outcomes = await asyncio.gather(*(
        accept_with_app(services, replace(joining, randomness=randomness())) for _ in range(4)
    ))  # fmt: skip
    assert sum(isinstance(each, OpenedSession) for each in outcomes) == 1
    assert outcomes.count(InvitationFault.LINK) == 3


async def test_viewing_an_invitation_does_not_use_it_up(services: SignInServices) -> None:
    link = (await invite(services, a_new_user())).secret
    secrets = {(await a_joining(services, link)).code for _ in range(3)}
    assert len(secrets) == 1


@pytest.mark.parametrize(("after", "is_good"), [(72 * HOUR - SECOND, True), (72 * HOUR, False)])
async def test_a_link_lasts_72_hours(
    services: SignInServices, clock: MovableClock, after: timedelta, is_good: bool
) -> None:
    link = (await invite(services, a_new_user())).secret
    clock.advance(after)
    assert (await find_invitation(services, link, OPENER) is not None) is is_good


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"code": "000000"}, {"code": InvitationFault.CODE}),
        ({"code": ""}, {"code": InvitationFault.CODE}),
        ({"password": "elevenchars"}, {"password": PasswordFault.TOO_SHORT}),
        ({"password": "123456789012"}, {"password": PasswordFault.COMMON}),
        ({"password": "Dunwell is nice 42"}, {"password": PasswordFault.PERSONAL}),
        ({"password": "x" * 1001}, {"password": PasswordFault.TOO_LONG}),
        ({"link": "x" * 43}, InvitationFault.LINK),
        ({"link": ""}, InvitationFault.LINK),
    ],
)
async def test_a_faulty_form_does_not_use_up_the_invitation(
    services: SignInServices, database: Database, change: dict[str, str], fault: object
) -> None:
    link = (await invite(services, a_new_user())).secret
    joining = await a_joining(services, link)
    assert await accept_with_app(services, replace(joining, **change)) == fault  # type: ignore[arg-type]
    assert await count_rows(database, "portal_sessions") == 0
    assert isinstance(await accept_with_app(services, joining), OpenedSession)


async def test_an_invited_user_cannot_sign_in_before_joining(services: SignInServices) -> None:
    """A user who was invited and has not joined has no password to sign in with."""
    await invite(services, a_new_user())
    outcome = await check_password(services, "erika@example.org", "", HOME, randomness())
    assert outcome == WrongSignIn()


async def test_joining_creates_ten_recovery_codes(services: SignInServices) -> None:
    codes = await read_codes(services, await join(services, a_new_user()))
    assert len(set(codes)) == 10
    assert all(len(code) == 29 for code in codes)


async def test_only_admins_invite(services: SignInServices, database: Database) -> None:
    operator = await join(services, a_new_user(roles=UserRoles(Role.OPERATOR)))
    person = await require(services, operator.session)
    with pytest.raises(InsufficientScope):
        async with services.work(person.actor) as work:
            await invite_user(work, a_new_user("new@example.org"), randomness(RANDOM_BYTES))
    assert await count_rows(database, "users") == 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"email": "nonsense"}, "EMAIL"),
        ({"email": "ERIKA@example.org"}, "EMAIL_TAKEN"),
        ({"name": ""}, "NAME"),
        ({"name": "a\x00b"}, "NAME"),
        ({"name": "x" * 201}, "NAME"),
        ({"roles": UserRoles()}, "ROLE"),
        ({"roles": UserRoles(Role.MERCHANT_USER)}, "ROLE"),
        ({"roles": UserRoles(None, {1: Role.ADMIN})}, "ROLE"),
        ({"roles": UserRoles(None, {2**31 - 1: Role.AUDITOR})}, "MERCHANT"),
    ],
)
async def test_an_invalid_invitation_is_refused_with_its_faults(
    services: SignInServices, database: Database, change: dict[str, object], code: str
) -> None:
    await join(services, a_new_user())
    new = a_new_user(**{"email": "new@example.org", **change})  # type: ignore[arg-type]
    with pytest.raises(ValidationError) as refusal:
        await invite(services, new)
    assert code in [fault.code for fault in refusal.value.faults]
    assert await count_rows(database, "users") == 1


async def test_a_reset_ends_sessions_pending_sign_ins_and_the_password(
    services: SignInServices, clock: MovableClock
) -> None:
    erika = await join(services, a_new_user())
    waiting = await start_sign_in(services, erika)
    async with services.work(OPERATOR) as work:
        link = (await reset_user(work, erika.user_id, randomness(RANDOM_BYTES))).secret
    clock.advance(timedelta(seconds=30))
    assert await find(services, erika.session.secret) is None
    assert (
        await check_totp_code(services, build_submitted_code(waiting, erika.code(clock.now())))
        == SignInExpired()
    )
    outcome = await check_password(services, erika.email, PASSWORD, HOME, randomness())
    assert outcome == WrongSignIn()
    joining = await a_joining(services, link)
    assert isinstance(await accept_with_app(services, joining), OpenedSession)


async def test_a_newer_invitation_invalidates_the_previous_one(services: SignInServices) -> None:
    made = await invite(services, a_new_user())
    async with services.work(OPERATOR) as work:
        newer = await reset_user(work, made.user_id, randomness(RANDOM_BYTES))
    assert await find_invitation(services, made.secret, OPENER) is None
    assert await find_invitation(services, newer.secret, OPENER) is not None


async def test_the_development_server_invites_a_first_admin_until_one_joins(
    services: SignInServices,
) -> None:
    async def first() -> str | None:
        async with services.work(OPERATOR) as work:
            made = await invite_first_admin(work, randomness(RANDOM_BYTES))
            return None if made is None else made.secret

    before, link = await first(), await first()
    assert before is not None
    assert link is not None
    assert await find_invitation(services, before, OPENER) is None
    assert isinstance(
        await accept_with_app(services, await a_joining(services, link)), OpenedSession
    )
    assert await first() is None


async def test_every_character_of_a_password_counts(services: SignInServices) -> None:
    erika = await join(services, a_new_user())
    for wrong in (PASSWORD[:-1], PASSWORD + " ", PASSWORD.upper()):
        outcome = await check_password(services, erika.email, wrong, HOME, randomness())
        assert outcome == WrongSignIn()
    await sign_in(services, erika)


async def test_a_new_password_is_checked_only_after_the_right_code(
    services: SignInServices,
) -> None:
    """Checking a password takes time; checking the code costs nothing."""
    link = (await invite(services, a_new_user())).secret
    both = replace(await a_joining(services, link), code="000000", password="short")
    assert await accept_with_app(services, both) == {"code": InvitationFault.CODE}
