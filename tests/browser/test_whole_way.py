"""From the link in a message to the receipt, as a person goes it, at every width and language."""

import pytest
from playwright.async_api import expect

from tests.browser.html_checker import HtmlChecker
from tests.browser.judges import FITTING, follow, keep_screenshot, list_violations, measure
from tests.browser.visit import Visit

WORDS = {
    "de": {
        "open": "Forderung ansehen", "pay": "Jetzt zahlen", "go": "Weiter zu Sandbox",
        "received": "Wir haben Ihre Zahlung erhalten", "receipt": "Quittung zeigen",
        "back": "Zurück zur Forderung", "end": "Sitzung beenden",
        "ended": "Sie haben die Sitzung beendet",
    },
    "en": {
        "open": "Show my claim", "pay": "Pay now", "go": "Continue to Sandbox",
        "received": "We have received your payment", "receipt": "Show the receipt",
        "back": "Back to the claim", "end": "End session", "ended": "You have ended the session",
    },
}  # fmt: skip


@pytest.mark.parametrize("language", ["de", "en"])
@pytest.mark.parametrize("width", [320, 390, 1280])
async def test_from_the_link_to_the_receipt(
    visit: Visit, html_checker: HtmlChecker, width: int, language: str
) -> None:
    page, words = visit.page, WORDS[language]
    await page.set_viewport_size({"width": width, "height": 844})

    async def look(name: str) -> None:
        assert await html_checker.list_faults(await visit.read_source()) == []
        assert await measure(page) == FITTING
        await keep_screenshot(page, f"{name}-{width}-{language}")
        assert await list_violations(page) == []

    await page.goto(f"{await visit.site.link()}?lang={language}")
    await look("1-link")
    await follow(page.get_by_role("button", name=words["open"]))
    await look("2-claim")
    await follow(page.get_by_role("link", name=words["pay"]))
    await look("3-check")
    await follow(page.get_by_role("button", name=words["go"]))
    await follow(page.locator("button[value=pay], button[value=PAY]").first)
    await expect(page.get_by_role("heading", level=1)).to_have_text(words["received"])
    await look("4-received")
    await follow(page.get_by_role("link", name=words["receipt"]))
    await look("5-receipt")
    await follow(page.get_by_role("link", name=words["back"]))
    await look("6-paid")
    await follow(page.get_by_role("button", name=words["end"]))
    await expect(page.get_by_role("heading", level=1)).to_have_text(words["ended"])
    await look("7-ended")
