"""An address that is submitted too late is shown again to the session that entered it, and to no
other."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.landing import OWN_FORM, Doorstep, read_hidden
from tests.support.ways import NUMBER, a_guarded_doorstep, read_sent_code

_EMAIL = "/claim/preferences/email"
_VERIFY = "/claim/verify/preferences"
_NEW = "erika@neu.example"


@pytest.fixture
async def doorstep(resources: Resources, clock: MovableClock) -> AsyncIterator[Doorstep]:
    async with a_guarded_doorstep(resources, clock, mobileNumber=NUMBER) as doorstep:
        yield doorstep


async def be_sure(doorstep: Doorstep) -> None:
    """Enter a letter's code, then a code sent to the address on file."""
    await doorstep.browser.type_code(await doorstep.give_code())
    await doorstep.browser.get(_VERIFY)
    await doorstep.browser.submit(f"{_VERIFY}/send")
    await doorstep.browser.submit(f"{_VERIFY}/code", code=await read_sent_code(doorstep))


async def _type(doorstep: Doorstep) -> dict[str, Any]:
    """Return the form with a new address, as a tab holds it."""
    await be_sure(doorstep)
    page = await doorstep.browser.get(_EMAIL)
    fields = read_hidden(page.text, _EMAIL) | {"address": _NEW}
    return {"data": fields, "headers": OWN_FORM}


async def test_an_address_entered_in_an_ended_session_is_shown_again(
    doorstep: Doorstep, clock: MovableClock
) -> None:
    given = await _type(doorstep)
    clock.advance(timedelta(hours=1))

    answer = await doorstep.browser.http.post(_EMAIL, **given)
    foreign = await doorstep.browser.http.post(_EMAIL, **given | {"data": {"address": _NEW}})

    assert answer.status_code == 403
    assert f'<blockquote class="typed" dir="auto">{_NEW}</blockquote>' in answer.text
    assert _NEW not in foreign.text
    await be_sure(doorstep)
    assert _NEW not in (await doorstep.browser.get(_EMAIL)).text


async def test_an_address_entered_in_a_replaced_session_is_shown_in_the_form(
    doorstep: Doorstep, clock: MovableClock
) -> None:
    given = await _type(doorstep)
    clock.advance(timedelta(hours=1))
    await be_sure(doorstep)

    answer = await doorstep.browser.http.post(_EMAIL, **given)

    assert answer.status_code == 409
    assert f'value="{_NEW}"' in answer.text
    assert await doorstep.till.count("pending_contact_changes") == 0
    assert f'value="{_NEW}"' in (await doorstep.browser.get(_EMAIL)).text
    other = doorstep.visitor()
    doorstep.browser = other
    await be_sure(doorstep)
    assert _NEW not in (await other.get(_EMAIL)).text


async def test_below_the_level_the_entered_address_is_shown_after_verification(
    doorstep: Doorstep, clock: MovableClock
) -> None:
    given = await _type(doorstep)
    clock.advance(timedelta(hours=1))
    await doorstep.browser.type_code(await doorstep.give_code())

    answer = await doorstep.browser.http.post(_EMAIL, **given)

    assert answer.headers["Location"] == "/claim/verify?for=preferences"
    await doorstep.browser.get(_VERIFY)
    await doorstep.browser.submit(f"{_VERIFY}/send")
    await doorstep.browser.submit(f"{_VERIFY}/code", code=await read_sent_code(doorstep))
    assert f'value="{_NEW}"' in (await doorstep.browser.get(_EMAIL)).text


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}, {}])
async def test_a_stale_form_of_unknown_origin_is_refused(
    doorstep: Doorstep, clock: MovableClock, headers: dict[str, str]
) -> None:
    given = await _type(doorstep)
    clock.advance(timedelta(hours=1))
    await be_sure(doorstep)
    foreign = given | {"headers": headers}

    assert (await doorstep.browser.http.post(_EMAIL, **foreign)).status_code == 403
    assert _NEW not in (await doorstep.browser.get(_EMAIL)).text
