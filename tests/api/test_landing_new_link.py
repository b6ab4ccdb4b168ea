"""A new link on request: sent to the address on file, and nobody is told whether it was."""

import time
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from dunwell.kit.clock import MovableClock
from dunwell.kit.resources import Resources
from dunwell.landing.routes.new_link import ANSWERED_AFTER
from tests.support.landing import Browser, Doorstep
from tests.support.ways import NUMBER, a_guarded_doorstep, list_notices, read_sent_link

_RIGHT = {"reference": "INV-1001", "contact": "erika@example.org"}


@pytest.fixture
async def doorstep(resources: Resources, clock: MovableClock) -> AsyncIterator[Doorstep]:
    async with a_guarded_doorstep(resources, clock, mobileNumber=NUMBER) as doorstep:
        yield doorstep


async def _ask(browser: Browser, **fields: str) -> Any:
    await browser.get("/q/new-link")
    return await browser.submit("/q/new-link", **(_RIGHT | fields))


@pytest.mark.parametrize(
    ("contact", "channel", "recipient"),
    [
        ("Erika@Example.org", "EMAIL", "erika@example.org"),
        ("0171 1234567", "SMS", NUMBER),
    ],
)
async def test_a_link_goes_to_the_address_on_file_and_opens_the_claim(
    doorstep: Doorstep, contact: str, channel: str, recipient: str
) -> None:
    page = await _ask(doorstep.browser, contact=contact)

    assert (page.status_code, page.url.path) == (200, "/q/new-link/sent")
    [notice] = await list_notices(doorstep)
    assert (notice["kind"], notice["channel"], notice["recipient"]) == ("LINK", channel, recipient)
    link = await read_sent_link(doorstep)
    assert link not in notice["body_text"]
    opened = await doorstep.browser.open(link)
    assert opened.url.path == "/claim"
    [details] = await doorstep.accesses()
    assert details["communicationType"] == channel


@pytest.mark.parametrize(
    "fields",
    [
        {"contact": "somebody@example.org"},
        {"reference": "INV-1002"},
        {"contact": "0171 7654321"},
        {"reference": "%", "contact": "%"},
        {"reference": "'; DROP TABLE claims; --"},
        {"reference": "x" * 3000},
    ],
)
async def test_whatever_does_not_fit_is_answered_the_same_and_sends_nothing(
    doorstep: Doorstep, fields: dict[str, str]
) -> None:
    right = await _ask(doorstep.visitor("203.0.113.1"))
    page = await _ask(doorstep.browser, **fields)

    assert (page.status_code, page.text) == (right.status_code, right.text)
    assert len(await list_notices(doorstep)) == 1


async def test_a_right_answer_and_a_wrong_one_take_as_long(doorstep: Doorstep) -> None:
    took = []
    for contact in ("erika@example.org", "somebody@example.org"):
        began = time.perf_counter()
        await doorstep.browser.post("/q/new-link", reference="INV-1001", contact=contact)
        took.append(time.perf_counter() - began)
    assert min(took) >= ANSWERED_AFTER


async def test_an_empty_field_is_named(doorstep: Doorstep) -> None:
    pages = [await _ask(doorstep.browser, **{name: "  "}) for name in _RIGHT]
    assert [page.status_code for page in pages] == [422, 422]
    assert 'href="#reference"' in pages[0].text
    assert 'href="#contact"' in pages[1].text
    assert await list_notices(doorstep) == []


async def test_a_visitor_asks_five_times_in_a_quarter_of_an_hour(
    doorstep: Doorstep, clock: MovableClock
) -> None:
    pages = [await _ask(doorstep.browser, reference=f"INV-{n}") for n in range(6)]

    assert [page.status_code for page in pages] == [200] * 5 + [429]
    assert "We were asked for several links from here." in pages[5].text
    clock.advance(timedelta(minutes=16))
    assert (await _ask(doorstep.browser)).status_code == 200


async def test_a_claim_gets_five_links_an_hour_whoever_asks(doorstep: Doorstep) -> None:
    for number in range(7):
        page = await _ask(doorstep.visitor(f"203.0.113.{number}"))
        assert page.url.path == "/q/new-link/sent"
    assert len(await list_notices(doorstep)) == 5


async def test_links_asked_for_raise_no_alarm(
    doorstep: Doorstep, capsys: pytest.CaptureFixture[str]
) -> None:
    await doorstep.till.house.rows(
        "INSERT INTO code_attempts (visitor_digest, window_start, failures, requests)"
        " SELECT 'other', $2, 0, 98 WHERE $1 > 0",
        doorstep.till.now,
    )
    await _ask(doorstep.browser)
    await doorstep.browser.type_code("0000-0000-0000")
    assert "codes are being guessed" not in capsys.readouterr().out


async def test_of_two_merchants_with_one_reference_the_right_ones_claim_is_found(
    doorstep: Doorstep, resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_doorstep(
        resources, clock, key="hansen", email="else@example.org"
    ) as other:
        await _ask(doorstep.browser, contact="else@example.org")

        assert await list_notices(doorstep) == []
        [notice] = await list_notices(other)
        assert notice["recipient"] == "else@example.org"
        opened = await doorstep.browser.open(await read_sent_link(other))
        assert "Hansen" in opened.text


async def test_the_ways_without_a_link_lead_there(doorstep: Doorstep) -> None:
    pages = [await doorstep.browser.get(path) for path in ("/q", f"/q/{'A' * 22}", "/claim")]
    assert all('href="/q/new-link"' in page.text for page in pages)
