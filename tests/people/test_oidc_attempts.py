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
from tests.support.single_sign_on import House, a_house, bring, change_returned


@pytest.fixture
async def house(services: SignInServices) -> AsyncIterator[House]:
    async with a_house(services) as house:
        yield house


def read(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


async def test_a_completed_sign_in_leads_to_the_requested_page(house: House) -> None:
    sent = await house.go_there("/portal/people?x=1")
    back = await house.come_back(bring(sent, house.scripted.consent(sent.address)))
    assert isinstance(back, SignOnCompleted)
    assert (back.next_page, back.opened.by) == ("/portal/people?x=1", "PROVIDER")


async def test_the_redirect_uri_uses_the_public_address(house: House) -> None:
    asked = read((await house.go_there()).address)
    origin = house.resources.settings.public_url
    assert asked["redirect_uri"] == f"{origin}/portal/sign-in/with/kontor/back"
    assert asked["scope"] == "openid email profile"
    assert asked["tenant"] == "1"
    assert "acr_values" not in asked


async def test_unmatched_returns_cannot_fill_the_audit_log(house: House) -> None:
    sent = await house.go_there()
    lost = change_returned(bring(sent, {}), secret="", state="made up")
    for _ in range(MAX_UNMATCHED_RETURNS + 5):
        assert await house.come_back(lost) is SignOnFailure.GONE
    assert len(await house.list_acts("session.refuse")) == MAX_UNMATCHED_RETURNS

    # Refusals of other visitors are recorded, and the user who started an attempt can still finish
    # it.
    await house.come_back(change_returned(lost, visitor=AWAY))
    assert len(await house.list_acts("session.refuse")) == MAX_UNMATCHED_RETURNS + 1
    back = await house.come_back(bring(sent, house.scripted.consent(sent.address)))
    assert isinstance(back, SignOnCompleted)

    house.clock.advance(WINDOW)
    await house.come_back(lost)
    assert len(await house.list_acts("session.refuse")) == MAX_UNMATCHED_RETURNS + 2


async def test_each_attempt_has_its_own_secrets_which_are_not_stored(house: House) -> None:
    first, second = await house.go_there(), await house.go_there()
    one, other = read(first.address), read(second.address)
    for name in ("state", "nonce", "code_challenge"):
        assert one[name] != other[name]
    assert len({one["state"], one["nonce"], one["code_challenge"]}) == 3
    async with house.resources.database.connection() as connection:
        rows = await connection.fetch("SELECT a::text FROM single_sign_on_attempts a")
    for row in rows:
        assert all(each not in row[0] for each in (one["state"], one["nonce"], first.secret))


@pytest.mark.parametrize("state", ["", "x" * 43, "\u20ac"])
async def test_a_wrong_state_signs_nobody_in_and_does_not_use_up_the_attempt(
    house: House, state: str
) -> None:
    sent = await house.go_there()
    right = bring(sent, house.scripted.consent(sent.address))
    assert await house.come_back(change_returned(right, state=state)) is SignOnFailure.GONE
    assert house.scripted.asked["/token"] == 0
    assert isinstance(await house.come_back(right), SignOnCompleted)


async def test_another_browser_cannot_use_the_code_of_an_attempt(house: House) -> None:
    """An attacker who makes a victim open the attacker's return address signs in nobody."""
    sent, victims = await house.go_there(), await house.go_there(visitor=AWAY)
    brought = house.scripted.consent(sent.address)
    planted = bring(victims, brought, AWAY)
    assert await house.come_back(planted) is SignOnFailure.GONE
    assert await house.come_back(change_returned(planted, secret="")) is SignOnFailure.GONE
    assert await house.count("portal_sessions") == 0


async def test_a_code_injected_into_another_attempt_is_refused(house: House) -> None:
    """PKCE: a code works only with the verifier of its own attempt."""
    stolen = house.scripted.consent((await house.go_there()).address)
    mine = await house.go_there(visitor=AWAY)
    own = house.scripted.consent(mine.address)
    injected = bring(mine, {**own, "code": stolen["code"]}, AWAY)
    assert await house.come_back(injected) is SignOnFailure.DOUBTED
    assert await house.count("users") == 0


async def test_an_attempt_works_once(house: House) -> None:
    sent = await house.go_there()
    returned = bring(sent, house.scripted.consent(sent.address))
    assert isinstance(await house.come_back(returned), SignOnCompleted)
    assert await house.come_back(returned) is SignOnFailure.GONE
    assert await house.count("portal_sessions") == 1
    assert house.scripted.asked["/token"] == 1


async def test_a_replayed_code_is_refused(house: House) -> None:
    """The code of one attempt is sent in another: the provider answers that it was used."""
    sent = await house.go_there()
    brought = house.scripted.consent(sent.address)
    assert isinstance(await house.come_back(bring(sent, brought)), SignOnCompleted)
    again = await house.go_there()
    own = house.scripted.consent(again.address)
    replayed = bring(again, {**own, "code": brought["code"]})
    assert await house.come_back(replayed) is SignOnFailure.DOUBTED
    acts = await house.list_acts("session.refuse")
    assert acts[-1][2] == {"provider": "kontor", "reason": "CODE"}


@pytest.mark.parametrize(
    ("late", "expected"), [(-JUST, SignOnCompleted), (timedelta(0), SignOnFailure)]
)
async def test_an_attempt_lasts_ten_minutes(house: House, late: timedelta, expected: type) -> None:
    sent = await house.go_there()
    brought = house.scripted.consent(sent.address)
    house.clock.advance(timedelta(minutes=10) + late)
    assert isinstance(await house.come_back(bring(sent, brought)), expected)


async def test_expired_attempts_are_deleted(house: House) -> None:
    await house.go_there()
    house.clock.advance(timedelta(minutes=10) + JUST)
    await sweep_user_rows(house.resources)
    assert await house.count("single_sign_on_attempts") == 0


async def test_a_response_with_another_issuer_is_refused(house: House) -> None:
    """Mix-up attack: the response names its issuer."""
    for issuer in ("https://evil.example", "", house.scripted.issuer + "/"):
        sent = await house.go_there()
        brought = {**house.scripted.consent(sent.address), "iss": issuer}
        assert await house.come_back(bring(sent, brought)) is SignOnFailure.DOUBTED
    assert house.scripted.asked["/token"] == 0
    sent = await house.go_there()
    brought = {**house.scripted.consent(sent.address), "iss": house.scripted.issuer}
    assert isinstance(await house.come_back(bring(sent, brought)), SignOnCompleted)


async def test_a_response_must_name_its_issuer_when_the_provider_supports_it(house: House) -> None:
    house.scripted.metadata = {"authorization_response_iss_parameter_supported": True}
    assert await house.arrive() is SignOnFailure.DOUBTED
    assert house.scripted.asked["/token"] == 0


async def test_an_attempt_at_one_provider_cannot_be_finished_at_another(house: House) -> None:
    """Mix-up attack: each provider has its own return address and its own attempts."""
    async with a_scripted_provider(house.clock) as evil:
        provider = msgspec.structs.replace(house.adapter.provider, name="evil", issuer=evil.issuer)
        other = OidcProvider(provider, CLIENT_SECRET)
        sent = await house.go_there()
        returned = bring(sent, house.scripted.consent(sent.address))
        assert await finish_attempt(house.services, other, returned) is SignOnFailure.GONE
        assert evil.asked["/token"] == 0
        await other.close()
    assert isinstance(await house.come_back(returned), SignOnCompleted)


@pytest.mark.parametrize("brought", [{"error": "access_denied"}, {"error": "server_error"}, {}])
async def test_a_user_whom_the_provider_refused_is_not_signed_in(
    house: House, brought: dict[str, str]
) -> None:
    sent = await house.go_there()
    state = read(sent.address)["state"]
    assert await house.come_back(bring(sent, {"state": state, **brought})) is SignOnFailure.DENIED
    assert await house.count("single_sign_on_attempts") == 0


@pytest.mark.parametrize("name", ["/.well-known/openid-configuration", "/keys", "/token"])
@pytest.mark.parametrize(
    "answer", [(500, b"{}"), (302, b""), (200, b"no json"), (200, b"x" * 300_000), (200, b"[]")],
    ids=lambda each: f"{each[0]}-{len(each[1])}",
)  # fmt: skip
async def test_a_provider_with_invalid_responses_counts_as_unavailable(
    house: House, name: str, answer: tuple[int, bytes]
) -> None:
    house.scripted.answers[name] = answer
    if "openid" in name:
        sent = await start_attempt(
            house.services, house.adapter, "/portal", visitor=HOME, randomness=randomness()
        )
        assert sent == ProviderUnavailable()
        return
    expected = SignOnFailure.DOUBTED if (name, answer[0]) == ("/token", 302) else SignOnFailure.AWAY
    assert await house.arrive() is expected
    assert await house.count("users") == 0


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
    house: House, changed: dict[str, str | None]
) -> None:
    house.scripted.metadata = dict(changed)
    sent = await start_attempt(
        house.services, house.adapter, "/portal", visitor=HOME, randomness=randomness()
    )
    assert sent == ProviderUnavailable()
    assert await house.count("single_sign_on_attempts") == 0


async def test_one_network_may_have_three_hundred_open_attempts(house: House) -> None:
    subjects = 299
    for _ in range(subjects):
        await house.go_there()
    await house.come_in()
    await house.go_there()
    last = await start_attempt(
        house.services, house.adapter, "/portal", visitor=HOME, randomness=randomness()
    )
    assert last == TooManyAttempts(900)
    await house.go_there(visitor=AWAY)


async def test_the_client_secret_is_sent_in_the_form_when_the_provider_requires_it(
    house: House,
) -> None:
    house.scripted.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    await house.come_in()
