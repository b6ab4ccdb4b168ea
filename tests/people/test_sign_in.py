"""Signing in with password and second factor: each works once, ten attempts, no hint about who
exists."""

import asyncio
from datetime import timedelta

import pytest

from dunwell.accounts.users.passwords import Passwords, SignInServices
from dunwell.accounts.users.sessions.session_rules import hash_secret
from dunwell.accounts.users.sessions.sessions import OpenedBy, OpenedSession
from dunwell.accounts.users.sign_in.limits import MAX_ATTEMPTS
from dunwell.accounts.users.sign_in.sign_in import (
    PendingSignIn,
    SignInExpired,
    TooManyAttempts,
    WrongSignIn,
    check_password,
    check_recovery_code,
    check_totp_code,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from tests.support.durations import JUST
from tests.support.users import (
    AWAY,
    HOME,
    PASSWORD,
    CountingHasher,
    a_new_user,
    build_submitted_code,
    join,
    randomness,
    read_codes,
    sign_in,
    start_sign_in,
)

_ACTS = "SELECT actor_kind, action, subject FROM installation_audit ORDER BY audit_id"


async def test_password_and_code_open_a_session(services: SignInServices) -> None:
    erika = await join(services, a_new_user())
    opened = await sign_in(services, erika)
    assert (opened.user_id, opened.by, opened.is_new_network) == (
        erika.user_id, OpenedBy.TOTP, False,
    )  # fmt: skip
    assert opened.secret != erika.session.secret


async def test_a_new_network_is_reported_once(services: SignInServices) -> None:
    erika = await join(services, a_new_user())
    assert (await sign_in(services, erika, visitor=AWAY)).is_new_network
    assert not (await sign_in(services, erika, visitor=AWAY)).is_new_network


async def test_e_mail_addresses_are_compared_without_case(services: SignInServices) -> None:
    await join(services, a_new_user("Erika@Example.org"))
    entry = await check_password(services, " eRIKA@example.ORG", PASSWORD, HOME, randomness())
    assert isinstance(entry, PendingSignIn)


async def test_a_code_works_once(services: SignInServices, clock: MovableClock) -> None:
    erika = await join(services, a_new_user())
    clock.advance(timedelta(seconds=30))
    code = erika.code(clock.now())
    first = await check_totp_code(
        services, build_submitted_code(await start_sign_in(services, erika), code)
    )
    second = await check_totp_code(
        services, build_submitted_code(await start_sign_in(services, erika), code)
    )
    assert isinstance(first, OpenedSession)
    assert second == WrongSignIn()


async def test_a_code_older_than_the_last_used_one_is_refused(
    services: SignInServices, clock: MovableClock
) -> None:
    erika = await join(services, a_new_user())
    clock.advance(timedelta(seconds=60))
    earlier = erika.code(clock.now() - timedelta(seconds=30))
    entries = [await start_sign_in(services, erika) for _ in range(2)]
    now = await check_totp_code(services, build_submitted_code(entries[0], erika.code(clock.now())))
    assert isinstance(now, OpenedSession)
    assert (
        await check_totp_code(services, build_submitted_code(entries[1], earlier)) == WrongSignIn()
    )


async def test_concurrent_uses_of_one_code_open_one_session(
    services: SignInServices, clock: MovableClock
) -> None:
    erika = await join(services, a_new_user())
    clock.advance(timedelta(seconds=30))
    code = erika.code(clock.now())
    entries = [await start_sign_in(services, erika) for _ in range(4)]
    visitors = (HOME, AWAY, HOME, AWAY)
    outcomes = await asyncio.gather(*(
        check_totp_code(services, build_submitted_code(entry, code, visitor))
        for entry, visitor in zip(entries, visitors, strict=True)
    ))  # fmt: skip
    assert sum(isinstance(each, OpenedSession) for each in outcomes) == 1
    assert outcomes.count(WrongSignIn()) == 3


async def test_the_code_used_for_joining_cannot_be_used_again(
    services: SignInServices, clock: MovableClock
) -> None:
    erika = await join(services, a_new_user())
    again = build_submitted_code(await start_sign_in(services, erika), erika.code(clock.now()))
    assert await check_totp_code(services, again) == WrongSignIn()


async def test_a_recovery_code_works_once(services: SignInServices) -> None:
    erika = await join(services, a_new_user())
    code = (await read_codes(services, erika))[3]
    typed = code.lower().replace("-", " ")
    first = await check_recovery_code(
        services, build_submitted_code(await start_sign_in(services, erika), typed)
    )
    second = await check_recovery_code(
        services, build_submitted_code(await start_sign_in(services, erika), code)
    )
    assert isinstance(first, OpenedSession)
    assert first.by is OpenedBy.RECOVERY
    assert second == WrongSignIn()


async def test_concurrent_uses_of_one_recovery_code_open_one_session(
    services: SignInServices,
) -> None:
    erika = await join(services, a_new_user())
    code = (await read_codes(services, erika))[0]
    entries = [await start_sign_in(services, erika) for _ in range(2)]
    outcomes = await asyncio.gather(*(
        check_recovery_code(services, build_submitted_code(entry, code, visitor))
        for entry, visitor in zip(entries, (HOME, AWAY), strict=True)
    ))  # fmt: skip
    assert sum(isinstance(each, OpenedSession) for each in outcomes) == 1


async def test_a_recovery_code_of_another_user_is_refused(services: SignInServices) -> None:
    erika = await join(services, a_new_user())
    paul = await join(services, a_new_user("paul@example.org", name="Paul"))
    code = (await read_codes(services, paul))[0]
    mine = build_submitted_code(await start_sign_in(services, erika), code)
    assert await check_recovery_code(services, mine) == WrongSignIn()


async def test_a_pending_sign_in_works_once(services: SignInServices, clock: MovableClock) -> None:
    erika = await join(services, a_new_user())
    entry = await start_sign_in(services, erika)
    clock.advance(timedelta(seconds=30))
    await check_totp_code(services, build_submitted_code(entry, erika.code(clock.now())))
    clock.advance(timedelta(seconds=30))
    assert (
        await check_totp_code(services, build_submitted_code(entry, erika.code(clock.now())))
        == SignInExpired()
    )


@pytest.mark.parametrize(("late", "expected"), [(-1, OpenedSession), (0, SignInExpired)])
async def test_a_pending_sign_in_lasts_ten_minutes(
    services: SignInServices, clock: MovableClock, late: int, expected: type
) -> None:
    erika = await join(services, a_new_user())
    entry = await start_sign_in(services, erika)
    clock.advance(timedelta(minutes=10, seconds=late))
    outcome = await check_totp_code(services, build_submitted_code(entry, erika.code(clock.now())))
    assert isinstance(outcome, expected)


@pytest.mark.parametrize("email", ["erika@example.org", "nobody@example.org"])
async def test_ten_wrong_passwords_lock_an_address_whether_or_not_it_exists(
    services: SignInServices, hasher: CountingHasher, clock: MovableClock, email: str
) -> None:
    """The same number of hashes and the same answers, whether the user exists or not."""
    await join(services, a_new_user())
    hasher.verified = 0
    for place in range(MAX_ATTEMPTS):
        visitor = type(HOME)(f"203.0.113.{place}")
        wrong = await check_password(services, email, "wrong", visitor, randomness())
        assert (wrong, hasher.verified) == (WrongSignIn(), place + 1)
    right = await check_password(services, email, PASSWORD, AWAY, randomness())
    assert (right, hasher.verified) == (TooManyAttempts(900), MAX_ATTEMPTS)
    clock.advance(timedelta(minutes=15) - JUST)
    still = await check_password(services, email, PASSWORD, AWAY, randomness())
    assert (still, hasher.verified) == (TooManyAttempts(1), MAX_ATTEMPTS)
    clock.advance(JUST)
    after = await check_password(services, email, PASSWORD, AWAY, randomness())
    assert isinstance(after, PendingSignIn if email == "erika@example.org" else WrongSignIn)
    assert hasher.verified == MAX_ATTEMPTS + 1


async def test_concurrent_wrong_passwords_are_limited_to_ten(
    services: SignInServices, hasher: CountingHasher
) -> None:
    await join(services, a_new_user())
    hasher.verified = 0
    outcomes = await asyncio.gather(*(
        check_password(services, "erika@example.org", "no", type(HOME)(f"10.0.{n}.1"), b"x" * 32)
        for n in range(25)
    ))  # fmt: skip
    assert (hasher.verified, outcomes.count(WrongSignIn())) == (MAX_ATTEMPTS, MAX_ATTEMPTS)


async def test_a_visitor_is_locked_across_users(services: SignInServices) -> None:
    await join(services, a_new_user())
    for place in range(MAX_ATTEMPTS):
        await check_password(services, f"n{place}@example.org", "no", AWAY, randomness())
    mine = await check_password(services, "erika@example.org", PASSWORD, AWAY, randomness())
    other = await check_password(services, "erika@example.org", PASSWORD, HOME, randomness())
    assert isinstance(mine, TooManyAttempts)
    assert isinstance(other, PendingSignIn)


async def test_wrong_codes_lock_a_visitor(services: SignInServices, clock: MovableClock) -> None:
    erika = await join(services, a_new_user())
    entry = await start_sign_in(services, erika)
    clock.advance(timedelta(seconds=30))
    for _ in range(MAX_ATTEMPTS):
        assert (
            await check_totp_code(services, build_submitted_code(entry, "12345x")) == WrongSignIn()
        )
    right = build_submitted_code(entry, erika.code(clock.now()), AWAY)
    assert isinstance(await check_totp_code(services, right), TooManyAttempts)


async def test_right_passwords_are_not_counted(services: SignInServices) -> None:
    erika = await join(services, a_new_user())
    for _ in range(MAX_ATTEMPTS + 2):
        await sign_in(services, erika)


async def test_a_password_changed_during_its_check_is_refused(
    services: SignInServices, hasher: CountingHasher, database: Database
) -> None:
    erika = await join(services, a_new_user())
    verified = asyncio.Event()

    class Waiting(Passwords):
        async def verify(self, stored: str | None, password: str) -> bool:
            is_right = await super().verify(stored, password)
            await verified.wait()
            return is_right

    slow = SignInServices(services.resources, Waiting(hasher))
    before = asyncio.create_task(check_password(slow, erika.email, PASSWORD, HOME, randomness()))
    async with database.transaction() as tx:
        # The change is committed before the pending sign-in is inserted.
        await tx.execute("UPDATE users SET password_hash = concat(password_hash, 'x')")
        verified.set()
        await asyncio.sleep(0.3)
        await tx.execute("DELETE FROM pending_sign_ins")
    assert await before == WrongSignIn()
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM pending_sign_ins") == 0


@pytest.mark.parametrize("entry", ["", "x" * 43, "\u20ac" * 43, "a" * 5000])
async def test_a_code_without_a_pending_sign_in_is_refused(
    services: SignInServices, entry: str
) -> None:
    assert await check_totp_code(services, build_submitted_code(entry, "123456")) == SignInExpired()


async def test_the_database_stores_only_hashes_and_encrypted_secrets(
    services: SignInServices, database: Database
) -> None:
    erika = await join(services, a_new_user())
    opened = await sign_in(services, erika)
    async with database.connection() as connection:
        hashes = await connection.fetch("SELECT session_hash FROM portal_sessions")
        stored = await connection.fetchrow(
            "SELECT u::text, f::text FROM users u, authentication_factors f"
        )
    assert hash_secret(opened.secret) in {row[0] for row in hashes}
    assert stored is not None
    assert PASSWORD not in stored[0]
    assert "$argon2id$" in stored[0]
    assert erika.app_secret not in stored[1]


async def test_refusals_and_sessions_are_in_the_audit_log(
    services: SignInServices, database: Database
) -> None:
    erika = await join(services, a_new_user())
    await check_password(services, erika.email, "no", HOME, randomness())
    await check_password(services, "nobody@example.org", "no", HOME, randomness())
    await sign_in(services, erika)
    async with database.connection() as connection:
        acts = [tuple(row) for row in await connection.fetch(_ACTS)]
    user = f"user:{erika.user_id}"
    assert acts == [
        ("OPERATOR", "user.invite", user),
        ("USER", "user.join", user),
        ("USER", "session.begin", user),
        ("USER", "recovery_codes.make", user),
        ("VISITOR", "session.refuse", user),
        ("VISITOR", "session.refuse", "user:unknown"),
        ("USER", "session.begin", user),
    ]
