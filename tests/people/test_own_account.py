"""What everybody changes of their own: name, apps, passkeys, recovery codes; and never the last
way in."""

from dataclasses import replace
from datetime import timedelta

import pyotp
import pytest
from argon2 import PasswordHasher

from dunwell.accounts.users.factors.recovery_codes import (
    create_recovery_codes,
    hide_shown_codes,
    list_shown_codes,
)
from dunwell.accounts.users.factors.set_up_factor import (
    add_passkey,
    find_new_app_secret,
    finish_app_setup,
    start_app_setup,
    start_passkey_setup,
)
from dunwell.accounts.users.factors.totp import SECRET_BYTES
from dunwell.accounts.users.own_account import (
    PasswordConfirmation,
    change_profile,
    confirm_own_password,
    load_account,
    remove_own_factor,
)
from dunwell.accounts.users.passwords import Passwords, SignInServices
from dunwell.accounts.users.sessions.sessions import OpenedSession
from dunwell.accounts.users.sign_in.sign_in import WrongSignIn, check_recovery_code, check_totp_code
from dunwell.platform.clock import MovableClock
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from tests.people.test_sessions import require
from tests.support.durations import JUST
from tests.support.keys import SECOND as SECOND_KEY
from tests.support.keys import count_sealed, reseal_table
from tests.support.passkeys import SoftwarePasskey
from tests.support.people import (
    HOME,
    PASSWORD,
    CountingHasher,
    Person,
    a_new_user,
    enter,
    given,
    join,
    randomness,
    read_codes,
    sign_in,
)


@pytest.fixture
async def erika(services: SignInServices) -> Person:
    return await join(services, a_new_user())


async def test_another_app_takes_the_place_of_the_one_before(
    services: SignInServices, clock: MovableClock, erika: Person
) -> None:
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        await start_app_setup(work, erika.user_id, randomness(SECRET_BYTES))
        started = await find_new_app_secret(work, erika.user_id)
    assert started is not None
    await sign_in(services, erika)  # the app before is good until then
    async with services.work(person.actor) as work:
        assert not await finish_app_setup(work, person, "000000")
        assert await finish_app_setup(work, person, pyotp.TOTP(started).at(clock.now()))
        assert not await finish_app_setup(work, person, pyotp.TOTP(started).at(clock.now()))
    clock.advance(timedelta(seconds=30))
    old = given(await enter(services, erika), erika.code(clock.now()))
    assert await check_totp_code(services, old) == WrongSignIn()
    await sign_in(services, replace(erika, app_secret=started))


async def test_an_app_that_waits_for_its_first_code_opens_nothing(
    services: SignInServices, clock: MovableClock, erika: Person
) -> None:
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        await start_app_setup(work, erika.user_id, randomness(SECRET_BYTES))
        started = await find_new_app_secret(work, erika.user_id)
    assert started is not None
    clock.advance(timedelta(seconds=30))
    code = given(await enter(services, erika), pyotp.TOTP(started).at(clock.now()))
    assert await check_totp_code(services, code) == WrongSignIn()


@pytest.mark.parametrize(("late", "is_good"), [(-1, True), (0, False)])
async def test_a_started_app_waits_ten_minutes(
    services: SignInServices, clock: MovableClock, erika: Person, late: int, is_good: bool
) -> None:
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        await start_app_setup(work, erika.user_id, randomness(SECRET_BYTES))
        started = await find_new_app_secret(work, erika.user_id)
    assert started is not None
    clock.advance(timedelta(minutes=10, seconds=late))
    async with services.work(person.actor) as work:
        assert (await find_new_app_secret(work, erika.user_id) is not None) is is_good
        code = pyotp.TOTP(started).at(clock.now())
        assert await finish_app_setup(work, person, code) is is_good


async def test_the_last_way_in_stays(services: SignInServices, erika: Person) -> None:
    person = await require(services, erika.session)
    settings = replace(services.resources.settings, public_url="http://localhost:8000")
    at_name = replace(services, resources=replace(services.resources, settings=settings))
    async with services.work(person.actor) as work:
        [app] = (await load_account(work, person)).factors
        with pytest.raises(InvalidState):
            await remove_own_factor(work, person, app.factor_id)
        options = await start_passkey_setup(at_name, work, person, randomness())
        passkey = SoftwarePasskey("http://localhost:8000", "localhost")
        with pytest.raises(ValidationError):
            await add_passkey(at_name, work, person, passkey.create(options), "lap\x85top")
        assert await add_passkey(at_name, work, person, passkey.create(options), " laptop ")
        await remove_own_factor(work, person, app.factor_id)
        [left] = (await load_account(work, person)).factors
        assert (left.kind, left.name) == ("PASSKEY", "laptop")
        with pytest.raises(InvalidState):
            await remove_own_factor(work, person, left.factor_id)


