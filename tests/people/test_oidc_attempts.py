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
from tests.support.people import AWAY, HOME, randomness
from tests.support.scripted_provider import CLIENT_SECRET, a_scripted_provider
from tests.support.single_sign_on import Harness, a_harness, bring, change_returned


@pytest.fixture
async def harness(services: SignInServices) -> AsyncIterator[Harness]:
    async with a_harness(services) as harness:
        yield harness


def read(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


async def test_a_completed_sign_in_leads_to_the_requested_page(harness: Harness) -> None:
    sent = await harness.go_there("/portal/people?x=1")
    back = await harness.come_back(bring(sent, harness.scripted.consent(sent.address)))
    assert isinstance(back, SignOnCompleted)
    assert (back.next_page, back.opened.by) == ("/portal/people?x=1", "PROVIDER")


async def test_the_redirect_uri_uses_the_public_address(harness: Harness) -> None:
    asked = read((await harness.go_there()).address)
    origin = harness.resources.settings.public_url
    assert asked["redirect_uri"] == f"{origin}/portal/sign-in/with/kontor/back"
    assert asked["scope"] == "openid email profile"
    assert asked["tenant"] == "1"
    assert "acr_values" not in asked


async def test_unmatched_returns_cannot_fill_the_audit_log(harness: Harness) -> None:
    sent = await harness.go_there()
    lost = change_returned(bring(sent, {}), secret="", state="made up")
    for _ in range(MAX_UNMATCHED_RETURNS + 5):
        assert await harness.come_back(lost) is SignOnFailure.GONE
    assert len(await harness.list_acts("session.refuse")) == MAX_UNMATCHED_RETURNS

    # Refusals of other visitors are recorded, and the user who started an attempt can still finish
    # it.
    await harness.come_back(change_returned(lost, visitor=AWAY))
    assert len(await harness.list_acts("session.refuse")) == MAX_UNMATCHED_RETURNS + 1
    back = await harness.come_back(bring(sent, harness.scripted.consent(sent.address)))
    assert isinstance(back, SignOnCompleted)

    harness.clock.advance(WINDOW)
    await harness.come_back(lost)
    assert len(await harness.list_acts("session.refuse")) == MAX_UNMATCHED_RETURNS + 2


async def test_each_attempt_has_its_own_secrets_which_are_not_stored(harness: Harness) -> None:
    first, second = await harness.go_there(), await harness.go_there()
    one, other = read(first.address), read(second.address)
    for name in ("state", "nonce", "code_challenge"):
        assert one[name] != other[name]
    assert len({one["state"], one["nonce"], one["code_challenge"]}) == 3
    async with harness.resources.database.connection() as connection:
        rows = await connection.fetch("SELECT a::text FROM single_sign_on_attempts a")
    for row in rows:
        assert all(each not in row[0] for each in (one["state"], one["nonce"], first.secret))


@pytest.mark.parametrize("state", ["", "x" * 43, "\u20ac"])
async def test_a_wrong_state_signs_nobody_in_and_does_not_use_up_the_attempt(
    harness: Harness, state: str
) -> None:
    sent = await harness.go_there()
    right = bring(sent, harness.scripted.consent(sent.address))
    assert await harness.come_back(change_returned(right, state=state)) is SignOnFailure.GONE
    assert harness.scripted.asked["/token"] == 0
    assert isinstance(await harness.come_back(right), SignOnCompleted)


async def test_another_browser_cannot_use_the_code_of_an_attempt(harness: Harness) -> None:
    """An attacker who makes a victim open the attacker's return address signs in nobody."""
    sent, victims = await harness.go_there(), await harness.go_there(visitor=AWAY)
    brought = harness.scripted.consent(sent.address)
    planted = bring(victims, brought, AWAY)
    assert await harness.come_back(planted) is SignOnFailure.GONE
    assert await harness.come_back(change_returned(planted, secret="")) is SignOnFailure.GONE
    assert await harness.count("portal_sessions") == 0


async def test_a_code_injected_into_another_attempt_is_refused(harness: Harness) -> None:
    """PKCE: a code works only with the verifier of its own attempt."""
    stolen = harness.scripted.consent((await harness.go_there()).address)
    mine = await harness.go_there(visitor=AWAY)
    own = harness.scripted.consent(mine.address)
    injected = bring(mine, {**own, "code": stolen["code"]}, AWAY)
    assert await harness.come_back(injected) is SignOnFailure.DOUBTED
    assert await harness.count("users") == 0


async def test_an_attempt_works_once(harness: Harness) -> None:
    sent = await harness.go_there()
    returned = bring(sent, harness.scripted.consent(sent.address))
    assert isinstance(await harness.come_back(returned), SignOnCompleted)
    assert await harness.come_back(returned) is SignOnFailure.GONE
    assert await harness.count("portal_sessions") == 1
    assert harness.scripted.asked["/token"] == 1


async def test_a_replayed_code_is_refused(harness: Harness) -> None:
    """The code of one attempt is sent in another: the provider answers that it was used."""
    sent = await harness.go_there()
    brought = harness.scripted.consent(sent.address)
    assert isinstance(await harness.come_back(bring(sent, brought)), SignOnCompleted)
    again = await harness.go_there()
    own = harness.scripted.consent(again.address)
    replayed = bring(again, {**own, "code": brought["code"]})
    assert await harness.come_back(replayed) is SignOnFailure.DOUBTED
    acts = await harness.list_acts("session.refuse")
    assert acts[-1][2] == {"provider": "kontor", "reason": "CODE"}


@pytest.mark.parametrize(
    ("late", "expected"), [(-JUST, SignOnCompleted), (timedelta(0), SignOnFailure)]
)
async def test_an_attempt_lasts_ten_minutes(
    harness: Harness, late: timedelta, expected: type
) -> None:
    sent = await harness.go_there()
    brought = harness.scripted.consent(sent.address)
    harness.clock.advance(timedelta(minutes=10) + late)
    assert isinstance(await harness.come_back(bring(sent, brought)), expected)


async def test_expired_attempts_are_deleted(harness: Harness) -> None:
    await harness.go_there()
    harness.clock.advance(timedelta(minutes=10) + JUST)
    await sweep_user_rows(harness.resources)
    assert await harness.count("single_sign_on_attempts") == 0


async def test_a_response_with_another_issuer_is_refused(harness: Harness) -> None:
    """Mix-up attack: the response names its issuer."""
    for issuer in ("https://evil.example", "", harness.scripted.issuer + "/"):
        sent = await harness.go_there()
        brought = {**harness.scripted.consent(sent.address), "iss": issuer}
        assert await harness.come_back(bring(sent, brought)) is SignOnFailure.DOUBTED
    assert harness.scripted.asked["/token"] == 0
    sent = await harness.go_there()
    brought = {**harness.scripted.consent(sent.address), "iss": harness.scripted.issuer}
    assert isinstance(await harness.come_back(bring(sent, brought)), SignOnCompleted)


async def test_a_response_must_name_its_issuer_when_the_provider_supports_it(
    harness: Harness,
) -> None:
    harness.scripted.metadata = {"authorization_response_iss_parameter_supported": True}
    assert await harness.arrive() is SignOnFailure.DOUBTED
    assert harness.scripted.asked["/token"] == 0


async def test_an_attempt_at_one_provider_cannot_be_finished_at_another(harness: Harness) -> None:
    """Mix-up attack: each provider has its own return address and its own attempts."""
    async with a_scripted_provider(harness.clock) as evil:
        provider = msgspec.structs.replace(
            harness.adapter.provider, name="evil", issuer=evil.issuer
        )
        other = OidcProvider(provider, CLIENT_SECRET)
        sent = await harness.go_there()
        returned = bring(sent, harness.scripted.consent(sent.address))
        assert await finish_attempt(harness.services, other, returned) is SignOnFailure.GONE
        assert evil.asked["/token"] == 0
        await other.close()
    assert isinstance(await harness.come_back(returned), SignOnCompleted)


@pytest.mark.parametrize("brought", [{"error": "access_denied"}, {"error": "server_error"}, {}])
async def test_a_user_whom_the_provider_refused_is_not_signed_in(
    harness: Harness, brought: dict[str, str]
) -> None:
    sent = await harness.go_there()
    state = read(sent.address)["state"]
    assert await harness.come_back(bring(sent, {"state": state, **brought})) is SignOnFailure.DENIED
    assert await harness.count("single_sign_on_attempts") == 0


@pytest.mark.parametrize("name", ["/.well-known/openid-configuration", "/keys", "/token"])
@pytest.mark.parametrize(
    "answer", [(500, b"{}"), (302, b""), (200, b"no json"), (200, b"x" * 300_000), (200, b"[]")],
    ids=lambda each: f"{each[0]}-{len(each[1])}",
)  # fmt: skip
async def test_a_provider_with_invalid_responses_counts_as_unavailable(
    harness: Harness, name: str, answer: tuple[int, bytes]
) -> None:
    harness.scripted.answers[name] = answer
    if "openid" in name:
        sent = await start_attempt(
            harness.services, harness.adapter, "/portal", visitor=HOME, randomness=randomness()
        )
        assert sent == ProviderUnavailable()
        return
    expected = SignOnFailure.DOUBTED if (name, answer[0]) == ("/token", 302) else SignOnFailure.AWAY
    assert await harness.arrive() is expected
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
    harness: Harness, changed: dict[str, str | None]
) -> None:
    harness.scripted.metadata = dict(changed)
    sent = await start_attempt(
        harness.services, harness.adapter, "/portal", visitor=HOME, randomness=randomness()
    )
    assert sent == ProviderUnavailable()
    assert await harness.count("single_sign_on_attempts") == 0


async def test_one_network_may_have_three_hundred_open_attempts(harness: Harness) -> None:
    subjects = 299
    for _ in range(subjects):
        await harness.go_there()
    await harness.come_in()
    await harness.go_there()
    last = await start_attempt(
        harness.services, harness.adapter, "/portal", visitor=HOME, randomness=randomness()
    )
    assert last == TooManyAttempts(900)
    await harness.go_there(visitor=AWAY)


async def test_the_client_secret_is_sent_in_the_form_when_the_provider_requires_it(
    harness: Harness,
) -> None:
    harness.scripted.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    await harness.come_in()
