"""Changes to one's own account: name, apps, passkeys, recovery codes; the last factor stays."""

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
from tests.support.users import (
    HOME,
    PASSWORD,
    CountingHasher,
    JoinedUser,
    a_new_user,
    build_submitted_code,
    join,
    randomness,
    read_codes,
    sign_in,
    start_sign_in,
)


@pytest.fixture
async def erika(services: SignInServices) -> JoinedUser:
    return await join(services, a_new_user())


async def test_a_new_app_replaces_the_previous_one(
    services: SignInServices, clock: MovableClock, erika: JoinedUser
) -> None:
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        await start_app_setup(work, erika.user_id, randomness(SECRET_BYTES))
        started = await find_new_app_secret(work, erika.user_id)
    assert started is not None
    await sign_in(services, erika)  # The previous app works until the setup is finished.
    async with services.work(person.actor) as work:
        assert not await finish_app_setup(work, person, "000000")
        assert await finish_app_setup(work, person, pyotp.TOTP(started).at(clock.now()))
        assert not await finish_app_setup(work, person, pyotp.TOTP(started).at(clock.now()))
    clock.advance(timedelta(seconds=30))
    old = build_submitted_code(await start_sign_in(services, erika), erika.code(clock.now()))
    assert await check_totp_code(services, old) == WrongSignIn()
    await sign_in(services, replace(erika, app_secret=started))


async def test_an_unconfirmed_app_cannot_be_used_to_sign_in(
    services: SignInServices, clock: MovableClock, erika: JoinedUser
) -> None:
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        await start_app_setup(work, erika.user_id, randomness(SECRET_BYTES))
        started = await find_new_app_secret(work, erika.user_id)
    assert started is not None
    clock.advance(timedelta(seconds=30))
    code = build_submitted_code(
        await start_sign_in(services, erika), pyotp.TOTP(started).at(clock.now())
    )
    assert await check_totp_code(services, code) == WrongSignIn()


@pytest.mark.parametrize(("late", "is_good"), [(-1, True), (0, False)])
async def test_an_app_setup_lasts_ten_minutes(
    services: SignInServices, clock: MovableClock, erika: JoinedUser, late: int, is_good: bool
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


async def test_the_last_factor_cannot_be_removed(
    services: SignInServices, erika: JoinedUser
) -> None:
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


async def test_a_factor_of_another_user_cannot_be_removed(
    services: SignInServices, erika: JoinedUser
) -> None:
    paul = await join(services, a_new_user("paul@example.org", name="Paul"))
    his, hers = await require(services, paul.session), await require(services, erika.session)
    async with services.work(his.actor) as work:
        [app] = (await load_account(work, hers)).factors
        with pytest.raises(NotFound):
            await remove_own_factor(work, his, app.factor_id)


async def test_new_recovery_codes_replace_the_previous_ones(
    services: SignInServices, erika: JoinedUser
) -> None:
    before = await read_codes(services, erika)
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        await create_recovery_codes(work, erika.user_id, erika.session.secret)
    after = await read_codes(services, erika)
    assert not set(before) & set(after)
    old = build_submitted_code(await start_sign_in(services, erika), before[0])
    assert await check_recovery_code(services, old) == WrongSignIn()
    new = build_submitted_code(await start_sign_in(services, erika), after[0])
    assert isinstance(await check_recovery_code(services, new), OpenedSession)


async def test_recovery_codes_are_shown_for_half_an_hour_in_the_session_that_made_them(
    services: SignInServices, clock: MovableClock, erika: JoinedUser
) -> None:
    other = await sign_in(services, erika)
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        assert await list_shown_codes(work, erika.user_id, other.secret) == []
        assert len(await list_shown_codes(work, erika.user_id, erika.session.secret)) == 10
    # The other session was opened half a minute after the codes were made.
    clock.advance(timedelta(minutes=29, seconds=30) - JUST)
    assert len(await read_codes(services, erika)) == 10
    clock.advance(JUST)
    assert await read_codes(services, erika) == []


async def test_hidden_recovery_codes_are_not_shown_again(
    services: SignInServices, erika: JoinedUser
) -> None:
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        await hide_shown_codes(work, erika.session.secret)
    assert await read_codes(services, erika) == []


async def test_confirming_needs_the_right_password(
    services: SignInServices, erika: JoinedUser
) -> None:
    person = await require(services, erika.session)
    assert (
        await confirm_own_password(services, PasswordConfirmation(person, PASSWORD, HOME)) is None
    )
    assert (
        await confirm_own_password(services, PasswordConfirmation(person, "", HOME))
        == WrongSignIn()
    )


async def test_a_wrong_confirmation_is_audited_as_a_refused_sign_in(
    services: SignInServices, erika: JoinedUser, database: Database
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
async def test_an_invalid_profile_is_refused(
    services: SignInServices, erika: JoinedUser, name: str, language: str
) -> None:
    person = await require(services, erika.session)
    with pytest.raises(ValidationError):
        async with services.work(person.actor) as work:
            await change_profile(work, person, name, language)
    assert await require(services, erika.session) == person


async def test_a_user_can_change_their_name_and_language(
    services: SignInServices, erika: JoinedUser
) -> None:
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        await change_profile(work, person, "Erika M.", "de")
    after = await require(services, erika.session)
    assert (after.name, after.language) == ("Erika M.", "de")


async def test_app_secrets_are_reencrypted_with_a_newer_key(
    services: SignInServices, erika: JoinedUser, database: Database
) -> None:
    keys = services.resources.keys
    both = KeyRing({2: SECOND_KEY, 1: dict(keys._secret_key)[1]})
    newer = replace(services.resources, keys=both)
    await reseal_table(newer, "authentication_factors")
    async with database.connection() as connection:
        assert await count_sealed(connection, "authentication_factors") == {2: 1}
    await sign_in(SignInServices(newer, services.passwords), erika)


async def test_passwords_are_rehashed_when_the_cost_parameters_change(
    services: SignInServices, erika: JoinedUser, database: Database
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
