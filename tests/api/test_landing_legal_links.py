"""Every page links to the legal notice, the privacy notice and the accessibility statement, with
and without an open claim."""

import re
from html import unescape

import pytest

from tests.support.debtor_disputes import sign_in_with_letter_code
from tests.support.landing import LandingHarness

_PARTS = {"legal": "Impressum", "privacy": "Datenschutz", "accessibility": "Barrierefreiheit"}
_OUTSIDE = [
    "/", "/q", "/q/new-link", "/q/new-link/sent", "/real", "/imprint", "/impressum",
    "/q/AAAAAAAAAAAAAAAAAAAAAA", "/claim", "/claim/ended", "/claim/nothing", "LINK",
]  # fmt: skip
_INSIDE = [
    "/claim", "/claim/pay", "/claim/options", "/claim/help", "/claim/dispute", "/claim/notices",
    "/claim/preferences", "/claim/nothing", "/real", "/",
]  # fmt: skip


async def check_links(landing: LandingHarness, path: str, shown: str) -> None:
    page = await landing.browser.get(f"{path}?lang=de")
    found = {
        name: re.findall(rf'<a href="([^"#]*)#{name}">{words}</a>', page.text)
        for name, words in _PARTS.items()
    }
    assert {name: len(links) for name, links in found.items()} == dict.fromkeys(_PARTS, 1)
    for name, [address] in found.items():
        notices = await landing.browser.get(unescape(address))
        assert notices.status_code == 200
        assert f'id="{name}"' in notices.text
        assert shown in notices.text


@pytest.mark.parametrize("path", _OUTSIDE)
async def test_the_legal_notices_are_linked_without_a_claim(
    landing: LandingHarness, path: str
) -> None:
    address = await landing.give_link() if path == "LINK" else path
    shown = "gezeigt für:" if path == "LINK" else "Diese Seite wird für die Firma gezeigt"
    await check_links(landing, address, shown)


@pytest.mark.parametrize("path", _INSIDE)
async def test_the_legal_notices_of_an_open_claim_name_its_creditor(
    landing: LandingHarness, path: str
) -> None:
    await sign_in_with_letter_code(landing)
    shown = "Diese Seite wird gezeigt für:" if path.startswith("/claim") else "Diese Seite wird"
    await check_links(landing, path, shown)
