"""All states of the debtor's pages by name, each with the function that leads a visitor to it."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from tests.browser.browser_page import Visit
from tests.browser.claim_states import CLAIM_STATES
from tests.browser.dispute_states import DISPUTE_STATES
from tests.browser.entry_states import ENTRY_STATES
from tests.browser.front_states import FRONT_STATES
from tests.browser.page_checks import follow
from tests.browser.paying_states import PAYING_STATES
from tests.browser.plan_states import PLAN_STATES

Reach = Callable[[Visit], Awaitable[None]]


async def _type(visit: Visit, code: str) -> None:
    await visit.go("/q")
    await visit.page.locator("#code").fill(code)
    await follow(visit.page.locator("main button"))


async def _pay(visit: Visit, decision: str) -> None:
    await visit.enter()
    await visit.go("/claim/pay")
    await follow(visit.page.locator("main button"))
    await follow(visit.page.locator(f"button[value={decision}]"))


async def _set_status(visit: Visit, status: str) -> None:
    await visit.enter()
    await visit.site.payments.end_claim(status)
    await visit.go("/claim")


async def _hold(visit: Visit, kind: str, days: int | None) -> None:
    await visit.enter()
    await visit.site.hold(kind, days)
    await visit.go("/claim")


async def _wait(visit: Visit, minutes: int) -> None:
    await visit.enter()
    visit.site.clock.advance(timedelta(minutes=minutes))
    await visit.go("/claim")


async def _leave(visit: Visit) -> None:
    await visit.enter()
    await visit.go("/claim/pay")
    await follow(visit.page.locator("main button"))
    [request] = await visit.site.payments.harness.rows(
        "SELECT request_id FROM payment_requests WHERE merchant_id = $1"
    )
    await visit.go(f"/claim/return/{request['request_id']}")


async def _press_stale(visit: Visit) -> None:
    await visit.open()
    await visit.page.evaluate("document.querySelector('[name=token]').value = 'x'")
    await follow(visit.page.locator("footer button").first)


async def _exhaust(visit: Visit) -> None:
    for _ in range(2):
        await _type(visit, "0000-0000-0000")


async def _change(visit: Visit) -> None:
    await visit.enter()
    await visit.go("/claim/pay")
    await visit.site.payments.harness.pay(visit.site.claim_id, 790)
    await follow(visit.page.locator("main button"))


async def _pay_part(visit: Visit) -> None:
    await visit.site.payments.harness.pay(visit.site.claim_id, 30000)
    await visit.open()


async def _overpay(visit: Visit) -> None:
    await visit.site.payments.harness.pay(visit.site.claim_id, 140000)
    await visit.open()


STATES: dict[str, Reach] = {
    "code": lambda visit: visit.go("/q"),
    "code-wrong": lambda visit: _type(visit, "0000-0000-0000"),
    "code-locked": _exhaust,
    "link-dead": lambda visit: visit.go("/q/AAAAAAAAAAAAAAAAAAAAAA"),
    "absent": lambda visit: visit.go("/claim"),
    "timed-out": lambda visit: _wait(visit, 61),
    "ending-soon": lambda visit: _wait(visit, 56),
    "claim": Visit.open,
    "claim-paid-in-part": _pay_part,
    "claim-overpaid": _overpay,
    "claim-held": lambda visit: _hold(visit, "PAUSE", 9),
    "claim-disputed": lambda visit: _hold(visit, "DISPUTE", None),
    "claim-archived": lambda visit: _set_status(visit, "ARCHIVED"),
    "claim-withdrawn": lambda visit: _set_status(visit, "WITHDRAWN"),
    "pay-changed": _change,
    "back-left": _leave,
    "back-pending": lambda visit: _pay(visit, "pending"),
    "back-failed": lambda visit: _pay(visit, "fail"),
    "notices": lambda visit: visit.go("/claim/notices"),
    "not-found": lambda visit: visit.go("/claim/nothing"),
    "stale": _press_stale,
    **CLAIM_STATES,
    **FRONT_STATES,
    **DISPUTE_STATES,
    **ENTRY_STATES,
    **PAYING_STATES,
    **PLAN_STATES,
}
