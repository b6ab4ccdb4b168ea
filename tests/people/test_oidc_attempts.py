"""Attempts to sign in by a provider: each is for one browser and one provider and works once."""

from collections.abc import AsyncIterator
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sign_in.limits import MAX_UNMATCHED_RETURNS, WINDOW
from dunwell.accounts.users.sign_in.sign_in import TooManyAttempts
from dunwell.accounts.users.single_sign_on.provider import ProviderUnavailable
from dunwell.accounts.users.single_sign_on.sign_on import (
    SignOnCompleted,
    SignOnFailure,
    finish_attempt,
    start_attempt,
)
from dunwell.accounts.users.sweep_users import sweep_user_rows
from dunwell.adapters.oidc.provider import OidcProvider
from tests.support.durations import JUST
from tests.support.scripted_identity_provider import CLIENT_SECRET, a_scripted_identity_provider
from tests.support.single_sign_on import (
    SingleSignOnHarness,
    a_single_sign_on_harness,
    build_return,
    change_returned,
)
from tests.support.users import AWAY, HOME, randomness


@pytest.fixture
async def harness(services: SignInServices) -> AsyncIterator[SingleSignOnHarness]:
    async with a_single_sign_on_harness(services) as harness:
        yield harness


def parse_query(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


async def test_a_completed_sign_in_leads_to_the_requested_page(
    harness: SingleSignOnHarness,
) -> None:
    sent = await harness.start("/portal/people?x=1")
    back = await harness.finish(build_return(sent, harness.scripted.consent(sent.url)))
    assert isinstance(back, SignOnCompleted)
    assert (back.next_page, back.opened.by) == ("/portal/people?x=1", "PROVIDER")


async def test_the_redirect_uri_uses_the_public_address(harness: SingleSignOnHarness) -> None:
    asked = parse_query((await harness.start()).url)
    origin = harness.resources.settings.public_url
    assert asked["redirect_uri"] == f"{origin}/portal/sign-in/with/kontor/back"
    assert asked["scope"] == "openid email profile"
    assert asked["tenant"] == "1"
    assert "acr_values" not in asked


async def test_unmatched_returns_cannot_fill_the_audit_log(harness: SingleSignOnHarness) -> None:
    sent = await harness.start()
    lost = change_returned(build_return(sent, {}), secret="", state="made up")
    for _ in range(MAX_UNMATCHED_RETURNS + 5):
        assert await harness.finish(lost) is SignOnFailure.GONE
    assert len(await harness.list_audit_entries("session.refuse")) == MAX_UNMATCHED_RETURNS

    # Refusals of other visitors are recorded, and the user who started an attempt can still finish
    # it.
    await harness.finish(change_returned(lost, visitor=AWAY))
    assert len(await harness.list_audit_entries("session.refuse")) == MAX_UNMATCHED_RETURNS + 1
    back = await harness.finish(build_return(sent, harness.scripted.consent(sent.url)))
    assert isinstance(back, SignOnCompleted)

    harness.clock.advance(WINDOW)
    await harness.finish(lost)
    assert len(await harness.list_audit_entries("session.refuse")) == MAX_UNMATCHED_RETURNS + 2


async def test_each_attempt_has_its_own_secrets_which_are_not_stored(
    harness: SingleSignOnHarness,
) -> None:
    first, second = await harness.start(), await harness.start()
    one, other = parse_query(first.url), parse_query(second.url)
    for name in ("state", "nonce", "code_challenge"):
        assert one[name] != other[name]
    assert len({one["state"], one["nonce"], one["code_challenge"]}) == 3
    async with harness.resources.database.connection() as connection:
        rows = await connection.fetch("SELECT a::text FROM single_sign_on_attempts a")
    for row in rows:
        assert all(each not in row[0] for each in (one["state"], one["nonce"], first.secret))


@pytest.mark.parametrize("state", ["", "x" * 43, "\u20ac"])
async def test_a_wrong_state_is_refused_and_does_not_use_up_the_attempt(
    harness: SingleSignOnHarness, state: str
) -> None:
    sent = await harness.start()
    right = build_return(sent, harness.scripted.consent(sent.url))
    assert await harness.finish(change_returned(right, state=state)) is SignOnFailure.GONE
    assert harness.scripted.asked["/token"] == 0
    assert isinstance(await harness.finish(right), SignOnCompleted)


async def test_another_browser_cannot_use_the_code_of_an_attempt(
    harness: SingleSignOnHarness,
) -> None:
    """An attacker who makes a victim open the attacker's return address does not sign in the
    victim."""
    sent, victims = await harness.start(), await harness.start(visitor=AWAY)
    callback_query = harness.scripted.consent(sent.url)
    planted = build_return(victims, callback_query, AWAY)
    assert await harness.finish(planted) is SignOnFailure.GONE
    assert await harness.finish(change_returned(planted, secret="")) is SignOnFailure.GONE
    assert await harness.count("portal_sessions") == 0


async def test_a_code_injected_into_another_attempt_is_refused(
    harness: SingleSignOnHarness,
) -> None:
    """PKCE: a code works only with the verifier of its own attempt."""
    stolen = harness.scripted.consent((await harness.start()).url)
    mine = await harness.start(visitor=AWAY)
    own = harness.scripted.consent(mine.url)
    injected = build_return(mine, {**own, "code": stolen["code"]}, AWAY)
    assert await harness.finish(injected) is SignOnFailure.REJECTED
    assert await harness.count("users") == 0


async def test_an_attempt_works_once(harness: SingleSignOnHarness) -> None:
    sent = await harness.start()
    returned = build_return(sent, harness.scripted.consent(sent.url))
    assert isinstance(await harness.finish(returned), SignOnCompleted)
    assert await harness.finish(returned) is SignOnFailure.GONE
    assert await harness.count("portal_sessions") == 1
    assert harness.scripted.asked["/token"] == 1


async def test_a_replayed_code_is_refused(harness: SingleSignOnHarness) -> None:
    """The code of one attempt is sent in another: the provider answers that it was used."""
    sent = await harness.start()
    callback_query = harness.scripted.consent(sent.url)
    assert isinstance(await harness.finish(build_return(sent, callback_query)), SignOnCompleted)
    again = await harness.start()
    own = harness.scripted.consent(again.url)
    replayed = build_return(again, {**own, "code": callback_query["code"]})
    assert await harness.finish(replayed) is SignOnFailure.REJECTED
    acts = await harness.list_audit_entries("session.refuse")
    assert acts[-1][2] == {"provider": "kontor", "reason": "CODE"}


@pytest.mark.parametrize(
    ("late", "expected"), [(-JUST, SignOnCompleted), (timedelta(0), SignOnFailure)]
)
async def test_an_attempt_lasts_ten_minutes(
    harness: SingleSignOnHarness, late: timedelta, expected: type
) -> None:
    sent = await harness.start()
    callback_query = harness.scripted.consent(sent.url)
    harness.clock.advance(timedelta(minutes=10) + late)
    assert isinstance(await harness.finish(build_return(sent, callback_query)), expected)


async def test_expired_attempts_are_deleted(harness: SingleSignOnHarness) -> None:
    await harness.start()
    harness.clock.advance(timedelta(minutes=10) + JUST)
    await sweep_user_rows(harness.resources)
    assert await harness.count("single_sign_on_attempts") == 0


async def test_a_response_with_another_issuer_is_refused(harness: SingleSignOnHarness) -> None:
    """Mix-up attack: the response names its issuer."""
    for issuer in ("https://evil.example", "", harness.scripted.issuer + "/"):
        sent = await harness.start()
        callback_query = {**harness.scripted.consent(sent.url), "iss": issuer}
        assert await harness.finish(build_return(sent, callback_query)) is SignOnFailure.REJECTED
    assert harness.scripted.asked["/token"] == 0
    sent = await harness.start()
    callback_query = {**harness.scripted.consent(sent.url), "iss": harness.scripted.issuer}
    assert isinstance(await harness.finish(build_return(sent, callback_query)), SignOnCompleted)


async def test_a_response_must_name_its_issuer_when_the_provider_supports_it(
    harness: SingleSignOnHarness,
) -> None:
    harness.scripted.metadata = {"authorization_response_iss_parameter_supported": True}
    assert await harness.sign_in_at_provider() is SignOnFailure.REJECTED
    assert harness.scripted.asked["/token"] == 0


async def test_an_attempt_at_one_provider_cannot_be_finished_at_another(
    harness: SingleSignOnHarness,
) -> None:
    """Mix-up attack: each provider has its own return address and its own attempts."""
    async with a_scripted_identity_provider(harness.clock) as evil:
        provider = msgspec.structs.replace(
            harness.adapter.settings, name="evil", issuer=evil.issuer
        )
        other = OidcProvider(provider, CLIENT_SECRET)
        sent = await harness.start()
        returned = build_return(sent, harness.scripted.consent(sent.url))
        assert await finish_attempt(harness.services, other, returned) is SignOnFailure.GONE
        assert evil.asked["/token"] == 0
        await other.close()
    assert isinstance(await harness.finish(returned), SignOnCompleted)


@pytest.mark.parametrize(
    "callback_query", [{"error": "access_denied"}, {"error": "server_error"}, {}]
)
async def test_a_user_whom_the_provider_refused_is_not_signed_in(
    harness: SingleSignOnHarness, callback_query: dict[str, str]
) -> None:
    sent = await harness.start()
    state = parse_query(sent.url)["state"]
    assert (
        await harness.finish(build_return(sent, {"state": state, **callback_query}))
        is SignOnFailure.DENIED
    )
    assert await harness.count("single_sign_on_attempts") == 0


@pytest.mark.parametrize("name", ["/.well-known/openid-configuration", "/keys", "/token"])
@pytest.mark.parametrize(
    "answer", [(500, b"{}"), (302, b""), (200, b"no json"), (200, b"x" * 300_000), (200, b"[]")],
    ids=lambda each: f"{each[0]}-{len(each[1])}",
)  # fmt: skip
async def test_a_provider_with_invalid_responses_counts_as_unavailable(
    harness: SingleSignOnHarness, name: str, answer: tuple[int, bytes]
) -> None:
    harness.scripted.answers[name] = answer
    if "openid" in name:
        sent = await start_attempt(
            harness.services, harness.adapter, "/portal", visitor=HOME, randomness=randomness()
        )
        assert sent == ProviderUnavailable()
        return
    expected = (
        SignOnFailure.REJECTED if (name, answer[0]) == ("/token", 302) else SignOnFailure.AWAY
    )
    assert await harness.sign_in_at_provider() is expected
    assert await harness.count("users") == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"issuer": "https://login.example.com"}, {"issuer": None},
        {"token_endpoint": "file:///etc/passwd"}, {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": None}, {"end_session_endpoint": "ftp://x"},
    ],
    ids=str,
)  # fmt: skip
async def test_a_provider_with_unexpected_metadata_is_not_used(
    harness: SingleSignOnHarness, changed: dict[str, str | None]
) -> None:
    harness.scripted.metadata = dict(changed)
    sent = await start_attempt(
        harness.services, harness.adapter, "/portal", visitor=HOME, randomness=randomness()
    )
    assert sent == ProviderUnavailable()
    assert await harness.count("single_sign_on_attempts") == 0


async def test_one_network_may_have_three_hundred_open_attempts(
    harness: SingleSignOnHarness,
) -> None:
    subjects = 299
    for _ in range(subjects):
        await harness.start()
    await harness.complete_sign_in()
    await harness.start()
    last = await start_attempt(
        harness.services, harness.adapter, "/portal", visitor=HOME, randomness=randomness()
    )
    assert last == TooManyAttempts(900)
    await harness.start(visitor=AWAY)


async def test_the_client_secret_is_sent_in_the_form_when_the_provider_requires_it(
    harness: SingleSignOnHarness,
) -> None:
    harness.scripted.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    await harness.complete_sign_in()
