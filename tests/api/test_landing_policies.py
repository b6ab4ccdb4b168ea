"""Links that require a proof before they open, according to the merchant's policy."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import LandingPage
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.guarded_landing import (
    NUMBER,
    ON_FILE,
    a_guarded_landing,
    levels,
    list_notices,
    read_sent_code,
)
from tests.support.landing import LandingHarness, a_landing
from tests.support.payments import PAYING

_BORN = {"born_day": "27", "born_month": "3", "born_year": "1984"}
_TRIES = "SELECT FROM link_request_counts WHERE $1::integer IS NOT NULL"


@pytest.mark.parametrize(
    ("proof", "label", "right"),
    [
        ("POSTAL_CODE", "Postleitzahl Ihrer Adresse", {"fact": "20 095"}),
        ("DATE_OF_BIRTH", "Ihr Geburtsdatum", _BORN),
        ("CUSTOMER_NUMBER", "Ihre Kundennummer", {"fact": "k4711"}),
        ("CONTRACT_NUMBER", "Ihre Vertragsnummer", {"fact": "V 2024/9"}),
    ],
)
async def test_a_link_asks_for_a_known_fact_and_opens_with_it(
    resources: Resources, clock: MovableClock, proof: Any, label: str, right: dict[str, str]
) -> None:
    async with a_guarded_landing(resources, clock, proof) as landing:
        link = await landing.give_link()
        page = await landing.browser.get(link)
        opened = await landing.browser.submit(link, **right)

        assert label in page.text
        assert (opened.status_code, opened.url.path) == (200, "/claim")
        assert await levels(landing) == ["FACT"]
        [details] = await landing.accesses()
        assert details["communicationType"] == "EMAIL"


async def test_a_link_that_asks_for_a_fact_shows_nothing_of_the_claim(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "POSTAL_CODE") as landing:
        link = await landing.give_link()
        pages = [await landing.browser.get(link), await landing.browser.post(link, fact="20096")]

    for page in pages:
        assert not any(
            secret in page.text
            for secret in ("102,40", "INV-1001", "Erika", "Mustermann", "20095", "K-4711", "E.")
        )


async def test_every_wrong_fact_gets_the_same_response(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "POSTAL_CODE") as landing:
        link = await landing.give_link()
        pages = [
            await landing.browser.post(link, **fields)
            for fields in ({"fact": "20096"}, {"fact": "x" * 300}, {"fact": ""}, {}, _BORN)
        ]

        assert {page.status_code for page in pages} == {422}
        assert len({page.text for page in pages}) == 1
        assert 'aria-invalid="true"' in pages[0].text
        assert await landing.accesses() == []
        assert landing.browser.cookie is None


async def test_a_fact_that_is_not_on_file_is_not_asked_for(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(
        resources, clock, "DATE_OF_BIRTH", "CUSTOMER_NUMBER", dateOfBirth=None
    ) as landing:
        page = await landing.browser.get(await landing.give_link())

    assert "Ihre Kundennummer" in page.text
    assert "Geburtsdatum" not in page.text


async def test_each_channel_has_its_own_policy(resources: Resources, clock: MovableClock) -> None:
    page = LandingPage(verification={"SMS": ("POSTAL_CODE",)})
    configuration = msgspec.structs.replace(PAYING, landing_page=page)
    async with a_landing(resources, clock, configuration=configuration, debtor=ON_FILE) as landing:
        asked = [
            "Postleitzahl" in (await landing.browser.get(await landing.give_link(channel))).text
            for channel in ("EMAIL", "SMS", "LETTER")
        ]
        refused = await landing.browser.post(await landing.give_link("SMS"))

    assert asked == [False, True, False]
    assert refused.status_code == 422


async def test_the_sixth_fact_is_not_checked_and_a_phone_number_is_shown(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "POSTAL_CODE") as landing:
        links = [await landing.give_link() for _ in range(2)]
        for number in range(5):
            visitor = landing.visitor(f"203.0.113.{number}")
            wrong = await visitor.post(links[number % 2], fact=f"1000{number}")
            assert wrong.status_code == 422

        locked = await landing.browser.post(links[0], fact="20095")

        assert locked.status_code == 429
        assert locked.headers["Retry-After"] == str(30 * 60)
        assert locked.text.count('href="tel:+49401234560"') == 2
        assert "In 30 Minuten" in locked.text
        clock.advance(timedelta(minutes=30))
        assert (await landing.browser.post(links[0], fact="20095")).status_code == 303


async def test_the_page_of_a_locked_claim_shows_the_waiting_time(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "POSTAL_CODE") as landing:
        link = await landing.give_link()
        pages = [await landing.browser.post(link, fact="1") for _ in range(6)]
    assert [page.status_code for page in pages] == [422] * 5 + [429]
    assert pages[5].headers["Retry-After"] == str(30 * 60)


async def test_a_code_sent_to_the_address_on_file_opens_all_details(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "CODE", mobileNumber=NUMBER) as landing:
        link = await landing.give_link()
        page = await landing.browser.get(link)
        field = await landing.browser.submit(f"{link}/send")
        code = await read_sent_code(landing)
        opened = await landing.browser.submit(f"{link}/code", code=f"{code[:3]} {code[3:]}")

        assert NUMBER[-4:] not in page.text + field.text
        assert field.url.path == f"{link}/code"
        assert (opened.status_code, opened.url.path) == (200, "/claim")
        [notice] = await list_notices(landing)
        assert (notice["kind"], notice["channel"], notice["recipient"]) == ("CODE", "SMS", NUMBER)
        assert code not in notice["body_text"]
        assert await levels(landing) == ["CODE"]
        [details] = await landing.accesses()
        assert details["communicationType"] == "EMAIL"


async def test_a_double_click_on_a_code_opens_one_session_without_a_wrong_attempt(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "CODE", mobileNumber=NUMBER) as landing:
        link, browser = await landing.give_link(), landing.browser
        await browser.post(f"{link}/send")
        code = await read_sent_code(landing)
        first = await browser.post(f"{link}/code", code=code)
        again = await browser.post(f"{link}/code", code=code)
        # The browser may not have received the first response and its cookie.
        bare = await landing.visitor("192.0.2.1").post(f"{link}/code", code=code)

        answers = [first, again, bare]
        assert [each.headers.get("Location") for each in answers] == ["/claim"] * 3
        assert len({each.cookies["dunwell"] for each in answers}) == 3
        assert len(await landing.accesses()) == 1
        assert await landing.payments.harness.rows(_TRIES) == []

        clock.advance(timedelta(seconds=10))
        late = await landing.visitor("192.0.2.1").post(f"{link}/code", code=code)
        assert late.status_code == 422
        assert await levels(landing) == ["CODE"]


async def test_a_used_code_does_not_reopen_an_ended_session(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "CODE") as landing:
        link, browser = await landing.give_link(), landing.browser
        await browser.post(f"{link}/send")
        code = await read_sent_code(landing)
        await browser.post(f"{link}/code", code=code)
        await browser.get("/claim")
        await browser.submit("/claim/end")

        again = await browser.post(f"{link}/code", code=code)

        assert (again.status_code, "set-cookie" in again.headers) == (422, False)


async def test_without_facts_on_file_the_page_names_the_phone_and_the_letter(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(
        resources, clock, "POSTAL_CODE", address=None, email=None
    ) as landing:
        link = await landing.give_link()
        page = await landing.browser.get(link)
        posted = [await landing.browser.post(f"{link}{end}") for end in ("", "/send", "/code")]

        assert "<form" not in page.text
        assert page.text.count('href="tel:+49401234560"') == 2
        assert [each.status_code for each in posted] == [200, 303, 303]
        assert await levels(landing) == []


@pytest.mark.parametrize("end", ["", "/send", "/code"])
async def test_a_dead_link_asks_for_nothing(landing: LandingHarness, end: str) -> None:
    answers = [await landing.browser.post(f"/q/{'A' * 22}{end}", fact="20095", code="123456")]
    if end != "/send":
        answers.append(await landing.browser.get(f"/q/{'A' * 22}{end}"))
    assert {answer.status_code for answer in answers} == {410}
