"""Every page that can help shows a phone number: the creditor's, or the operator's if no creditor
is known."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import DatabaseAway
from dunwell.platform.resources import Resources
from tests.support.broken_database import pages_over
from tests.support.landing import LandingHarness, a_landing

_OURS = '<a href="tel:+493055501009"><bdi>+49 30 555 010-09</bdi></a>'
_THEIRS = 'href="tel:+49401234560"'
_SAID = {
    "en": "Can you not find the number? Call us:",
    "de": "Finden Sie die Nummer nicht? Rufen Sie uns an:",
}


@pytest.fixture
def resources_with_phone(resources: Resources) -> Resources:
    """An installation with a phone number."""
    settings = replace(resources.settings, contact_phone="+49 30 555 010-09")
    return replace(resources, settings=settings)


@pytest.fixture
async def landing(
    resources_with_phone: Resources, clock: MovableClock
) -> AsyncIterator[LandingHarness]:
    async with a_landing(resources_with_phone, clock) as landing:
        yield landing


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/q", 200), (f"/q/{'A' * 22}", 410), ("/claim", 403), ("/claim/ended", 200),
        ("/claim/nothing", 404), ("/q/new-link", 200), ("/q/new-link/sent", 200), ("/real", 200),
    ],
)  # fmt: skip
async def test_without_a_creditor_the_operators_number_is_shown(
    landing: LandingHarness, path: str, status: int, language: str
) -> None:
    page = await landing.browser.get(f"{path}?lang={language}")

    assert page.status_code == status
    _shows_operators_number(page, language)


async def test_the_operators_number_is_shown_after_too_many_codes(landing: LandingHarness) -> None:
    pages = [await landing.browser.type_code(f"0000-0000-000{n}") for n in range(6)]
    assert pages[-1].status_code == 429
    _shows_operators_number(pages[-1])


@pytest.mark.parametrize(
    ("error", "status"), [(DatabaseAway("away"), 503), (RuntimeError("fault"), 500)]
)
async def test_the_operators_number_is_shown_on_error_pages(
    resources_with_phone: Resources, error: Exception, status: int
) -> None:
    async with pages_over(resources_with_phone, error) as http:
        page = await http.get("/q/abc")

    assert page.status_code == status
    _shows_operators_number(page)


async def test_with_a_creditor_its_number_is_shown(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await landing.open()
    pages = [await landing.browser.get(path) for path in ("/claim", "/claim/nothing")]
    clock.advance(timedelta(hours=2))
    pages.append(await landing.browser.get("/claim"))

    assert [page.status_code for page in pages] == [200, 404, 403]
    for page in pages:
        assert _THEIRS in page.text
        assert _OURS not in page.text


async def test_without_an_operators_number_none_is_shown(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_landing(resources, clock) as landing:
        pages = [await landing.browser.get(path) for path in ("/q", "/claim", "/claim/nothing")]

    assert not any("tel:" in page.text or _SAID["en"] in page.text for page in pages)


def _shows_operators_number(page: httpx.Response, language: str = "en") -> None:
    assert f"{_SAID[language]} {_OURS}" in page.text
    assert _THEIRS not in page.text