async def test_nobody_removes_somebody_elses_factor(
    services: SignInServices, erika: Person
) -> None:
    paul = await join(services, a_new_user("paul@example.org", name="Paul"))
    his, hers = await require(services, paul.session), await require(services, erika.session)
    async with services.work(his.actor) as work:
        [app] = (await load_account(work, hers)).factors
        with pytest.raises(NotFound):
            await remove_own_factor(work, his, app.factor_id)


async def test_new_recovery_codes_end_those_before(services: SignInServices, erika: Person) -> None:
    before = await read_codes(services, erika)
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        await create_recovery_codes(work, erika.user_id, erika.session.secret)
    after = await read_codes(services, erika)
    assert not set(before) & set(after)
    old = given(await enter(services, erika), before[0])
    assert await check_recovery_code(services, old) == WrongSignIn()
    new = given(await enter(services, erika), after[0])
    assert isinstance(await check_recovery_code(services, new), OpenedSession)


async def test_codes_are_shown_where_they_were_made_and_not_for_long(
    services: SignInServices, clock: MovableClock, erika: Person
) -> None:
    other = await sign_in(services, erika)
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        assert await list_shown_codes(work, erika.user_id, other.secret) == []
        assert len(await list_shown_codes(work, erika.user_id, erika.session.secret)) == 10
    # The other has signed in half a minute after these were made.
    clock.advance(timedelta(minutes=29, seconds=30) - JUST)
    assert len(await read_codes(services, erika)) == 10
    clock.advance(JUST)
    assert await read_codes(services, erika) == []


async def test_codes_that_were_put_away_are_shown_no_more(
    services: SignInServices, erika: Person
) -> None:
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        await hide_shown_codes(work, erika.session.secret)
    assert await read_codes(services, erika) == []


async def test_the_password_is_asked_once_more(services: SignInServices, erika: Person) -> None:
    person = await require(services, erika.session)
    assert (
        await confirm_own_password(services, PasswordConfirmation(person, PASSWORD, HOME)) is None
    )
    assert (
        await confirm_own_password(services, PasswordConfirmation(person, "", HOME))
        == WrongSignIn()
    )


async def test_a_wrong_one_is_written_down_as_a_refused_sign_in(
    services: SignInServices, erika: Person, database: Database
) -> None:
    person = await require(services, erika.session)
    await confirm_own_password(services, PasswordConfirmation(person, "no", HOME))
    async with database.connection() as connection:
        last = await connection.fetchrow(
            "SELECT actor_kind, action, subject FROM installation_audit ORDER BY audit_id DESC"
        )
    assert last is not None
    assert tuple(last) == ("VISITOR", "session.refuse", f"user:{erika.user_id}")


@pytest.mark.parametrize(("name", "language"), [("", "en"), ("x" * 201, "en"), ("Erika", "fr")])
async def test_a_faulty_profile_changes_nothing(
    services: SignInServices, erika: Person, name: str, language: str
) -> None:
    person = await require(services, erika.session)
    with pytest.raises(ValidationError):
        async with services.work(person.actor) as work:
            await change_profile(work, person, name, language)
    assert await require(services, erika.session) == person


async def test_name_and_language_are_ones_own(services: SignInServices, erika: Person) -> None:
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        await change_profile(work, person, "Erika M.", "de")
    after = await require(services, erika.session)
    assert (after.name, after.language) == ("Erika M.", "de")


async def test_apps_are_sealed_anew_with_a_newer_key(
    services: SignInServices, erika: Person, database: Database
) -> None:
    keys = services.resources.keys
    both = KeyRing({2: SECOND_KEY, 1: dict(keys._secret_key)[1]})
    newer = replace(services.resources, keys=both)
    await reseal_table(newer, "authentication_factors")
    async with database.connection() as connection:
        assert await count_sealed(connection, "authentication_factors") == {2: 1}
    await sign_in(SignInServices(newer, services.passwords), erika)


async def test_passwords_are_hashed_anew_when_the_costs_change(
    services: SignInServices, erika: Person, database: Database
) -> None:
    async def read() -> str:
        async with database.connection() as connection:
            found: str = await connection.fetchval("SELECT password_hash FROM users")
            return found

    before = await read()
    costly = SignInServices(services.resources, Passwords(_costly()))
    await sign_in(costly, erika)
    assert "m=8," in before
    assert "m=16," in await read()
    await sign_in(costly, erika)


def _costly() -> CountingHasher:
    return CountingHasher(hasher=PasswordHasher(time_cost=1, memory_cost=16, parallelism=1))
