"""Strangers cannot lock out a user, use more than a bounded number of challenges, or misuse a
one-time link that they saw."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pyotp
import pytest

from dunwell.accounts.users.accept_invitation import (
    InvitationFault,
    InvitationForm,
    accept_with_app,
    find_invitation,
    start_passkey_registration,
)
from dunwell.accounts.users.factors import store as factors_store
from dunwell.accounts.users.manage_users import RANDOM_BYTES, reset_user
from dunwell.accounts.users.own_account import (
    PasswordConfirmation,
    change_password,
    confirm_own_password,
    end_own_session,
    load_account,
)
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.sessions import OpenedSession
from dunwell.accounts.users.sign_in.limits import MAX_ATTEMPTS, MAX_PASSKEY_REQUESTS
from dunwell.accounts.users.sign_in.passkey_sign_in import start_passkey_sign_in
from dunwell.accounts.users.sign_in.sign_in import (
    PendingSignIn,
    SecondFactorLocked,
    TooManyAttempts,
    WrongSignIn,
    check_password,
    check_totp_code,
)
from dunwell.accounts.users.sweep_users import sweep_user_rows
from dunwell.accounts.users.user_work import Visitor
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.resources import Resources
from tests.people.test_sessions import require
from tests.support.portal_sign_in import build_sign_in_pages
from tests.support.users import (
    AWAY,
    HOME,
    OPENER,
    OPERATOR,
    PASSWORD,
    JoinedUser,
    a_new_user,
    build_sign_in_services,
    build_submitted_code,
    invite,
    join,
    randomness,
    sign_in,
)

ORIGIN = "https://pay.example.org"
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)


def elsewhere(number: int, device: str = "") -> Visitor:
    """Return a visitor in a network of their own."""
    return Visitor(f"10.{number // 250}.{number % 250}.1", browser_cookie=device)


async def try_password(
    services: SignInServices, visitor: Visitor, password: str = PASSWORD,
    email: str = "erika@example.org",
) -> PendingSignIn | WrongSignIn | TooManyAttempts | SecondFactorLocked:  # fmt: skip
    return await check_password(services, email, password, visitor, randomness())


async def lock(services: SignInServices) -> None:
    """Enter wrong passwords, as anybody can who knows the address."""
    for number in range(MAX_ATTEMPTS):
        assert await try_password(services, elsewhere(number), "no") == WrongSignIn()


async def test_strangers_do_not_lock_out_a_browser_that_signed_in_before(
    services: SignInServices, clock: MovableClock
) -> None:
    erika = await join(services, a_new_user())
    await lock(services)
    assert isinstance(await try_password(services, AWAY), TooManyAttempts)
    at_home = elsewhere(99, erika.session.browser_cookie)
    entry = await try_password(services, at_home)
    assert isinstance(entry, PendingSignIn)
    clock.advance(timedelta(seconds=30))
    code = build_submitted_code(entry.secret, erika.code(clock.now()), at_home)
    assert isinstance(await check_totp_code(services, code), OpenedSession)


async def test_strangers_in_the_same_network_do_not_lock_out_a_known_browser(
    services: SignInServices,
) -> None:
    erika = await join(services, a_new_user())
    for _ in range(MAX_ATTEMPTS):
        await try_password(services, HOME, "no")
    assert isinstance(await try_password(services, HOME), TooManyAttempts)
    known = replace(HOME, browser_cookie=erika.session.browser_cookie)
    assert isinstance(await try_password(services, known), PendingSignIn)


async def test_strangers_do_not_prevent_a_signed_in_user_from_confirming_the_password(
    services: SignInServices,
) -> None:
    erika = await join(services, a_new_user())
    await lock(services)
    asking = PasswordConfirmation(await require(services, erika.session), PASSWORD, HOME)
    assert await confirm_own_password(services, asking) is None


async def test_attempts_of_a_known_browser_are_counted_separately(
    services: SignInServices, clock: MovableClock
) -> None:
    erika = await join(services, a_new_user())
    for number in range(MAX_ATTEMPTS):
        known = elsewhere(number, erika.session.browser_cookie)
        assert await try_password(services, known, "no") == WrongSignIn()
    known = elsewhere(99, erika.session.browser_cookie)
    assert isinstance(await try_password(services, known), TooManyAttempts)
    assert isinstance(await try_password(services, AWAY), PendingSignIn)
    clock.advance(timedelta(minutes=15))
    assert isinstance(await try_password(services, known), PendingSignIn)


async def test_a_browser_is_known_only_for_its_own_user(services: SignInServices) -> None:
    await join(services, a_new_user())
    mallory = await join(services, a_new_user("mallory@example.org", name="Mallory"))
    await lock(services)
    known = await try_password(services, elsewhere(99, mallory.session.browser_cookie))
    assert isinstance(known, TooManyAttempts)


@pytest.mark.parametrize("device", ["", "x", "A" * 43, "\u20ac" * 43, "a" * 5000])
async def test_an_invalid_browser_cookie_is_not_recognised(
    services: SignInServices, device: str
) -> None:
    await join(services, a_new_user())
    await lock(services)
    assert isinstance(await try_password(services, elsewhere(99, device)), TooManyAttempts)


@pytest.mark.parametrize(("after", "is_known"), [(90 * DAY - SECOND, True), (90 * DAY, False)])
async def test_a_browser_is_known_for_ninety_days(
    services: SignInServices, clock: MovableClock, after: timedelta, is_known: bool
) -> None:
    erika = await join(services, a_new_user())
    clock.advance(after)
    await lock(services)
    outcome = await try_password(services, elsewhere(99, erika.session.browser_cookie))
    assert isinstance(outcome, PendingSignIn if is_known else TooManyAttempts)


async def _change_password(services: SignInServices, erika: JoinedUser) -> None:
    asking = PasswordConfirmation(await require(services, erika.session), PASSWORD, HOME)
    new = await change_password(services, asking, "another lantern 72", randomness())
    assert isinstance(new, OpenedSession)


async def _reset_user(services: SignInServices, erika: JoinedUser) -> None:
    async with services.work(OPERATOR) as work:
        await reset_user(work, erika.user_id, randomness(RANDOM_BYTES))


async def _end_session(services: SignInServices, erika: JoinedUser) -> None:
    person = await require(services, await sign_in(services, erika))
    async with services.work(person.actor) as work:
        await end_own_session(work, person, erika.session.session_id)


@pytest.mark.parametrize("end", [_change_password, _reset_user, _end_session])
async def test_a_browser_whose_session_was_ended_is_no_longer_known(
    services: SignInServices, end: object
) -> None:
    erika = await join(services, a_new_user())
    await end(services, erika)  # type: ignore[operator]
    await lock(services)
    outcome = await try_password(services, elsewhere(99, erika.session.browser_cookie))
    assert isinstance(outcome, TooManyAttempts)


async def test_a_sign_in_from_a_new_network_stays_on_the_account_page(
    services: SignInServices,
) -> None:
    """It stays listed even after the user has ended its session."""
    erika = await join(services, a_new_user())
    await sign_in(services, erika, visitor=AWAY)
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        other = (await load_account(work, person)).new_network_sign_ins[0].session_id
        await end_own_session(work, person, other)
        [found] = (await load_account(work, person)).new_network_sign_ins
    assert (found.session_id, found.network) == (other, "198.51.100.0/24")


@pytest.fixture
def with_passkeys(resources: Resources) -> SignInServices:
    settings = replace(resources.settings, public_url=ORIGIN)
    return build_sign_in_services(replace(resources, settings=settings))


async def count_challenges(database: Database) -> int:
    async with database.connection() as connection:
        number: int = await connection.fetchval("SELECT count(*) FROM passkey_challenges")
        return number


async def test_passkey_challenges_of_a_visitor_are_limited(
    with_passkeys: SignInServices, database: Database, clock: MovableClock
) -> None:
    asked = [
        await start_passkey_sign_in(with_passkeys, AWAY, randomness())
        for _ in range(MAX_PASSKEY_REQUESTS + 3)
    ]
    assert [isinstance(each, str) for each in asked] == [True] * MAX_PASSKEY_REQUESTS + [False] * 3
    assert asked[-1] == TooManyAttempts(15 * 60)
    assert await count_challenges(database) == MAX_PASSKEY_REQUESTS
    assert isinstance(await start_passkey_sign_in(with_passkeys, HOME, randomness()), str)
    clock.advance(timedelta(minutes=15))
    assert isinstance(await start_passkey_sign_in(with_passkeys, AWAY, randomness()), str)
    while await sweep_user_rows(with_passkeys.resources):
        pass
    assert await count_challenges(database) == 1


async def test_passkey_challenges_of_all_visitors_are_limited(
    with_passkeys: SignInServices, database: Database, monkeypatch: pytest.MonkeyPatch,
    clock: MovableClock,
) -> None:  # fmt: skip
    """The oldest is removed, because the newest visitor is about to answer."""
    monkeypatch.setattr(factors_store, "MAX_CHALLENGES", 3)
    drawn = []
    for number in range(6):
        clock.advance(SECOND)
        drawn.append(randomness())
        await start_passkey_sign_in(with_passkeys, elsewhere(number), drawn[-1])
    async with database.connection() as connection:
        rows = await connection.fetch("SELECT challenge FROM passkey_challenges")
    assert {row[0] for row in rows} == set(drawn[-3:])


async def test_passkey_challenges_of_one_invitation_are_limited(
    with_passkeys: SignInServices, database: Database
) -> None:
    link = (await invite(with_passkeys, a_new_user())).secret
    await asyncio.gather(
        *(start_passkey_registration(with_passkeys, link, randomness()) for _ in range(4)),
        start_passkey_sign_in(with_passkeys, HOME, randomness()),
    )
    for _ in range(8):
        await start_passkey_registration(with_passkeys, link, randomness())
    assert await count_challenges(database) == factors_store.MAX_CHALLENGES_OF_USER + 1


async def test_each_browser_that_opens_an_invitation_gets_its_own_app_secret(
    services: SignInServices, database: Database
) -> None:
    link = (await invite(services, a_new_user())).secret
    mine = await find_invitation(services, link, OPENER)
    again = await find_invitation(services, link, OPENER)
    theirs = await find_invitation(services, link, "p" * 43)
    assert mine is not None
    assert theirs is not None
    assert mine == again
    assert mine.app_secret != theirs.app_secret
    code = pyotp.TOTP(theirs.app_secret).at(services.now())
    joining = InvitationForm(link, OPENER, HOME, randomness(), password=PASSWORD, code=code)
    assert await accept_with_app(services, joining) == {"code": InvitationFault.CODE}
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM authentication_factors") == 0


async def test_seeing_an_invitation_does_not_reveal_the_app_secret_of_the_user_who_joined(
    services: SignInServices,
) -> None:
    link = (await invite(services, a_new_user())).secret
    seen = await find_invitation(services, link, "p" * 43)
    mine = await find_invitation(services, link, OPENER)
    assert seen is not None
    assert mine is not None
    code = pyotp.TOTP(mine.app_secret).at(services.now())
    joining = InvitationForm(link, OPENER, HOME, randomness(), password=PASSWORD, code=code)
    assert isinstance(await accept_with_app(services, joining), OpenedSession)
    entry = await try_password(services, AWAY)
    assert isinstance(entry, PendingSignIn)
    guessed = pyotp.TOTP(seen.app_secret).at(services.now() + timedelta(seconds=30))
    assert (
        await check_totp_code(services, build_submitted_code(entry.secret, guessed, AWAY))
        == WrongSignIn()
    )


async def test_an_invitation_in_two_browsers_shows_two_app_secrets(resources: Resources) -> None:
    pages = build_sign_in_pages(resources)
    link = (await invite(pages.services, a_new_user())).secret
    one, other = pages.visitor(), pages.visitor()
    answers = [await each.get(f"/portal/invitation/{link}") for each in (one, one, other)]
    shown = [page.text.partition("<code")[2].partition("</code>")[0] for page in answers]
    assert "" not in shown
    assert shown[0] == shown[1] != shown[2]
    [cookie] = answers[0].headers.get_list("set-cookie")
    assert cookie.startswith("__Host-dunwell-portal-opener=")
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Lax; Secure")


async def test_a_known_browser_can_sign_in_while_strangers_try(resources: Resources) -> None:
    """Over HTTP: the browser's cookie is set at sign-in, outlasts signing out and is recognised."""
    pages = build_sign_in_pages(resources)
    erika = await join(pages.services, a_new_user())
    mine = pages.visitor()
    answer = await mine.sign_in(erika)
    [device] = [each for each in answer.headers.get_list("set-cookie") if "portal-device" in each]
    assert device.endswith("; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=7776000")
    await mine.send("/portal/account", "/portal/sign-out")
    for number in range(MAX_ATTEMPTS):
        stranger = pages.visitor(f"10.1.{number}.1")
        refused = await stranger.post("/portal/sign-in", email=erika.email, password="no")
        assert refused.status_code == 400
    assert (await pages.visitor("10.9.9.9").submit_password(erika)).status_code == 429
    assert (await mine.submit_password(erika)).status_code == 303
