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
from tests.support.scripted_identity_provider import CLIENT_ID
from tests.support.single_sign_on import SingleSignOnHarness, a_single_sign_on_harness, build_return
from tests.support.users import AWAY, a_new_user, join


@pytest.fixture
async def harness(services: SignInServices) -> AsyncIterator[SingleSignOnHarness]:
    async with a_single_sign_on_harness(services) as harness:
        yield harness


async def log_out(harness: SingleSignOnHarness, **changed: Any) -> bool:
    """Return whether the logout token was accepted."""
    token = harness.scripted.build_logout(**changed)
    parsed = await harness.adapter.parse_logout_token(token, harness.clock.now())
    return isinstance(parsed, LogoutToken) and await process_logout(
        harness.services, "kontor", parsed
    )


async def list_open(harness: SingleSignOnHarness, *sessions: OpenedSession) -> list[bool]:
    async with harness.resources.database.connection() as connection:
        now = harness.clock.now()
        return [
            await find_session(connection, each.secret, now=now) is not None for each in sessions
        ]


async def test_the_end_of_a_provider_session_ends_the_sessions_started_with_it(
    harness: SingleSignOnHarness,
) -> None:
    one = await harness.complete_sign_in(sid="session-1")
    other = await harness.complete_sign_in(AWAY, sid="session-2")
    assert await log_out(harness)
    assert await list_open(harness, one, other) == [False, True]
    [act] = await harness.list_audit_entries("session.end_by_provider")
    assert act[2] == {"provider": "kontor", "sessionsEnded": 1}


async def test_a_logout_token_with_only_a_session_ends_that_session(
    harness: SingleSignOnHarness,
) -> None:
    one = await harness.complete_sign_in()
    assert await log_out(harness, sub=None)
    assert await list_open(harness, one) == [False]


async def test_a_logout_token_with_only_a_subject_ends_all_sessions_of_the_user(
    harness: SingleSignOnHarness,
) -> None:
    sessions = [await harness.complete_sign_in(), await harness.complete_sign_in(AWAY, sid=None)]
    theirs = await harness.complete_sign_in(sub="paul", email="paul@example.org", sid="session-1")
    local = (await join(harness.services, a_new_user("local@example.org"))).session
    assert await log_out(harness, sid=None)
    assert await list_open(harness, *sessions, theirs, local) == [False, False, True, True]


async def test_a_session_without_a_provider_session_id_ends_with_its_subject(
    harness: SingleSignOnHarness,
) -> None:
    unnamed = await harness.complete_sign_in(sid=None)
    assert await log_out(harness, sub="paul", jti="j-0")
    assert await list_open(harness, unnamed) == [True]
    assert await log_out(harness)
    assert await list_open(harness, unnamed) == [False]


async def test_a_session_of_another_subject_does_not_end(harness: SingleSignOnHarness) -> None:
    paul = await harness.complete_sign_in(sub="paul", email="paul@example.org")
    assert await log_out(harness, sub="erika-0001")
    assert await list_open(harness, paul) == [True]


async def test_a_logout_of_an_unknown_user_is_accepted_without_effect(
    harness: SingleSignOnHarness,
) -> None:
    assert await log_out(harness, sub="nobody", sid="none")
    assert await harness.list_audit_entries("session.%") == []


async def test_a_logout_token_works_once(harness: SingleSignOnHarness) -> None:
    await harness.complete_sign_in()
    assert await log_out(harness)
    again = await harness.complete_sign_in(sid="session-2")
    assert not await log_out(harness, sid=None)
    assert await list_open(harness, again) == [True]


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
    harness: SingleSignOnHarness, changed: dict[str, Any]
) -> None:
    opened = await harness.complete_sign_in()
    assert not await log_out(harness, **changed)
    assert await list_open(harness, opened) == [True]
    assert await harness.count("provider_logouts") == 0


@pytest.mark.parametrize("signing", [unsigned, by_another_key, keyed_by_the_public_key])
async def test_a_logout_token_not_signed_by_the_provider_ends_no_session(
    harness: SingleSignOnHarness, signing: Any
) -> None:
    opened = await harness.complete_sign_in()
    harness.scripted.signing = signing
    token = harness.scripted.build_logout()
    parsed = await harness.adapter.parse_logout_token(token, harness.clock.now())
    assert isinstance(parsed, TokenRejected)
    assert await list_open(harness, opened) == [True]


async def test_an_id_token_is_not_accepted_as_logout(harness: SingleSignOnHarness) -> None:
    token = harness.scripted.signing(harness.scripted.build_claims("n"), harness.scripted.keys[0])
    assert isinstance(
        await harness.adapter.parse_logout_token(token, harness.clock.now()), TokenRejected
    )
    assert CLIENT_ID in harness.scripted.build_claims("n")["aud"]


@pytest.mark.parametrize(("age", "is_locked"), [(600, True), (601, False)])
async def test_a_logout_token_is_valid_for_ten_minutes(
    harness: SingleSignOnHarness, age: int, is_locked: bool
) -> None:
    await harness.complete_sign_in()
    issued = int(harness.clock.now().timestamp()) - age
    assert await log_out(harness, iat=issued, exp=None) == is_locked


async def test_a_logout_during_a_sign_in_prevents_it(harness: SingleSignOnHarness) -> None:
    sent = await harness.start()
    returned = harness.scripted.consent(sent.url)
    assert await log_out(harness)
    outcome = await harness.finish(build_return(sent, returned))
    assert isinstance(outcome, SignOnRefused)
    assert outcome.reason is RefusalReason.OVER
    assert await harness.count("portal_sessions") == 0
    await harness.complete_sign_in(sid="session-2")


async def test_after_a_logout_everywhere_only_a_later_token_signs_in(
    harness: SingleSignOnHarness,
) -> None:
    now = int(harness.clock.now().timestamp())
    assert await log_out(harness, sid=None)
    early = await harness.sign_in_at_provider(iat=now)
    assert isinstance(early, SignOnRefused)
    assert early.reason is RefusalReason.OVER
    await harness.complete_sign_in(iat=now + 1)


async def test_a_received_logout_is_kept_for_an_hour(harness: SingleSignOnHarness) -> None:
    await log_out(harness)
    harness.clock.advance(timedelta(hours=1))
    await sweep_user_rows(harness.resources)
    assert await harness.count("provider_logouts") == 1
    harness.clock.advance(JUST)
    await sweep_user_rows(harness.resources)
    assert await harness.count("provider_logouts") == 0
