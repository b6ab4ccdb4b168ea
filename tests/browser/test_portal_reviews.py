"""A clerk reviews movements of money in Chromium: from the overview to the movement, what to check,
the payment that it changed, and back."""

from uuid import UUID

import pytest
from playwright.async_api import expect

from dunwell.cases.payments.provider import MoneyMovement, MovementKind
from dunwell.cases.payments.refunds.store import RefundRefusal, save_refusal
from tests.browser.browser_page import Tabs
from tests.browser.html_checker import HtmlChecker
from tests.browser.page_checks import list_loose_ends
from tests.browser.site import RunningApplication
from tests.browser.test_portal_money import SignedInPage, open_portal
from tests.support.refunds import order, send

_PAYMENTS = """
SELECT payment_id FROM payments WHERE merchant_id = $1 AND request_id IS NOT NULL
"""


async def _let_money_go_wrong(tab: SignedInPage) -> UUID:
    """Let one refund be refused and another fail, and the debtor pay again in another currency.
    Return the payment."""
    payments = tab.site.payments
    owed = (await payments.harness.read(payments.claim_id)).balance.outstanding_cents
    started = await payments.start(owed)
    payments.pays(owed + 1760)
    await payments.settle(started.request_id)
    [row] = await payments.harness.rows(_PAYMENTS)
    refund = await order(payments, row["payment_id"])
    await send(payments)
    number = f"refund-{refund.refund_id}"
    payments.moves(
        MoneyMovement(number, MovementKind.REFUNDED, 1760, "EUR", payments.now),
        MoneyMovement(number, MovementKind.REFUND_FAILED, 1760, "EUR", payments.now),
        MoneyMovement("ch_3PqK9z", MovementKind.PAID, 4900, "USD", payments.now),
    )
    await payments.settle(started.request_id)
    refused = await order(payments, row["payment_id"], amount_cents=500)
    async with payments.resources.database.transaction() as tx:
        await save_refusal(
            tx, payments.merchant_id, refused.refund_id, RefundRefusal.PROVIDER,
            text="The balance of your account is too low.",
        )  # fmt: skip
    payment_id: UUID = row["payment_id"]
    return payment_id


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
async def test_the_page_of_movements_to_review_is_accessible_and_fits(
    tabs: Tabs, application: RunningApplication, html_checker: HtmlChecker, locale: str
) -> None:
    async with open_portal(tabs, application, locale=locale) as tab:
        payment_id = await _let_money_go_wrong(tab)
        pages = {"review": "/payments/review", "payment-failed-refund": f"/payments/{payment_id}"}
        for name, path in pages.items():
            source = await tab.go(path)
            assert await html_checker.list_faults(source) == []
            assert [*list_loose_ends(source, "default-src 'none'")] == []
            await tab.check_page(f"{name}-{locale[:2]}")
        assert tab.complaints == []


@pytest.mark.parametrize("width", [390, 1280])
async def test_a_clerk_reviews_a_failed_refund_and_money_in_another_currency_with_the_keyboard(
    tabs: Tabs, application: RunningApplication, width: int
) -> None:
    async with open_portal(tabs, application, width=width) as tab:
        await _let_money_go_wrong(tab)
        page, main = tab.page, tab.page.locator("main")
        await tab.go("")
        await tab.press("Movements of money that need review")
        await expect(main).to_contain_text("The provider rejected the refund")
        await expect(main).to_contain_text("The balance of your account is too low")
        await expect(main).to_contain_text("The refund did not reach the debtor")
        await expect(main).to_contain_text("The money is in another currency than the claim")
        await expect(main).to_contain_text("$49.00")
        rows = main.locator("section")
        assert await rows.count() == 3
        # The refund's payment says that the refund failed, and offers to refund again.
        failed = rows.filter(has_text="did not reach the debtor")
        await failed.get_by_role("link", name="View payment").focus()
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        await expect(main).to_contain_text("failed, money is back")
        await expect(page.get_by_role("button", name="Refund €17.60")).to_be_visible()
        await page.go_back()
        for left in (2, 1, 0):
            await tab.press("Mark as reviewed")
            await expect(page.get_by_role("status").first).to_contain_text("Marked as reviewed.")
            assert await rows.count() == left
        await expect(main).to_contain_text("All done.")
        await tab.go("")
        for kind in ("Movements of money that need review", "Refunds that were not made"):
            assert kind not in await main.inner_text()
        assert tab.complaints == []
