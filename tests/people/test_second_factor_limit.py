"""Ten wrong codes after a right password, counted over a day and all visitors, lock the second
factor."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.accounts.users.accept_invitation import find_invitation
from dunwell.accounts.users.manage_users import RANDOM_BYTES, reset_user
from dunwell.accounts.users.own_account import PasswordConfirmation, change_password
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.sessions import (
    OpenedSession,
    find_known_browser,
    render_browser_cookie,
)
from dunwell.accounts.users.sign_in.sign_in import (
    CodeOutcome,
    PendingSignIn,
    SecondFactorLocked,
    TooManyAttempts,
    WrongSignIn,
    check_password,
    check_recovery_code,
    check_totp_code,
)
from dunwell.accounts.users.sweep_users import sweep_user_rows
from dunwell.accounts.users.user_work import Visitor
from dunwell.operations.alerts.check_alerts import check_for_alerts
from dunwell.operations.alerts.send_alert_emails import send_alert_emails
from dunwell.platform.clock import MovableClock
from dunwell.platform.crypto import KeyRing
from dunwell.platform.resources import Resources
from tests.people.test_sessions import require
from tests.support.durations import JUST
from tests.support.harness import ScriptedDeliveryProvider
from tests.support.users import (
    HOME,
    OPENER,
    OPERATOR,
    PASSWORD,
    CountingHasher,
    JoinedUser,
    a_new_user,
    build_sign_in_services,
    build_submitted_code,
    join,
    randomness,
    read_codes,
    sign_in,
    start_sign_in,
)

QUARTER, DAY = timedelta(minutes=15), timedelta(days=1)
_MAILS = "SELECT recipient, subject, body, language FROM staff_emails ORDER BY email_id"
_ALERTS = "SELECT kind FROM alerts ORDER BY alert_id"
_LINE: dict[str, Any] = {"channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587"}
_ACTS = "SELECT action, after FROM installation_audit WHERE action = 'second_factor.lock'"


def elsewhere(number: int, device: str = "") -> Visitor:
    """Return a visitor in a network of their own."""
    return Visitor(f"10.{number // 250}.{number % 250}.1", browser_cookie=device)


async def fetch_rows(services: SignInServices, statement: str) -> Sequence[tuple[Any, ...]]:
    async with services.resources.database.connection() as connection:
        return [tuple(row) for row in await connection.fetch(statement)]


async def guess(
    services: SignInServices,
    person: JoinedUser,
    number: int,
    code: str = "12345x",
    device: str = "",
) -> CodeOutcome:
    """Enter a code after the right password, from a network of its own."""
    visitor = elsewhere(number, device)
    entry = await check_password(services, person.email, PASSWORD, visitor, randomness())
    if not isinstance(entry, PendingSignIn):
        return entry
    return await check_totp_code(services, build_submitted_code(entry.secret, code, visitor))


async def lock(services: SignInServices, person: JoinedUser) -> None:
    """Enter ten wrong codes within two quarters of an hour."""
    clock = services.resources.clock
    assert isinstance(clock, MovableClock)
    for number in range(10):
        if number == 5:
            clock.advance(QUARTER)
        assert await guess(services, person, number) == WrongSignIn()
    clock.advance(QUARTER)


@pytest.fixture
async def erika(services: SignInServices) -> JoinedUser:
    return await join(services, a_new_user())


async def test_after_ten_wrong_codes_no_code_is_compared(
    services: SignInServices, erika: JoinedUser, clock: MovableClock
) -> None:
    await lock(services, erika)
    assert await guess(services, erika, 90, erika.code(clock.now())) == SecondFactorLocked()
    clock.advance(3 * DAY)
    assert await guess(services, erika, 91, erika.code(clock.now())) == SecondFactorLocked()


async def test_a_pending_sign_in_from_before_the_lock_fails(
    services: SignInServices, erika: JoinedUser, clock: MovableClock
) -> None:
    codes = await read_codes(services, erika)
    for number in range(9):
        if number == 5:
            clock.advance(QUARTER)
        assert await guess(services, erika, number) == WrongSignIn()
    entry = await start_sign_in(services, erika, visitor=elsewhere(50))
    assert await guess(services, erika, 51) == WrongSignIn()
    clock.advance(timedelta(seconds=30))
    right = build_submitted_code(entry, erika.code(clock.now()), elsewhere(50))
    assert await check_totp_code(services, right) == SecondFactorLocked()
    recovery = build_submitted_code(entry, codes[0], elsewhere(50))
    assert await check_recovery_code(services, recovery) == SecondFactorLocked()


async def test_recovery_codes_and_app_codes_count_together(
    services: SignInServices, erika: JoinedUser, clock: MovableClock
) -> None:
    for number in range(10):
        if number % 5 == 0:
            clock.advance(QUARTER)
        visitor = elsewhere(number)
        entry = await start_sign_in(services, erika, visitor=visitor)
        give = check_totp_code if number % 2 else check_recovery_code
        assert (
            await give(services, build_submitted_code(entry, "ABCD-EFGH", visitor)) == WrongSignIn()
        )
    clock.advance(QUARTER)
    assert await guess(services, erika, 99) == SecondFactorLocked()


async def test_fifty_concurrent_guesses_in_four_processes_count_as_ten(
    services: SignInServices, erika: JoinedUser, clock: MovableClock
) -> None:
    """Five were counted a quarter of an hour ago, so that the daily limit is reached first."""
    for number in range(5):
        await guess(services, erika, number)
    clock.advance(QUARTER)
    entries = [await start_sign_in(services, erika, visitor=elsewhere(100 + n)) for n in range(50)]
    processes = [build_sign_in_services(services.resources) for _ in range(4)]
    outcomes = await asyncio.gather(*(
        check_totp_code(processes[n % 4], build_submitted_code(entry, "12345x", elsewhere(100 + n)))
        for n, entry in enumerate(entries)
    ))  # fmt: skip
    assert outcomes.count(WrongSignIn()) == 5
    assert all(
        isinstance(each, WrongSignIn | SecondFactorLocked | TooManyAttempts) for each in outcomes
    )
    assert await fetch_rows(services, "SELECT count(*) FROM second_factor_failures") == [(10,)]
    assert len(await fetch_rows(services, _ACTS)) == 1


async def test_concurrent_wrong_codes_of_ten_known_browsers_lock_the_account(
    services: SignInServices, erika: JoinedUser
) -> None:
    visitors = [elsewhere(n, (await sign_in(services, erika)).browser_cookie) for n in range(10)]
    entries = [await start_sign_in(services, erika, visitor=visitor) for visitor in visitors]
    outcomes = await asyncio.gather(*(
        check_totp_code(services, build_submitted_code(entry, "12345x", visitor))
        for entry, visitor in zip(entries, visitors, strict=True)
    ))  # fmt: skip
    assert outcomes == [WrongSignIn()] * 10
    assert await guess(services, erika, 200) == SecondFactorLocked()


@pytest.mark.parametrize(
    ("late", "expected"), [(-JUST, SecondFactorLocked), (0 * JUST, WrongSignIn)]
)
async def test_wrong_codes_are_counted_for_24_hours(
    services: SignInServices,
    erika: JoinedUser,
    clock: MovableClock,
    late: timedelta,
    expected: type,
) -> None:
    await guess(services, erika, 0)
    clock.advance(DAY - 2 * QUARTER)
    for number in range(1, 9):
        if number == 5:
            clock.advance(QUARTER)
        assert await guess(services, erika, number) == WrongSignIn()
    clock.advance(QUARTER + late)
    assert await guess(services, erika, 9) == WrongSignIn()
    assert isinstance(await guess(services, erika, 10), expected)


async def test_a_right_code_does_not_forget_the_wrong_ones(
    services: SignInServices, erika: JoinedUser, clock: MovableClock
) -> None:
    """If it did, an attacker would only have to wait for the user to sign in."""
    for number in range(9):
        if number == 5:
            clock.advance(QUARTER)
        await guess(services, erika, number)
    await sign_in(services, erika)
    await guess(services, erika, 9)
    assert await guess(services, erika, 10) == SecondFactorLocked()


@pytest.mark.parametrize(
    ("late", "expected"), [(-JUST, WrongSignIn), (0 * JUST, SecondFactorLocked)]
)
async def test_a_browser_of_the_last_30_days_still_signs_in(
    services: SignInServices,
    erika: JoinedUser,
    clock: MovableClock,
    late: timedelta,
    expected: type,
) -> None:
    await lock(services, erika)
    opened = await sign_in(services, erika, visitor=elsewhere(60, erika.session.browser_cookie))
    assert opened.is_second_factor_locked
    clock.advance(timedelta(days=30) + late)
    outcome = await guess(services, erika, 99, device=opened.browser_cookie)
    assert isinstance(outcome, expected)


async def test_a_browser_is_known_only_for_its_own_user(
    services: SignInServices, erika: JoinedUser
) -> None:
    paul = await join(services, a_new_user("paul@example.org", name="Paul"))
    await lock(services, erika)
    assert (
        await guess(services, erika, 70, device=paul.session.browser_cookie) == SecondFactorLocked()
    )


async def test_wrong_codes_of_a_known_browser_are_counted_separately(
    services: SignInServices, erika: JoinedUser, clock: MovableClock
) -> None:
    """A stolen cookie does not bypass the limit."""
    device = erika.session.browser_cookie
    await lock(services, erika)
    for number in range(10):
        if number == 5:
            clock.advance(QUARTER)
        assert await guess(services, erika, number, device=device) == WrongSignIn()
    clock.advance(QUARTER)
    right = erika.code(clock.now())
    assert await guess(services, erika, 80, right, device) == SecondFactorLocked()


@pytest.mark.parametrize("change", ["signature", "secret", "none", "other"])
async def test_a_forged_browser_cookie_is_not_recognised(
    services: SignInServices, erika: JoinedUser, change: str
) -> None:
    await lock(services, erika)
    secret, signature = erika.session.browser_cookie.split(".")
    foreign = KeyRing({1: b"x" * 32})
    forged = {
        "signature": f"{secret}.{'A' * len(signature)}",
        "secret": f"{'A' * len(secret)}.{signature}",
        "none": secret,
        "other": render_browser_cookie(foreign, erika.user_id, secret),
    }[change]
    assert await guess(services, erika, 70, device=forged) == SecondFactorLocked()


async def test_a_browser_cookie_survives_a_key_rotation(
    services: SignInServices, erika: JoinedUser, clock: MovableClock
) -> None:
    await lock(services, erika)
    old = services.resources.keys
    both = KeyRing({2: b"second" * 8, **{each: old._secret_key[each] for each in old.versions}})
    after = replace(services, resources=replace(services.resources, keys=both))
    visitor = elsewhere(60, erika.session.browser_cookie)
    entry = await check_password(after, erika.email, PASSWORD, visitor, randomness())
    assert isinstance(entry, PendingSignIn)
    gone = replace(services, resources=replace(services.resources, keys=KeyRing({2: b"s" * 48})))
    entry = await check_password(gone, erika.email, PASSWORD, visitor, randomness())
    assert entry == SecondFactorLocked()


async def count_kept(services: SignInServices) -> tuple[Any, ...]:
    """Return since when the user is locked, and the number of wrong codes that still count."""
    [row] = await fetch_rows(
        services,
        "SELECT second_factor_locked_at, (SELECT count(*) FROM second_factor_failures) FROM users",
    )
    return row


async def test_a_new_password_lifts_the_lock_and_forgets_known_browsers(
    services: SignInServices, erika: JoinedUser
) -> None:
    await lock(services, erika)
    known = await sign_in(services, erika, visitor=elsewhere(60, erika.session.browser_cookie))
    asking = PasswordConfirmation(await require(services, known), PASSWORD, HOME)
    new = "kettle pebbles orchid 32"
    assert isinstance(await change_password(services, asking, new, randomness()), OpenedSession)
    assert await count_kept(services) == (None, 0)
    assert (await sign_in(services, erika, password=new, visitor=elsewhere(44))).by == "TOTP"
    async with services.resources.database.connection() as connection:
        now = services.now()
        for device in (erika.session.browser_cookie, known.browser_cookie):
            found = await find_known_browser(
                connection, services.resources.keys, device, erika.email, since=now - DAY
            )
            assert found is None


async def test_a_reset_lifts_the_lock_and_forgets_known_browsers(
    services: SignInServices, erika: JoinedUser
) -> None:
    await lock(services, erika)
    async with services.work(OPERATOR) as work:
        await reset_user(work, erika.user_id, randomness(RANDOM_BYTES))
    assert await count_kept(services) == (None, 0)
    async with services.resources.database.connection() as connection:
        hashes = await connection.fetch("SELECT device_hash FROM portal_sessions")
    assert {row[0] for row in hashes} == {None}


async def test_a_break_glass_admin_is_limited_and_unlocked_on_the_command_line(
    services: SignInServices,
) -> None:
    glass = await join(services, replace(a_new_user("glass@example.org"), is_break_glass=True))
    await lock(services, glass)
    assert await guess(services, glass, 70) == SecondFactorLocked()
    async with services.work(OPERATOR) as work:
        link = (await reset_user(work, glass.user_id, randomness(RANDOM_BYTES))).secret
    assert await find_invitation(services, link, OPENER) is not None


@pytest.mark.parametrize("is_locked", [False, True])
async def test_a_wrong_password_is_answered_the_same_whether_the_account_is_locked(
    services: SignInServices, erika: JoinedUser, hasher: CountingHasher, *, is_locked: bool
) -> None:
    if is_locked:
        await lock(services, erika)
    hasher.verified = 0
    for email in (erika.email, "nobody@example.org"):
        answers = [
            await check_password(services, email, "wrong", elsewhere(200 + n), randomness())
            for n in range(10)
        ]
        assert answers == [WrongSignIn()] * 10
        limit = await check_password(services, email, "wrong", elsewhere(300), randomness())
        assert limit == TooManyAttempts(900)
    assert hasher.verified == 20


async def test_the_user_gets_an_e_mail_and_the_operator_an_alert_once(
    resources: Resources, services: SignInServices
) -> None:
    document = {"deliveryProviders": {"post": _LINE}, "alerts": {"email": ["ops@example.com"]}}
    await apply_installation(resources, check_installation(document))
    karl = await join(services, a_new_user("karl@example.org", name="Karl", language="de"))
    await lock(services, karl)
    for number in range(3):
        await guess(services, karl, 70 + number)
    [(recipient, subject, body, language)] = await fetch_rows(services, _MAILS)
    assert (recipient, language) == ("karl@example.org", "de")
    assert subject == "Dunwell: Die Anmeldung bei Ihrem Konto ist eingeschränkt"
    assert f"{resources.settings.public_url}/portal/account/password" in body
    assert PASSWORD not in body
    assert await fetch_rows(services, _ALERTS) == [("SECOND_FACTOR_LOCKED",)]
    assert await fetch_rows(services, _ACTS) == [("second_factor.lock", {"wrongCodes": 10})]
    provider = ScriptedDeliveryProvider()
    assert await check_for_alerts(resources, lambda _: provider, "") == 1
    await send_alert_emails(resources, lambda _: provider)
    emails = {each.recipient: (each.language, each.subject) for each in provider.sent}
    assert emails["karl@example.org"] == ("de", subject)
    assert "entered ten wrong codes" in (emails["ops@example.com"][1] or "")
    assert "karl" not in str(emails["ops@example.com"]).lower()


async def test_without_a_mail_server_the_lock_applies_and_no_e_mail_is_queued(
    services: SignInServices, erika: JoinedUser
) -> None:
    """As for the first admin of an installation without a mail server."""
    await lock(services, erika)
    assert await guess(services, erika, 70) == SecondFactorLocked()
    assert await fetch_rows(services, _MAILS) == []
    assert await fetch_rows(services, _ALERTS) == [("SECOND_FACTOR_LOCKED",)]


@pytest.mark.parametrize(("age", "left"), [(DAY, 1), (DAY + JUST, 0)])
async def test_wrong_codes_are_removed_after_24_hours(
    resources: Resources, services: SignInServices, erika: JoinedUser, clock: MovableClock,
    age: timedelta, left: int,
) -> None:  # fmt: skip
    await guess(services, erika, 0)
    clock.advance(age)
    await sweep_user_rows(resources)
    assert await fetch_rows(services, "SELECT count(*) FROM second_factor_failures") == [(left,)]


async def test_a_double_click_with_a_right_code_does_not_count_as_wrong(
    services: SignInServices, erika: JoinedUser, clock: MovableClock
) -> None:
    entry = await start_sign_in(services, erika)
    clock.advance(timedelta(seconds=30))
    right = [build_submitted_code(entry, erika.code(clock.now())) for _ in range(2)]
    outcomes = await asyncio.gather(*(check_totp_code(services, each) for each in right))
    assert sorted(type(each).__name__ for each in outcomes) == ["OpenedSession", "SignInExpired"]
    assert await fetch_rows(services, "SELECT count(*) FROM second_factor_failures") == [(0,)]
