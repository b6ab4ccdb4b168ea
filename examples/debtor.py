"""Debtors in the demo. One opens the link in a message, pays on the page and opens the receipt; one
agrees to a payment plan and gives a mandate for direct debits."""

from examples.page import Browser, PageBroken
from examples.progress import DemoFailed, print_line

_INDENT = " " * 14
# An example of the Bundesbank.
_DEBTOR_IBAN = "DE02 1203 0000 0000 2020 51"


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


async def give_mandate(link: str, reference: str, postal_code: str) -> None:
    """Agree to two instalments, and give a mandate to debit them from the debtor's account."""
    async with Browser() as browser:
        try:
            await browser.open(link)
            await browser.press("Show the details")
            _print_page(reference, browser)
            await browser.press("I cannot pay all of it now")
            await browser.press("Pay in instalments")
            await browser.press("Continue", fact=postal_code)
            _print_page(reference, browser)
            await browser.press("Check the payment plan", offer="2")
            await browser.press("Agree to this payment plan")
            _print_page(reference, browser)
            await browser.press("Give or view the mandate")
            await browser.press("Give the mandate", holder="Olivia Marsh", iban=_DEBTOR_IBAN)
            _print_page(reference, browser)
        except PageBroken as error:
            raise DemoFailed(f"the debtor could not give a mandate: {error}") from error


def _print_page(reference: str, browser: Browser) -> None:
    print_line(f"{_INDENT}{'page':<11}{reference}  {browser.heading}")
