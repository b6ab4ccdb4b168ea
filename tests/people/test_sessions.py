"""How a session is found, and when it ends: by time, by request, or by a new password."""

from datetime import timedelta

import pytest

from dunwell.accounts.merchants.rights import ROLE_RIGHTS, Right, Role
from dunwell.accounts.users.own_account import (
    PasswordConfirmation,
    change_password,
    end_own_session,
)
from dunwell.accounts.users.passwords import PasswordFault, SignInServices
from dunwell.accounts.users.sessions.sessions import OpenedSession, find_session, list_sessions
from dunwell.accounts.users.sign_in.limits import MAX_ATTEMPTS
from dunwell.accounts.users.sign_in.sign_in import (
    SignInExpired,
    TooManyAttempts,
    WrongSignIn,
    check_totp_code,
)
from dunwell.accounts.users.sweep_users import sweep_user_rows
from dunwell.accounts.users.user import SignedInUser, UserRoles
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.errors import NotFound
from tests.support.users import (
    AWAY,
    HOME,
    PASSWORD,
    a_new_user,
    build_submitted_code,
    join,
    randomness,
    sign_in,
    start_sign_in,
)

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
NEW = "kettle pebbles orchid 32"


async def find(services: SignInServices, secret: str) -> SignedInUser | None:
    async with services.resources.database.connection() as connection:
        return await find_session(connection, secret, now=services.now())


async def require(services: SignInServices, opened: OpenedSession) -> SignedInUser:
    found = await find(services, opened.secret)
    assert found is not None
    return found


@pytest.mark.parametrize(("after", "lasts"), [(30 * MINUTE - SECOND, True), (30 * MINUTE, False)])
async def test_a_session_ends_after_half_an_hour_without_use(
    services: SignInServices, clock: MovableClock, after: timedelta, lasts: bool
) -> None:
    erika = await join(services, a_new_user())
    clock.advance(after)
    assert (await find(services, erika.session.secret) is not None) is lasts


async def test_a_session_in_use_ends_after_eight_hours(
    services: SignInServices, clock: MovableClock
) -> None:
    opened_at = clock.now()
    erika = await join(services, a_new_user())
    while clock.now() + 30 * MINUTE < opened_at + timedelta(hours=8):
        clock.advance(28 * MINUTE)
        assert await find(services, erika.session.secret) is not None
    clock.move_to(opened_at + timedelta(hours=8) - SECOND)
    assert await find(services, erika.session.secret) is not None
    clock.advance(SECOND)
    assert await find(services, erika.session.secret) is None


async def test_the_last_use_is_recorded_once_a_minute(
    services: SignInServices, clock: MovableClock, database: Database
) -> None:
    erika = await join(services, a_new_user())
    seen = []
    for step in (MINUTE - SECOND, SECOND, SECOND):
        clock.advance(step)
        await find(services, erika.session.secret)
        async with database.connection() as connection:
            seen.append(await connection.fetchval("SELECT last_used_at FROM portal_sessions"))
    joined_at = clock.now() - MINUTE - SECOND
    assert seen == [joined_at, joined_at + MINUTE, joined_at + MINUTE]


async def test_a_use_is_recorded_for_one_session_only(
    services: SignInServices, clock: MovableClock, database: Database
) -> None:
    erika = await join(services, a_new_user())
    away = await sign_in(services, erika, visitor=AWAY)
    opened_at = clock.now()
    clock.advance(MINUTE)

    assert await find(services, away.secret) is not None

    async with database.connection() as connection:
        rows = await connection.fetch("SELECT session_id, last_used_at FROM portal_sessions")
    used = {row["session_id"]: row["last_used_at"] for row in rows}
    assert used.pop(away.session_id) == clock.now()
    assert all(each <= opened_at for each in used.values())
    assert len(used) == 1


@pytest.mark.parametrize("secret", ["", "x", "x" * 43, "\u00e4" * 43, "'; --", "a" * 5000])
async def test_an_invalid_secret_finds_no_session(services: SignInServices, secret: str) -> None:
    await join(services, a_new_user())
    assert await find(services, secret) is None


