"""An address that is submitted too late is shown again to the session that entered it, and to no
other."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.guarded_landing import NUMBER, a_guarded_landing, read_sent_code
from tests.support.landing import OWN_FORM, LandingHarness, read_hidden

_EMAIL = "/claim/preferences/email"
_VERIFY = "/claim/verify/preferences"
_NEW = "erika@neu.example"


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    async with a_guarded_landing(resources, clock, mobileNumber=NUMBER) as landing:
        yield landing


async def reach_code_level(landing: LandingHarness) -> None:
    """Enter a letter's code, then a code sent to the address on file."""
    await landing.browser.type_code(await landing.give_code())
    await landing.browser.get(_VERIFY)
    await landing.browser.submit(f"{_VERIFY}/send")
    await landing.browser.submit(f"{_VERIFY}/code", code=await read_sent_code(landing))


async def _fill_address_form(landing: LandingHarness) -> dict[str, Any]:
    """Return the form with a new address, as a tab holds it."""
    await reach_code_level(landing)
    page = await landing.browser.get(_EMAIL)
    fields = read_hidden(page.text, _EMAIL) | {"address": _NEW}
    return {"data": fields, "headers": OWN_FORM}


async def test_an_address_entered_in_an_ended_session_is_shown_again(
    landing: LandingHarness, clock: MovableClock
) -> None:
    given = await _fill_address_form(landing)
    clock.advance(timedelta(hours=1))

    answer = await landing.browser.http.post(_EMAIL, **given)
    foreign = await landing.browser.http.post(_EMAIL, **given | {"data": {"address": _NEW}})

    assert answer.status_code == 403
    assert f'<blockquote class="typed" dir="auto">{_NEW}</blockquote>' in answer.text
    assert _NEW not in foreign.text
    await reach_code_level(landing)
    assert _NEW not in (await landing.browser.get(_EMAIL)).text


async def test_an_address_entered_in_a_replaced_session_is_shown_in_the_form(
    landing: LandingHarness, clock: MovableClock
) -> None:
    given = await _fill_address_form(landing)
    clock.advance(timedelta(hours=1))
    await reach_code_level(landing)

    answer = await landing.browser.http.post(_EMAIL, **given)

    assert answer.status_code == 409
    assert f'value="{_NEW}"' in answer.text
    assert await landing.payments.count("pending_contact_changes") == 0
    assert f'value="{_NEW}"' in (await landing.browser.get(_EMAIL)).text
    other = landing.visitor()
    landing.browser = other
    await reach_code_level(landing)
    assert _NEW not in (await other.get(_EMAIL)).text


async def test_below_the_level_the_entered_address_is_shown_after_verification(
    landing: LandingHarness, clock: MovableClock
) -> None:
    given = await _fill_address_form(landing)
    clock.advance(timedelta(hours=1))
    await landing.browser.type_code(await landing.give_code())

    answer = await landing.browser.http.post(_EMAIL, **given)

    assert answer.headers["Location"] == "/claim/verify?for=preferences"
    await landing.browser.get(_VERIFY)
    await landing.browser.submit(f"{_VERIFY}/send")
    await landing.browser.submit(f"{_VERIFY}/code", code=await read_sent_code(landing))
    assert f'value="{_NEW}"' in (await landing.browser.get(_EMAIL)).text


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}, {}])
async def test_a_stale_form_of_unknown_origin_is_refused(
    landing: LandingHarness, clock: MovableClock, headers: dict[str, str]
) -> None:
    given = await _fill_address_form(landing)
    clock.advance(timedelta(hours=1))
    await reach_code_level(landing)
    foreign = given | {"headers": headers}

    assert (await landing.browser.http.post(_EMAIL, **foreign)).status_code == 403
    assert _NEW not in (await landing.browser.get(_EMAIL)).text
