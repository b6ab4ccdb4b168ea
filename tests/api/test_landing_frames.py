"""What every page has: the choice of a language, the creditor, and its size."""

import re
from html import unescape
from typing import Any, cast

import httpx
import pytest
from starlette.applications import Starlette

from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.interfaces.landing.application import build_landing_routes
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import ORIGIN
from tests.support.landing import LandingHarness, a_landing
from tests.support.landing_plans import AGREEING, LATER_CHECK, OFFERING, PLAN_CHECK, ask, enter
from tests.support.one_claim import OneClaim

_MAX_BYTES = 15 * 1024
_MANY: dict[str, Any] = {
    "items": [
        {"reference": f"RE-2026-{number:04}", "type": "PRIMARY", "value": "10240",
         "dueDate": "2026-02-10"}
        for number in range(100)
    ]
}  # fmt: skip


class BrokenPrinter:
    """A printer that always fails."""

    async def print_paper(self, _paper: object) -> bytes:
        raise RuntimeError("out of paper")


def _find_choice(page: httpx.Response, language: str) -> str:
    found = re.search(rf'<a href="([^"]*)" lang="{language}"', page.text)
    assert found is not None
    return str(page.url.copy_with(query=None)) + unescape(found[1])


@pytest.mark.parametrize(
    ("path", "heading"),
    [
        (PLAN_CHECK, "Please check your payment plan"),
        (LATER_CHECK, "Please check the new date"),
        ("/claim", "Your outstanding"),
    ],
)
async def test_the_choice_of_a_language_keeps_what_was_chosen_before(
    resources: Resources, clock: MovableClock, path: str, heading: str
) -> None:
    async with a_landing(resources, clock, configuration=OFFERING) as landing:
        await enter(landing)
        german = await landing.browser.get(path)
        english = await landing.browser.get(_find_choice(german, "en"))
        back = await landing.browser.get(_find_choice(english, "de"))

    assert english.status_code == 200
    assert heading in english.text
    assert dict(back.url.params) == {**dict(german.url.params), "lang": "de"}


async def test_values_in_an_address_are_escaped_in_links(landing: LandingHarness) -> None:
    await landing.open()
    hostile = {'"><script>': "'><img src=x>", "lang": "en"}
    page = await landing.browser.get("/claim", params=hostile)

    assert "<script>" not in page.text
    assert "<img" not in page.text
    assert _find_choice(page, "de").count("%3Cscript%3E") == 1


async def test_after_an_internal_error_the_page_names_the_creditor(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_landing(resources, clock, configuration=AGREEING) as landing:
        await enter(landing)
        agreed = await ask(landing)
        press = cast("LetterPrinter", BrokenPrinter())
        routes = build_landing_routes(resources, landing.payments.providers, printer=press)
        app = Starlette(routes=routes)
        transport = OneClaim(httpx.ASGITransport(app))
        async with httpx.AsyncClient(
            transport=transport, base_url=ORIGIN, cookies=landing.browser.http.cookies
        ) as http:
            page = await http.get(f"{agreed.url.path}/pdf")

    assert page.status_code == 500
    assert 'href="tel:+49401234560"' in page.text
    assert "out of paper" not in page.text


async def test_the_page_of_a_claim_with_a_hundred_items_is_small(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_landing(resources, clock, debtor=_MANY) as landing:
        page = await landing.browser.type_code(await landing.give_code())
        loaded = re.findall(r'(?:href|src)="(/claim/(?:style|script)/[^"]*)"', page.text)
        rest = [await landing.browser.http.get(path) for path in loaded]
        plain = await landing.browser.http.get("/claim", headers={"Accept-Encoding": "identity"})
        asked = await landing.browser.http.get("/claim?amount=1")

    assert page.text.count("RE-2026-") >= 100
    assert sum(each.num_bytes_downloaded for each in (page, *rest)) <= _MAX_BYTES
    assert plain.text == page.text
    assert "Content-Encoding" not in plain.headers
    assert "Content-Encoding" not in asked.headers