async def test_a_session_provides_the_user_with_roles_and_rights(services: SignInServices) -> None:
    place = UserRoles(Role.AUDITOR)
    erika = await join(services, a_new_user(roles=place, language="de"))
    person = await require(services, erika.session)
    assert (person.email, person.name, person.language) == ("erika@example.org", "Erika", "de")
    assert (person.global_role, person.memberships) == (Role.AUDITOR, {})
    assert person.has_access_to(7)
    assert person.rights_at(7) == ROLE_RIGHTS[Role.AUDITOR]
    assert person.actor_at(7).rights == ROLE_RIGHTS[Role.AUDITOR]
    assert Right.PEOPLE not in person.actor.rights
    assert person.actor.actor_id == str(erika.user_id)
    assert person.is_form_token(person.csrf)
    assert not person.is_form_token("")


async def test_each_session_has_its_own_csrf_token(services: SignInServices) -> None:
    erika = await join(services, a_new_user())
    first = await require(services, erika.session)
    second = await require(services, await sign_in(services, erika))
    assert first.csrf != second.csrf
    assert erika.session.secret not in first.csrf


async def test_own_sessions_are_listed_and_ended(services: SignInServices) -> None:
    erika = await join(services, a_new_user())
    away = await sign_in(services, erika, visitor=AWAY)
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        shown = await list_sessions(work.tx, person, work.now)
        assert [(each.row.browser, each.row.network, each.is_this) for each in shown] == [
            ("Chrome, Windows", "198.51.100.0/24", False),
            ("Firefox, Linux", "203.0.113.0/24", True),
        ]
        assert shown[0].row.is_new_network
        await end_own_session(work, person, away.session_id)
    assert await find(services, away.secret) is None
    assert await find(services, erika.session.secret) is not None


async def test_a_session_of_another_user_cannot_be_ended(services: SignInServices) -> None:
    erika = await join(services, a_new_user())
    paul = await join(services, a_new_user("paul@example.org", name="Paul"))
    person = await require(services, erika.session)
    with pytest.raises(NotFound):
        async with services.work(person.actor) as work:
            await end_own_session(work, person, paul.session.session_id)
    assert await find(services, paul.session.secret) is not None


async def test_a_new_password_ends_all_sessions(
    services: SignInServices, clock: MovableClock
) -> None:
    erika = await join(services, a_new_user())
    other = await sign_in(services, erika, visitor=AWAY)
    waiting = await start_sign_in(services, erika)
    person = await require(services, erika.session)
    asking = PasswordConfirmation(person, PASSWORD, HOME)
    opened = await change_password(services, asking, NEW, randomness())
    assert isinstance(opened, OpenedSession)
    assert await find(services, erika.session.secret) is None
    assert await find(services, other.secret) is None
    assert await find(services, opened.secret) is not None
    clock.advance(timedelta(seconds=30))
    assert (
        await check_totp_code(services, build_submitted_code(waiting, erika.code(clock.now())))
        == SignInExpired()
    )
    await sign_in(services, erika, password=NEW)


async def test_a_new_password_needs_the_old_one_and_must_follow_the_rules(
    services: SignInServices,
) -> None:
    erika = await join(services, a_new_user())
    person = await require(services, erika.session)
    right = PasswordConfirmation(person, PASSWORD, HOME)
    assert (
        await change_password(services, PasswordConfirmation(person, "no", HOME), NEW, b"")
        == WrongSignIn()
    )
    assert await change_password(services, right, "short", b"") is PasswordFault.TOO_SHORT
    assert await change_password(services, right, "password1234", b"") is PasswordFault.COMMON
    mine = "my own erika song"
    assert await change_password(services, right, mine, b"") is PasswordFault.PERSONAL
    assert await find(services, erika.session.secret) is not None


async def test_password_guesses_in_an_open_session_are_limited(
    services: SignInServices,
) -> None:
    erika = await join(services, a_new_user())
    person = await require(services, erika.session)
    for _ in range(MAX_ATTEMPTS):
        wrong = PasswordConfirmation(person, "no", HOME)
        assert await change_password(services, wrong, NEW, b"") == WrongSignIn()
    right = PasswordConfirmation(person, PASSWORD, HOME)
    assert isinstance(await change_password(services, right, NEW, b""), TooManyAttempts)


@pytest.mark.parametrize(("late", "removed"), [(timedelta(), 0), (SECOND, 1)])
async def test_sessions_are_deleted_after_90_days(
    services: SignInServices, clock: MovableClock, late: timedelta, removed: int
) -> None:
    await join(services, a_new_user())
    clock.advance(timedelta(days=90, hours=8) + late)
    assert await sweep_user_rows(services.resources) == removed
