"""The metadata and keys of a provider are cached; keys are loaded again when they change.

A provider that does not answer is not asked again for some seconds.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.single_sign_on.provider import ProviderUnavailable
from dunwell.accounts.users.single_sign_on.sign_on import SignOnCompleted, SignOnFailure
from tests.support.durations import JUST
from tests.support.scripted_identity_provider import a_key, sign
from tests.support.single_sign_on import SingleSignOnHarness, a_single_sign_on_harness

DISCOVERY = "/.well-known/openid-configuration"


@pytest.fixture
async def harness(services: SignInServices) -> AsyncIterator[SingleSignOnHarness]:
    async with a_single_sign_on_harness(services) as harness:
        yield harness


async def test_metadata_is_loaded_once_an_hour_and_keys_every_ten_minutes(
    harness: SingleSignOnHarness,
) -> None:
    for _ in range(3):
        await harness.complete_sign_in()
    asked = harness.scripted.asked
    assert (asked[DISCOVERY], asked["/keys"]) == (1, 1)
    harness.clock.advance(timedelta(minutes=10) - JUST)
    await harness.complete_sign_in()
    assert (asked[DISCOVERY], asked["/keys"]) == (1, 1)
    harness.clock.advance(JUST)
    await harness.complete_sign_in()
    assert (asked[DISCOVERY], asked["/keys"]) == (1, 2)
    harness.clock.advance(timedelta(minutes=50) - JUST)
    await harness.start()
    assert asked[DISCOVERY] == 1
    harness.clock.advance(JUST)
    await harness.start()
    assert asked[DISCOVERY] == 2


async def test_concurrent_sign_ins_load_the_metadata_once(harness: SingleSignOnHarness) -> None:
    await asyncio.gather(*(harness.start() for _ in range(20)))
    assert harness.scripted.asked[DISCOVERY] == 1


async def test_rotated_keys_are_loaded_at_once_and_the_old_ones_refused(
    harness: SingleSignOnHarness,
) -> None:
    await harness.complete_sign_in()
    old = harness.scripted.keys[0]
    harness.scripted.keys = [a_key("second")]
    harness.clock.advance(timedelta(seconds=10))
    await harness.complete_sign_in()
    harness.scripted.signing = lambda claims, _key: sign(claims, old)
    harness.clock.advance(timedelta(seconds=10))
    assert await harness.sign_in_at_provider() is SignOnFailure.REJECTED


async def test_a_key_replaced_under_the_same_id_is_loaded(harness: SingleSignOnHarness) -> None:
    await harness.complete_sign_in()
    harness.scripted.keys = [a_key("first")]
    harness.clock.advance(timedelta(seconds=10))
    await harness.complete_sign_in()


async def test_of_two_keys_the_one_named_in_the_token_is_used(harness: SingleSignOnHarness) -> None:
    harness.scripted.keys = [a_key("next"), a_key("other")]
    await harness.complete_sign_in()


async def test_forged_tokens_do_not_cause_repeated_key_requests(
    harness: SingleSignOnHarness,
) -> None:
    harness.scripted.signing = lambda claims, _key: sign(claims, a_key("forged"))
    for _ in range(5):
        assert await harness.sign_in_at_provider() is SignOnFailure.REJECTED
    assert harness.scripted.asked["/keys"] == 1
    harness.clock.advance(timedelta(seconds=10) - JUST)
    assert await harness.sign_in_at_provider() is SignOnFailure.REJECTED
    assert harness.scripted.asked["/keys"] == 1
    harness.clock.advance(JUST)
    assert await harness.sign_in_at_provider() is SignOnFailure.REJECTED
    assert harness.scripted.asked["/keys"] == 2


async def test_an_unavailable_provider_is_asked_again_after_ten_seconds(
    harness: SingleSignOnHarness,
) -> None:
    harness.scripted.answers[DISCOVERY] = (503, b"")

    async def ask() -> object:
        return await harness.adapter.find_logout_url("x", harness.clock.now())

    assert [await ask() for _ in range(3)] == [None] * 3
    assert harness.scripted.asked[DISCOVERY] == 1
    del harness.scripted.answers[DISCOVERY]
    harness.clock.advance(timedelta(seconds=10) - JUST)
    assert await ask() is None
    harness.clock.advance(JUST)
    assert await ask() is not None
    assert harness.scripted.asked[DISCOVERY] == 2


async def test_a_failure_of_the_provider_ends_the_sign_in(
    harness: SingleSignOnHarness,
) -> None:
    sent = await harness.start()
    harness.scripted.answers["/token"] = (502, b"")
    assert harness.scripted.consent(sent.url)
    assert await harness.sign_in_at_provider() is SignOnFailure.AWAY
    del harness.scripted.answers["/token"]
    assert isinstance(await harness.sign_in_at_provider(), SignOnCompleted)


async def test_a_provider_outside_its_configured_networks_is_not_reached(
    harness: SingleSignOnHarness,
) -> None:
    await harness.change_provider(networks=("10.0.0.0/24",))
    assert (
        await harness.adapter.parse_logout_token("x", harness.clock.now()) == ProviderUnavailable()
    )
    assert not harness.scripted.asked
