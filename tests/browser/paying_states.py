"""How to reach each page of a payment, and its errors."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from tests.browser.browser_page import Visit
from tests.browser.page_checks import follow

Reach = Callable[[Visit], Awaitable[None]]

_TAKE = """
UPDATE merchants
SET revision = revision + 1,
    configuration = jsonb_set(configuration::jsonb, '{payment}', (configuration::jsonb -> 'payment')
        || '{"partial": {"min": "500", "items": true}, "bankAccount":
             {"iban": "DE02120300000000202051", "holder": "Nordwind Schuhe GmbH",
              "bic": "BYLADEM1001"}}')
WHERE merchant_id = $1
"""
_HELD_BEFORE = """
INSERT INTO holds
    (merchant_id, claim_id, hold_id, kind, since, until, actor_kind, lifted_at)
VALUES ($1, $2, $3, 'PAYMENT_PENDING', $4::timestamptz, $4::timestamptz + interval '3 days',
        'DEBTOR', $4::timestamptz + interval '3 days')
"""


async def _open(visit: Visit) -> None:
    """Open the claim with a letter's code, at a merchant that accepts parts, items and
    transfers."""
    await visit.site.payments.harness.rows(_TAKE)
    await visit.enter()


async def _see(visit: Visit, path: str) -> None:
    await _open(visit)
    await visit.go(path)


async def _press(visit: Visit, path: str) -> None:
    await _see(visit, path)
    await follow(visit.page.locator("main button").first)


async def _announce(visit: Visit, day: str, *, before: bool = False) -> None:
    site = visit.site
    if before:
        since = site.payments.now - timedelta(days=10)
        hold_id = site.payments.resources.ids.new(site.payments.now)
        await site.payments.harness.rows(_HELD_BEFORE, site.claim_id, hold_id, since)
    await _see(visit, "/claim/pay/sent?want=whole")
    await visit.page.locator(f"input[value='{day}']").check()
    await follow(visit.page.locator("main button").first)


async def _pay(visit: Visit, *, copy: bool = False) -> None:
    await _press(visit, "/claim/pay/method?cents=50000")
    await follow(visit.page.locator("button[value=pay]"))
    await follow(visit.page.locator("main .primary"))
    if copy:
        await follow(visit.page.locator("main form button"))


async def _choose_items(visit: Visit) -> None:
    await _see(visit, "/claim/pay")
    await visit.page.locator("input[name=item]").first.uncheck()
    await follow(visit.page.locator("main form button").last)


PAYING_STATES: dict[str, Reach] = {
    "pay-amount": lambda visit: _see(visit, "/claim/pay"),
    "pay-amount-unreadable": lambda visit: _see(
        visit, "/claim/pay/method?want=part&amount=f%C3%BCnfzig"
    ),
    "pay-amount-too-small": lambda visit: _see(visit, "/claim/pay/method?want=part&amount=4,99"),
    "pay-no-item": lambda visit: _see(visit, "/claim/pay/method?want=items"),
    "pay-method": lambda visit: _see(visit, "/claim/pay/method?want=whole"),
    "pay-method-part": lambda visit: _see(visit, "/claim/pay/method?cents=50000"),
    "pay-method-items": _choose_items,
    "transfer": lambda visit: _see(visit, "/claim/pay/transfer?want=whole"),
    "transfer-when": lambda visit: _see(visit, "/claim/pay/sent?want=whole"),
    "transfer-no-day": lambda visit: _announce(visit, "other"),
    "transfer-too-often": lambda visit: _announce(visit, "2026-03-02", before=True),
    "transfer-sent": lambda visit: _announce(visit, "2026-03-02"),
    "receipt-part": _pay,
    "receipt-copied": lambda visit: _pay(visit, copy=True),
}
