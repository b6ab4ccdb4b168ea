"""A debtor with a phone: opens the link from a message, looks, pays, and keeps the receipt."""

from examples.page import Browser, PageBroken
from examples.story import StoryBroken, say

_INDENT = " " * 14


async def pay_on_page(link: str, reference: str) -> None:
    """All of it on Dunwell's pages and the provider's, as a browser would."""
    async with Browser() as browser:
        try:
            await browser.open(link)
            _note(reference, browser)
            await browser.press("Show the details")
            _note(reference, browser)
            await browser.press("Pay now")
            await browser.press("Continue to")
            _note(reference, browser)
            await browser.press("Pay")
            _note(reference, browser)
            await browser.press("Show the receipt")
            _note(reference, browser)
        except PageBroken as error:
            raise StoryBroken(f"the debtor could not pay: {error}") from error


def _note(reference: str, browser: Browser) -> None:
    say(f"{_INDENT}{'page':<11}{reference}  {browser.heading}")
