"""Back-channel logout: a token signed by the provider ends sessions, once."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.sessions import OpenedSession, find_session
from dunwell.accounts.users.single_sign_on.identities import (
    RefusalReason,
    SignOnRefused,
    process_logout,
)
from dunwell.accounts.users.single_sign_on.provider import LogoutToken, TokenRejected
from dunwell.accounts.users.sweep_users import sweep_user_rows
from tests.people.test_oidc_tokens import by_another_key, keyed_by_the_public_key, unsigned
from tests.support.durations import JUST
from tests.support.people import AWAY, a_new_user, join
from tests.support.scripted_provider import CLIENT_ID
from tests.support.single_sign_on import House, a_house, bring


@pytest.fixture
async def house(services: SignInServices) -> AsyncIterator[House]:
    async with a_house(services) as house:
        yield house


async def tell(house: House, **changed: Any) -> bool:
    """Return whether the logout token was accepted."""
    token = house.scripted.build_logout(**changed)
    told = await house.adapter.read_logout(token, house.clock.now())
    return isinstance(told, LogoutToken) and await process_logout(house.services, "kontor", told)


async def list_open(house: House, *sessions: OpenedSession) -> list[bool]:
    async with house.resources.database.connection() as connection:
        now = house.clock.now()
        return [
            await find_session(connection, each.secret, now=now) is not None for each in sessions
        ]


async def test_the_end_of_a_provider_session_ends_the_sessions_started_with_it(
    house: House,
) -> None:
    one = await house.come_in(sid="session-1")
    other = await house.come_in(AWAY, sid="session-2")
    assert await tell(house)
    assert await list_open(house, one, other) == [False, True]
    [act] = await house.list_acts("session.end_by_provider")
    assert act[2] == {"provider": "kontor", "sessionsEnded": 1}


async def test_a_logout_token_with_only_a_session_ends_that_session(house: House) -> None:
    one = await house.come_in()
    assert await tell(house, sub=None)
    assert await list_open(house, one) == [False]


async def test_a_logout_token_with_only_a_subject_ends_all_sessions_of_the_user(
    house: House,
) -> None:
    sessions = [await house.come_in(), await house.come_in(AWAY, sid=None)]
    theirs = await house.come_in(sub="paul", email="paul@example.org", sid="session-1")
    local = (await join(house.services, a_new_user("local@example.org"))).session
    assert await tell(house, sid=None)
    assert await list_open(house, *sessions, theirs, local) == [False, False, True, True]


async def test_a_session_without_a_provider_session_id_ends_with_its_subject(house: House) -> None:
    unnamed = await house.come_in(sid=None)
    assert await tell(house, sub="paul", jti="j-0")
    assert await list_open(house, unnamed) == [True]
    assert await tell(house)
    assert await list_open(house, unnamed) == [False]


async def test_a_session_of_another_subject_does_not_end(house: House) -> None:
    paul = await house.come_in(sub="paul", email="paul@example.org")
    assert await tell(house, sub="erika-0001")
    assert await list_open(house, paul) == [True]


async def test_a_logout_of_an_unknown_user_is_accepted_without_effect(house: House) -> None:
    assert await tell(house, sub="nobody", sid="none")
    assert await house.list_acts("session.%") == []


async def test_a_logout_token_works_once(house: House) -> None:
    await house.come_in()
    assert await tell(house)
    again = await house.come_in(sid="session-2")
    assert not await tell(house, sid=None)
    assert await list_open(house, again) == [True]


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://evil.example"}, {"iss": None}, {"aud": "other"}, {"aud": None},
        {"events": None}, {"events": {}}, {"events": []}, {"events": {"x": {}}},
        {"events": {"http://schemas.openid.net/event/backchannel-logout": "yes"}},
        {"nonce": "n"}, {"sub": None, "sid": None}, {"sub": "", "sid": None}, {"sid": 7},
        {"jti": None}, {"jti": ""}, {"jti": 7}, {"iat": None}, {"iat": "now"}, {"exp": 1},
    ],
    ids=str,
)  # fmt: skip
async def test_an_invalid_logout_token_ends_no_session(
    house: House, changed: dict[str, Any]
) -> None:
    opened = await house.come_in()
    assert not await tell(house, **changed)
    assert await list_open(house, opened) == [True]
    assert await house.count("provider_logouts") == 0


@pytest.mark.parametrize("signing", [unsigned, by_another_key, keyed_by_the_public_key])
async def test_a_logout_token_not_signed_by_the_provider_ends_no_session(
    house: House, signing: Any
) -> None:
    opened = await house.come_in()
    house.scripted.signing = signing
    token = house.scripted.build_logout()
    told = await house.adapter.read_logout(token, house.clock.now())
    assert isinstance(told, TokenRejected)
    assert await list_open(house, opened) == [True]


async def test_an_id_token_is_not_accepted_as_logout(house: House) -> None:
    token = house.scripted.signing(house.scripted.build_claims("n"), house.scripted.keys[0])
    assert isinstance(await house.adapter.read_logout(token, house.clock.now()), TokenRejected)
    assert CLIENT_ID in house.scripted.build_claims("n")["aud"]


@pytest.mark.parametrize(("age", "is_locked"), [(600, True), (601, False)])
async def test_a_logout_token_is_valid_for_ten_minutes(
    house: House, age: int, is_locked: bool
) -> None:
    await house.come_in()
    issued = int(house.clock.now().timestamp()) - age
    assert await tell(house, iat=issued, exp=None) == is_locked


async def test_a_logout_during_a_sign_in_prevents_it(house: House) -> None:
    sent = await house.go_there()
    brought = house.scripted.consent(sent.address)
    assert await tell(house)
    outcome = await house.come_back(bring(sent, brought))
    assert isinstance(outcome, SignOnRefused)
    assert outcome.reason is RefusalReason.OVER
    assert await house.count("portal_sessions") == 0
    await house.come_in(sid="session-2")


async def test_after_a_logout_everywhere_only_a_later_token_signs_in(house: House) -> None:
    now = int(house.clock.now().timestamp())
    assert await tell(house, sid=None)
    early = await house.arrive(iat=now)
    assert isinstance(early, SignOnRefused)
    assert early.reason is RefusalReason.OVER
    await house.come_in(iat=now + 1)


async def test_a_received_logout_is_kept_for_an_hour(house: House) -> None:
    await tell(house)
    house.clock.advance(timedelta(hours=1))
    await sweep_user_rows(house.resources)
    assert await house.count("provider_logouts") == 1
    house.clock.advance(JUST)
    await sweep_user_rows(house.resources)
    assert await house.count("provider_logouts") == 0
