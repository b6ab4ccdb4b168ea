"""The start page, and addresses that recipients of a message may type."""

import pytest

from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.landing import LandingHarness
from tests.support.operators import AGENCY

_BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Language": "de"}
_SAID = "Haben Sie Post von uns?"


async def test_the_start_page_links_to_all_entry_pages(landing: LandingHarness) -> None:
    page = await landing.browser.get("/", headers=_BROWSER)
    assert page.status_code == 200
    assert _SAID in page.text
    for address in ("/q", "/q/new-link", "/real", "/imprint", "/docs", "?lang=en"):
        assert f'"{address}"' in page.text, address


async def test_the_start_page_is_in_the_visitors_language(landing: LandingHarness) -> None:
    pages = [
        await landing.browser.get("/", headers={"Accept-Language": "en"}),
        await landing.browser.get("/?lang=en", headers={"Accept-Language": "de"}),
    ]
    assert all("Have you had a message from us?" in page.text for page in pages)


async def test_a_code_entered_on_the_start_page_opens_the_claim(landing: LandingHarness) -> None:
    code = await landing.give_code()
    await landing.browser.get("/")
    page = await landing.browser.submit("/q", code=code)
    assert "102,40" in page.text


async def test_the_start_page_names_the_operator(
    resources: Resources, landing: LandingHarness
) -> None:
    an_application(resources).operator = AGENCY
    try:
        page = await landing.browser.get("/", headers=_BROWSER)
    finally:
        an_application(resources).operator = None
    assert "Kontor Inkasso GmbH zieht offene Beträge für andere Firmen ein." in page.text
    assert "2026/01-INK" in page.text
    assert "rdg@bfj.example" in page.text


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("/Q", 'class="code"'),
        ("/REAL", "Ist das echt?"),
        ("/Real/", "Ist das echt?"),
        ("/Q/New-Link", "Neuen Link anfordern"),
        ("/impressum", "Impressum"),
        ("/Imprint", "Impressum"),
        ("/IMPRESSUM", "Impressum"),
    ],
)
async def test_addresses_are_accepted_in_any_case(
    landing: LandingHarness, typed: str, expected: str
) -> None:
    page = await landing.browser.get(typed, headers=_BROWSER)
    assert page.status_code == 200
    assert expected in page.text


async def test_a_links_token_is_case_sensitive(landing: LandingHarness) -> None:
    link = await landing.give_link()
    page = await landing.browser.get(link.replace("/q/", "/Q/"))
    assert page.status_code == 200
    assert (await landing.browser.get(link.swapcase())).status_code == 410


@pytest.mark.parametrize("path", ["/pay", "/index.html", "/real/x", "/%F0%9F%99%82"])
async def test_a_browser_at_an_unknown_address_gets_a_page(
    landing: LandingHarness, path: str
) -> None:
    page = await landing.browser.get(path, headers=_BROWSER)
    assert page.status_code == 404
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "Diese Seite gibt es nicht" in page.text
    for address in ("/q", "/q/new-link", "/real", "/"):
        assert f'href="{address}"' in page.text, address


@pytest.mark.parametrize("accept", ["application/json", "*/*", ""])
async def test_a_program_at_an_unknown_address_gets_a_json_error(
    landing: LandingHarness, accept: str
) -> None:
    answer = await landing.browser.get("/pay", headers={"Accept": accept})
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFound")


async def test_the_api_answers_browsers_with_json_too(landing: LandingHarness) -> None:
    answer = await landing.browser.get("/api/pay", headers=_BROWSER)
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFound")
