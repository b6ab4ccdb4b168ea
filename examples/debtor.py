"""A debtor in the demo: opens the link in a message, pays on the page and opens the receipt."""

from examples.page import Browser, PageBroken
from examples.progress import DemoFailed, print_line

_INDENT = " " * 14


async def pay_on_page(link: str, reference: str) -> None:
    """Pay the claim on Dunwell's and the payment provider's pages, as a debtor's browser does."""
    async with Browser() as browser:
        try:
            await browser.open(link)
            _print_page(reference, browser)
            await browser.press("Show the details")
            _print_page(reference, browser)
            await browser.press("Pay now")
            await browser.press("Continue to")
            _print_page(reference, browser)
            await browser.press("Pay")
            _print_page(reference, browser)
            await browser.press("Show the receipt")
            _print_page(reference, browser)
        except PageBroken as error:
            raise DemoFailed(f"the debtor could not pay: {error}") from error


def _print_page(reference: str, browser: Browser) -> None:
    print_line(f"{_INDENT}{'page':<11}{reference}  {browser.heading}")
