"""One-time links: who may make them, that they are good once, and what joining takes."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pyotp
import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.accept_invitation import (
    Joining,
    LinkFault,
    find_invitation,
    join_with_app,
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
    Gone,
    WrongSignIn,
    check_password,
    check_totp_code,
)
from dunwell.accounts.users.user import UserRoles
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.errors import InsufficientScope, ValidationError
from tests.people.test_sessions import find, require
from tests.support.people import (
    HOME,
    OPENER,
    OPERATOR,
    PASSWORD,
    a_new_user,
    count_rows,
    enter,
    given,
    invite,
    join,
    randomness,
    read_codes,
    sign_in,
)

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


async def a_joining(reception: SignInServices, link: str) -> Joining:
    invited = await find_invitation(reception, link, OPENER)
    assert invited is not None
    code = pyotp.TOTP(invited.app_secret).at(reception.now())
    return Joining(link, OPENER, HOME, randomness(), password=PASSWORD, code=code)


async def test_a_link_is_good_once(reception: SignInServices) -> None:
    link = (await invite(reception, a_new_user())).secret
    joining = await a_joining(reception, link)
    assert isinstance(await join_with_app(reception, joining), OpenedSession)
    again = replace(joining, randomness=randomness())
    assert await join_with_app(reception, again) is LinkFault.LINK
    assert await find_invitation(reception, link, OPENER) is None


async def test_of_two_who_join_at_once_one_does(reception: SignInServices) -> None:
    link = (await invite(reception, a_new_user())).secret
    joining = await a_joining(reception, link)
    outcomes = await asyncio.gather(*(
        join_with_app(reception, replace(joining, randomness=randomness())) for _ in range(4)
    ))  # fmt: skip
    assert sum(isinstance(each, OpenedSession) for each in outcomes) == 1
    assert outcomes.count(LinkFault.LINK) == 3


async def test_looking_at_a_link_uses_nothing_up(reception: SignInServices) -> None:
    link = (await invite(reception, a_new_user())).secret
    secrets = {(await a_joining(reception, link)).code for _ in range(3)}
    assert len(secrets) == 1


@pytest.mark.parametrize(("after", "is_good"), [(72 * HOUR - SECOND, True), (72 * HOUR, False)])
async def test_a_link_lasts_72_hours(
    reception: SignInServices, clock: MovableClock, after: timedelta, is_good: bool
) -> None:
    link = (await invite(reception, a_new_user())).secret
    clock.advance(after)
    assert (await find_invitation(reception, link, OPENER) is not None) is is_good


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"code": "000000"}, {"code": LinkFault.CODE}),
        ({"code": ""}, {"code": LinkFault.CODE}),
        ({"password": "elevenchars"}, {"password": PasswordFault.TOO_SHORT}),
        ({"password": "123456789012"}, {"password": PasswordFault.COMMON}),
        ({"password": "Dunwell is nice 42"}, {"password": PasswordFault.PERSONAL}),
        ({"password": "x" * 1001}, {"password": PasswordFault.TOO_LONG}),
        ({"link": "x" * 43}, LinkFault.LINK),
        ({"link": ""}, LinkFault.LINK),
    ],
)
async def test_what_is_not_right_keeps_the_link_as_it_was(
    reception: SignInServices, database: Database, change: dict[str, str], fault: object
) -> None:
    link = (await invite(reception, a_new_user())).secret
    joining = await a_joining(reception, link)
    assert await join_with_app(reception, replace(joining, **change)) == fault  # type: ignore[arg-type]
    assert await count_rows(database, "portal_sessions") == 0
    assert isinstance(await join_with_app(reception, joining), OpenedSession)


async def test_without_the_second_factor_nobody_comes_in(reception: SignInServices) -> None:
    """Who was invited and did not join has no password to sign in with."""
    await invite(reception, a_new_user())
    outcome = await check_password(reception, "erika@example.org", "", HOME, randomness())
    assert outcome == WrongSignIn()


async def test_joining_brings_ten_recovery_codes(reception: SignInServices) -> None:
    codes = await read_codes(reception, await join(reception, a_new_user()))
    assert len(set(codes)) == 10
    assert all(len(code) == 29 for code in codes)


async def test_only_admins_invite(reception: SignInServices, database: Database) -> None:
    operator = await join(reception, a_new_user(place=UserRoles(Role.OPERATOR)))
    person = await require(reception, operator.session)
    with pytest.raises(InsufficientScope):
        async with reception.work(person.actor) as work:
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
        ({"place": UserRoles()}, "ROLE"),
        ({"place": UserRoles(Role.MERCHANT_USER)}, "ROLE"),
        ({"place": UserRoles(None, {1: Role.ADMIN})}, "ROLE"),
        ({"place": UserRoles(None, {2**31 - 1: Role.AUDITOR})}, "MERCHANT"),
    ],
)
async def test_what_cannot_be_a_user_is_told(
    reception: SignInServices, database: Database, change: dict[str, object], code: str
) -> None:
    await join(reception, a_new_user())
    new = a_new_user(**{"email": "new@example.org", **change})  # type: ignore[arg-type]
    with pytest.raises(ValidationError) as refusal:
        await invite(reception, new)
    assert code in [fault.code for fault in refusal.value.faults]
    assert await count_rows(database, "users") == 1


async def test_a_reset_ends_all_that_was_there(
    reception: SignInServices, clock: MovableClock
) -> None:
    erika = await join(reception, a_new_user())
    waiting = await enter(reception, erika)
    async with reception.work(OPERATOR) as work:
        link = (await reset_user(work, erika.user_id, randomness(RANDOM_BYTES))).secret
    clock.advance(timedelta(seconds=30))
    assert await find(reception, erika.session.secret) is None
    assert await check_totp_code(reception, given(waiting, erika.code(clock.now()))) == Gone()
    outcome = await check_password(reception, erika.email, PASSWORD, HOME, randomness())
    assert outcome == WrongSignIn()
    joining = await a_joining(reception, link)
    assert isinstance(await join_with_app(reception, joining), OpenedSession)


async def test_a_newer_link_ends_the_one_before(reception: SignInServices) -> None:
    made = await invite(reception, a_new_user())
    async with reception.work(OPERATOR) as work:
        newer = await reset_user(work, made.user_id, randomness(RANDOM_BYTES))
    assert await find_invitation(reception, made.secret, OPENER) is None
    assert await find_invitation(reception, newer.secret, OPENER) is not None


async def test_development_invites_its_first_admin_until_somebody_joins(
    reception: SignInServices,
) -> None:
    async def first() -> str | None:
        async with reception.work(OPERATOR) as work:
            made = await invite_first_admin(work, randomness(RANDOM_BYTES))
            return None if made is None else made.secret

    before, link = await first(), await first()
    assert before is not None
    assert link is not None
    assert await find_invitation(reception, before, OPENER) is None
    assert isinstance(
        await join_with_app(reception, await a_joining(reception, link)), OpenedSession
    )
    assert await first() is None


async def test_a_password_is_told_apart_by_every_letter(reception: SignInServices) -> None:
    erika = await join(reception, a_new_user())
    for wrong in (PASSWORD[:-1], PASSWORD + " ", PASSWORD.upper()):
        outcome = await check_password(reception, erika.email, wrong, HOME, randomness())
        assert outcome == WrongSignIn()
    await sign_in(reception, erika)


async def test_a_password_is_judged_behind_the_right_code_alone(
    reception: SignInServices,
) -> None:
    """Judging takes time; the code costs nothing."""
    link = (await invite(reception, a_new_user())).secret
    both = replace(await a_joining(reception, link), code="000000", password="short")
    assert await join_with_app(reception, both) == {"code": LinkFault.CODE}
