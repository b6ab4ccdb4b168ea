"""Requesting a new link: it is sent to the address on file, and the response does not reveal
whether it was sent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest

from dunwell.interfaces.landing.sign_in.requested_links import MIN_INTERVAL
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.guarded_landing import (
    NUMBER,
    a_guarded_landing,
    list_notices,
    read_sent_link,
    send_links,
)
from tests.support.landing import Browser, LandingHarness
from tests.support.recorded_statements import a_counted_database

_RIGHT = {"reference": "INV-1001", "contact": "erika@example.org"}


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    async with a_guarded_landing(resources, clock, mobileNumber=NUMBER) as landing:
        yield landing


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
    landing: LandingHarness, contact: str, channel: str, recipient: str
) -> None:
    page = await _ask(landing.browser, contact=contact)

    assert (page.status_code, page.url.path) == (200, "/q/new-link/sent")
    assert [await send_links(landing) for _ in range(2)] == [1, 0]
    [notice] = await list_notices(landing)
    assert (notice["kind"], notice["channel"], notice["recipient"]) == ("LINK", channel, recipient)
    link = await read_sent_link(landing)
    assert link not in notice["body_text"]
    opened = await landing.browser.open(link)
    assert opened.url.path == "/claim"
    [details] = await landing.accesses()
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
async def test_a_request_that_does_not_match_gets_the_same_response_and_no_link(
    landing: LandingHarness, fields: dict[str, str]
) -> None:
    right = await _ask(landing.visitor("203.0.113.1"))
    page = await _ask(landing.browser, **fields)

    assert (page.status_code, page.text) == (right.status_code, right.text)
    assert await send_links(landing) == 2
    assert len(await list_notices(landing)) == 1


async def test_a_request_is_matched_only_after_the_response(
    resources: Resources, clock: MovableClock
) -> None:
    async with (
        a_counted_database(resources, clock) as (counted, statements),
        a_guarded_landing(counted, clock) as landing,
    ):
        # The connection loads the types of the statement.
        await _post(landing, "erika@example.org")
        await statements.take()

        sent = []
        for contact in ("somebody@example.org", "erika@example.org"):
            await _post(landing, contact)
            sent.append(list(await statements.take()))
        tables = " ".join(sent[0])

        assert sent[0] == sent[1]
        assert "link_requests" in tables
        assert not any(name in tables for name in ("claims", "debtors", "merchants"))
        assert await list_notices(landing) == []


async def test_a_processed_request_is_deleted(landing: LandingHarness) -> None:
    await _ask(landing.browser, contact="somebody@example.org")
    waiting = await _count_waiting(landing)
    await send_links(landing)

    assert (waiting, await _count_waiting(landing)) == (1, 0)


@pytest.mark.parametrize(("minutes", "sent"), [(59, 1), (60, 0)])
async def test_a_request_expires_after_an_hour(
    landing: LandingHarness, clock: MovableClock, minutes: int, sent: int
) -> None:
    await _ask(landing.browser)
    clock.advance(timedelta(minutes=minutes))

    assert await send_links(landing) == 1
    assert len(await list_notices(landing)) == sent


async def test_a_failing_request_does_not_block_others(
    landing: LandingHarness, resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, key="hansen", email="else@example.org") as bad:
        await bad.payments.harness.rows(
            "UPDATE merchants SET configuration = configuration - 'legal', revision = revision + 1"
            " WHERE merchant_id = $1"
        )
        await _ask(landing.browser, contact="else@example.org")
        await _ask(landing.browser)

        assert [await send_links(landing) for _ in range(2)] == [2, 0]
        assert await list_notices(bad) == []
    assert len(await list_notices(landing)) == 1


async def test_an_empty_field_is_an_error(landing: LandingHarness) -> None:
    pages = [await _ask(landing.browser, **{name: "  "}) for name in _RIGHT]
    assert [page.status_code for page in pages] == [422, 422]
    assert 'href="#reference"' in pages[0].text
    assert 'href="#contact"' in pages[1].text
    assert await list_notices(landing) == []


async def test_a_visitor_can_request_five_links_in_fifteen_minutes(
    landing: LandingHarness, clock: MovableClock
) -> None:
    pages = [await _ask(landing.browser, reference=f"INV-{n}") for n in range(6)]

    assert [page.status_code for page in pages] == [200] * 5 + [429]
    assert "Several links were requested from this internet connection." in pages[5].text
    clock.advance(timedelta(minutes=16))
    assert (await _ask(landing.browser)).status_code == 200


async def test_a_claim_gets_at_most_five_links_an_hour(
    landing: LandingHarness, clock: MovableClock
) -> None:
    for number in range(7):
        clock.advance(MIN_INTERVAL)
        page = await _ask(landing.visitor(f"203.0.113.{number}"))
        assert page.url.path == "/q/new-link/sent"
        assert await send_links(landing) == 1
    assert len(await list_notices(landing)) == 5


@pytest.mark.parametrize(("seconds", "sent"), [(0, 1), (-1, 1), (300, 2), (299, 1)])
async def test_a_repeated_request_within_five_minutes_sends_no_other_link(
    landing: LandingHarness, clock: MovableClock, seconds: int, sent: int
) -> None:
    """With -1 seconds, the second request arrives before the first is processed."""
    pages = [await _ask(landing.browser)]
    if seconds >= 0:
        await send_links(landing)
        clock.advance(timedelta(seconds=seconds))
    pages.append(await _ask(landing.visitor("203.0.113.1")))
    await send_links(landing)

    assert {(page.status_code, page.text) for page in pages} == {(200, pages[0].text)}
    assert len(await list_notices(landing)) == sent
    assert await _count_waiting(landing) == 0


async def test_a_link_to_one_address_does_not_block_another_address(
    landing: LandingHarness,
) -> None:
    await _ask(landing.visitor("203.0.113.1"))
    await send_links(landing)
    await _ask(landing.browser, contact="0171 1234567")
    await send_links(landing)

    assert [each["channel"] for each in await list_notices(landing)] == ["EMAIL", "SMS"]


async def test_two_concurrent_workers_send_one_link(landing: LandingHarness) -> None:
    for number in range(4):
        await _ask(landing.visitor(f"203.0.113.{number}"))

    await asyncio.gather(*(send_links(landing) for _ in range(4)))

    assert len(await list_notices(landing)) == 1
    assert await _count_waiting(landing) == 0


async def test_another_link_is_sent_after_an_undelivered_one(landing: LandingHarness) -> None:
    await _ask(landing.browser)
    await send_links(landing)
    await landing.payments.harness.rows(
        "UPDATE debtor_notices SET state = 'FAILED', due_at = NULL, settled_at = created_at"
        " WHERE merchant_id = $1"
    )
    await _ask(landing.browser)
    await send_links(landing)

    assert len(await list_notices(landing)) == 2


async def test_requested_links_do_not_count_as_guessing(
    landing: LandingHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    await landing.payments.harness.rows(
        "INSERT INTO letter_code_failures (minute, count) SELECT $2, 98 WHERE $1 > 0",
        landing.payments.now,
    )
    await _ask(landing.browser)
    await landing.browser.type_code("0000-0000-0000")
    assert "possible guessing of letter codes" not in capsys.readouterr().out
    await landing.visitor("203.0.113.5").type_code("0000-0000-0001")
    assert "possible guessing of letter codes" in capsys.readouterr().out


async def test_the_claim_is_found_among_two_with_the_same_reference(
    landing: LandingHarness, resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, key="hansen", email="else@example.org") as other:
        await _ask(landing.browser, contact="else@example.org")
        await send_links(landing)

        assert await list_notices(landing) == []
        [notice] = await list_notices(other)
        assert notice["recipient"] == "else@example.org"
        opened = await landing.browser.open(await read_sent_link(other))
        assert "Hansen" in opened.text


async def test_at_most_five_merchants_send_a_link_for_one_request(
    landing: LandingHarness, resources: Resources, clock: MovableClock
) -> None:
    async with AsyncExitStack() as others:
        landings = [landing] + [
            await others.enter_async_context(
                a_guarded_landing(resources, clock, key=f"merchant-{number}")
            )
            for number in range(6)
        ]
        await _ask(landing.browser)
        await send_links(landing)

        sent = [len(await list_notices(each)) for each in landings]

    assert sent == [1] * 5 + [0] * 2


async def test_the_entry_pages_link_to_the_request(landing: LandingHarness) -> None:
    pages = [await landing.browser.get(path) for path in ("/q", f"/q/{'A' * 22}", "/claim")]
    assert all('href="/q/new-link"' in page.text for page in pages)


async def _post(landing: LandingHarness, contact: str) -> None:
    answer = await landing.browser.post("/q/new-link", reference="INV-1001", contact=contact)
    assert answer.status_code == 303


async def _count_waiting(landing: LandingHarness) -> int:
    [row] = await landing.payments.harness.rows("SELECT count(*) FROM link_requests WHERE $1 > 0")
    count: int = row["count"]
    return count
