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
from tests.support.scripted_provider import a_key, sign
from tests.support.single_sign_on import House, a_house

DISCOVERY = "/.well-known/openid-configuration"


@pytest.fixture
async def house(services: SignInServices) -> AsyncIterator[House]:
    async with a_house(services) as house:
        yield house


async def test_metadata_is_loaded_once_an_hour_and_keys_every_ten_minutes(house: House) -> None:
    for _ in range(3):
        await house.come_in()
    asked = house.scripted.asked
    assert (asked[DISCOVERY], asked["/keys"]) == (1, 1)
    house.clock.advance(timedelta(minutes=10) - JUST)
    await house.come_in()
    assert (asked[DISCOVERY], asked["/keys"]) == (1, 1)
    house.clock.advance(JUST)
    await house.come_in()
    assert (asked[DISCOVERY], asked["/keys"]) == (1, 2)
    house.clock.advance(timedelta(minutes=50) - JUST)
    await house.go_there()
    assert asked[DISCOVERY] == 1
    house.clock.advance(JUST)
    await house.go_there()
    assert asked[DISCOVERY] == 2


async def test_concurrent_sign_ins_load_the_metadata_once(house: House) -> None:
    await asyncio.gather(*(house.go_there() for _ in range(20)))
    assert house.scripted.asked[DISCOVERY] == 1


async def test_rotated_keys_are_loaded_at_once_and_the_old_ones_refused(house: House) -> None:
    await house.come_in()
    old = house.scripted.keys[0]
    house.scripted.keys = [a_key("second")]
    house.clock.advance(timedelta(seconds=10))
    await house.come_in()
    house.scripted.signing = lambda claims, _key: sign(claims, old)
    house.clock.advance(timedelta(seconds=10))
    assert await house.arrive() is SignOnFailure.DOUBTED


async def test_a_key_replaced_under_the_same_id_is_loaded(house: House) -> None:
    await house.come_in()
    house.scripted.keys = [a_key("first")]
    house.clock.advance(timedelta(seconds=10))
    await house.come_in()


async def test_of_two_keys_the_one_named_in_the_token_is_used(house: House) -> None:
    house.scripted.keys = [a_key("next"), a_key("other")]
    await house.come_in()


async def test_forged_tokens_do_not_cause_repeated_key_requests(house: House) -> None:
    house.scripted.signing = lambda claims, _key: sign(claims, a_key("forged"))
    for _ in range(5):
        assert await house.arrive() is SignOnFailure.DOUBTED
    assert house.scripted.asked["/keys"] == 1
    house.clock.advance(timedelta(seconds=10) - JUST)
    assert await house.arrive() is SignOnFailure.DOUBTED
    assert house.scripted.asked["/keys"] == 1
    house.clock.advance(JUST)
    assert await house.arrive() is SignOnFailure.DOUBTED
    assert house.scripted.asked["/keys"] == 2


async def test_an_unavailable_provider_is_asked_again_after_ten_seconds(house: House) -> None:
    house.scripted.answers[DISCOVERY] = (503, b"")

    async def ask() -> object:
        return await house.adapter.find_leaving_address("x", house.clock.now())

    assert [await ask() for _ in range(3)] == [None] * 3
    assert house.scripted.asked[DISCOVERY] == 1
    del house.scripted.answers[DISCOVERY]
    house.clock.advance(timedelta(seconds=10) - JUST)
    assert await ask() is None
    house.clock.advance(JUST)
    assert await ask() is not None
    assert house.scripted.asked[DISCOVERY] == 2


async def test_a_provider_that_fails_during_the_sign_in_signs_nobody_in(house: House) -> None:
    sent = await house.go_there()
    house.scripted.answers["/token"] = (502, b"")
    assert house.scripted.consent(sent.address)
    assert await house.arrive() is SignOnFailure.AWAY
    del house.scripted.answers["/token"]
    assert isinstance(await house.arrive(), SignOnCompleted)


async def test_a_provider_outside_its_configured_networks_is_not_reached(house: House) -> None:
    await house.change_provider(networks=("10.0.0.0/24",))
    assert await house.adapter.read_logout("x", house.clock.now()) == ProviderUnavailable()
    assert not house.scripted.asked
