"""A session of single sign-on is confirmed only by a fresh sign-in at the provider."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.confirm_session import is_confirmed
from dunwell.accounts.users.sessions.sessions import OpenedSession
from dunwell.accounts.users.single_sign_on.sign_on import (
    ConfirmationEnded,
    ConfirmationFailure,
    SignOnCompleted,
    StartedSignOn,
    start_attempt,
)
from dunwell.accounts.users.user import SignedInUser
from tests.people.test_sessions import require
from tests.support.single_sign_on import (
    SingleSignOnHarness,
    a_single_sign_on_harness,
    build_return,
    change_returned,
)
from tests.support.users import HOME, randomness

SECOND = timedelta(seconds=1)


@pytest.fixture
async def harness(services: SignInServices) -> AsyncIterator[SingleSignOnHarness]:
    async with a_single_sign_on_harness(services) as harness:
        yield harness


async def go_there(harness: SingleSignOnHarness, person: SignedInUser) -> StartedSignOn:
    sent = await start_attempt(
        harness.services, harness.adapter, "/portal/account", visitor=HOME, randomness=randomness(),
        confirms_session=person.session_id,
    )  # fmt: skip
    assert isinstance(sent, StartedSignOn)
    return sent


async def confirm(
    harness: SingleSignOnHarness, opened: OpenedSession, *, auth_age: int | None = 0, **claims: Any
) -> object:
    """Confirm the session; `auth_age` is the age in seconds of the provider's sign-in at the start
    of the attempt."""
    person = await require(harness.services, opened)
    at = None if auth_age is None else int(harness.clock.now().timestamp()) - auth_age
    harness.scripted.claims = {"auth_time": at, **claims}
    sent = await go_there(harness, person)
    returned = change_returned(
        build_return(sent, harness.scripted.consent(sent.url)), session=opened.secret
    )
    return await harness.finish(returned)


async def is_session_confirmed(harness: SingleSignOnHarness, opened: OpenedSession) -> bool:
    return is_confirmed(await require(harness.services, opened), harness.clock.now())


async def test_the_sign_in_itself_does_not_confirm_the_session(
    harness: SingleSignOnHarness,
) -> None:
    opened = await harness.complete_sign_in(auth_time=int(harness.clock.now().timestamp()))
    assert not await is_session_confirmed(harness, opened)


async def test_the_provider_is_asked_for_a_fresh_sign_in(harness: SingleSignOnHarness) -> None:
    opened = await harness.complete_sign_in()
    sent = await go_there(harness, await require(harness.services, opened))
    asked = parse_qs(urlsplit(sent.url).query)
    assert (asked["prompt"], asked["max_age"]) == (["login"], ["60"])
    usual = parse_qs(urlsplit((await harness.start()).url).query)
    assert not {"prompt", "max_age"} & usual.keys()


async def test_a_fresh_sign_in_confirms_the_session_and_opens_none(
    harness: SingleSignOnHarness,
) -> None:
    opened = await harness.complete_sign_in()
    assert await confirm(harness, opened) == ConfirmationEnded(None)
    assert await is_session_confirmed(harness, opened)
    assert await harness.count("portal_sessions") == 1
    assert (await harness.list_audit_entries("session.confirm"))[-1][2] == {"by": "PROVIDER"}


@pytest.mark.parametrize(
    ("auth_age", "failure"),
    [
        (60, None), (61, ConfirmationFailure.NOT_FRESH), (None, ConfirmationFailure.NOT_FRESH),
        (3600, ConfirmationFailure.NOT_FRESH), (-60, None), (-61, ConfirmationFailure.NOT_FRESH),
    ],
)  # fmt: skip
async def test_the_token_must_say_that_its_user_has_just_signed_in(
    harness: SingleSignOnHarness, auth_age: int | None, failure: ConfirmationFailure | None
) -> None:
    """Clocks may differ by a minute."""
    opened = await harness.complete_sign_in()
    assert await confirm(harness, opened, auth_age=auth_age) == ConfirmationEnded(failure)
    assert await is_session_confirmed(harness, opened) is (failure is None)


@pytest.mark.parametrize("auth_time", ["1772442000", True, -1, 10**20, 1.5, None])
async def test_an_invalid_auth_time_does_not_confirm(
    harness: SingleSignOnHarness, auth_time: object
) -> None:
    opened = await harness.complete_sign_in()
    ended = await confirm(harness, opened, auth_time=auth_time)
    assert isinstance(ended, ConfirmationEnded)
    assert ended.failure in (ConfirmationFailure.NOT_FRESH, ConfirmationFailure.REJECTED)
    assert not await is_session_confirmed(harness, opened)


async def test_another_user_at_the_provider_does_not_confirm_the_session(
    harness: SingleSignOnHarness,
) -> None:
    opened = await harness.complete_sign_in()
    await harness.complete_sign_in(sub="paul-0001", email="paul@example.org", sid="session-2")
    for sub in ("paul-0001", "a stranger"):
        ended = await confirm(harness, opened, sub=sub)
        assert ended == ConfirmationEnded(ConfirmationFailure.ANOTHER_USER)
    assert not await is_session_confirmed(harness, opened)


async def test_another_session_of_the_same_user_is_not_confirmed(
    harness: SingleSignOnHarness,
) -> None:
    first, second = await harness.complete_sign_in(), await harness.complete_sign_in()
    harness.scripted.claims = {"auth_time": int(harness.clock.now().timestamp())}
    for session in ("", "x" * 43, second.secret):
        sent = await go_there(harness, await require(harness.services, first))
        returned = build_return(sent, harness.scripted.consent(sent.url))
        ended = await harness.finish(change_returned(returned, session=session))
        assert ended == ConfirmationEnded(ConfirmationFailure.SESSION_OVER)
    assert not await is_session_confirmed(harness, first)
    assert not await is_session_confirmed(harness, second)


async def test_a_sign_in_attempt_does_not_confirm_a_session(harness: SingleSignOnHarness) -> None:
    """The stored attempt, not the response, decides what the response is for."""
    opened = await harness.complete_sign_in()
    harness.scripted.claims = {"auth_time": int(harness.clock.now().timestamp())}
    sent = await harness.start()
    callback_query = build_return(sent, harness.scripted.consent(sent.url))
    returned = change_returned(callback_query, session=opened.secret)
    assert isinstance(await harness.finish(returned), SignOnCompleted)
    assert not await is_session_confirmed(harness, opened)


async def test_a_refusal_at_the_provider_ends_the_confirmation(
    harness: SingleSignOnHarness,
) -> None:
    opened = await harness.complete_sign_in()
    person = await require(harness.services, opened)
    sent = await go_there(harness, person)
    callback_query = {
        "error": "access_denied",
        "state": harness.scripted.consent(sent.url)["state"],
    }
    ended = await harness.finish(
        change_returned(build_return(sent, callback_query), session=opened.secret)
    )
    assert ended == ConfirmationEnded(ConfirmationFailure.DENIED)


async def test_a_sign_in_below_the_required_strength_does_not_confirm(
    harness: SingleSignOnHarness,
) -> None:
    opened = await harness.complete_sign_in()
    await harness.change_provider(acr_values=("strong",))
    ended = await confirm(harness, opened, acr="weak")
    assert ended == ConfirmationEnded(ConfirmationFailure.NOT_FRESH)
    assert await confirm(harness, opened, acr="strong") == ConfirmationEnded(None)
