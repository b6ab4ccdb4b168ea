"""How to reach each page of payment plans, deferrals and pauses."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import msgspec

from dunwell.cases.modalities.answer_modality import reject_modality
from tests.browser.browser_page import Visit
from tests.browser.page_checks import follow
from tests.support.debit_plans import DEBIT
from tests.support.notice_sending import send_due_notices

Reach = Callable[[Visit], Awaitable[None]]

_OFFER = """
UPDATE merchants
SET revision = revision + 1,
    configuration = jsonb_set(configuration::jsonb, '{modalities}', $2)
WHERE merchant_id = $1
"""
_OFFERED: dict[str, dict[str, Any]] = {
    "plan": {"minRate": "2000", "autoApprove": False},
    "deferment": {"maxDays": 42, "autoApprove": False},
}
_AT_ONCE = {kind: {**bounds, "autoApprove": True} for kind, bounds in _OFFERED.items()}
_ASKED = "SELECT modality_id FROM payment_modalities WHERE merchant_id = $1"
_PLAN = "/claim/plan/check?offer=12"
_OWN_DAY = "/claim/later/check?until=own"
_DAY = "/claim/later/check?until=2026-04-01"


async def _see(visit: Visit, path: str, offered: object = _OFFERED) -> None:
    """Open the page with a letter's code, at a merchant that offers plans and deferrals."""
    await visit.site.payments.harness.rows(_OFFER, offered)
    await visit.enter()
    await visit.go(path)


async def _ask(visit: Visit, path: str, offered: object = _OFFERED) -> None:
    await _see(visit, path, offered)
    await follow(visit.page.locator("main form button").first)


async def _pay_some(visit: Visit) -> None:
    await _ask(visit, _PLAN, _AT_ONCE)
    await visit.site.payments.harness.pay(visit.site.claim_id, 15000)
    await visit.page.reload()


async def _reject(visit: Visit) -> None:
    await _ask(visit, _PLAN)
    harness = visit.site.payments.harness
    [asked] = await harness.rows(_ASKED)
    async with harness.work() as work:
        await reject_modality(
            work, visit.site.claim_id, asked["modality_id"],
            reason="Zwölf Raten sind uns zu lang. Sechs wären möglich.",
        )  # fmt: skip
    await visit.page.reload()


async def _see_refused(visit: Visit, path: str) -> None:
    await _ask(visit, path)
    harness = visit.site.payments.harness
    [asked] = await harness.rows(_ASKED)
    async with harness.work() as work:
        await reject_modality(
            work, visit.site.claim_id, asked["modality_id"],
            reason="Das ist uns zu lang. Bitte rufen Sie uns an, wenn es anders nicht geht.",
        )  # fmt: skip
    await visit.go("/claim")


async def _see_late(visit: Visit, path: str | None = None) -> None:
    await _ask(visit, _PLAN)
    address = path or visit.page.url
    visit.site.clock.advance(timedelta(days=4))
    await visit.site.payments.harness.run()
    await visit.enter()
    await visit.page.goto(visit.site.origin + address if path else address)


async def _withdraw(visit: Visit, *, is_sure: bool) -> None:
    await _ask(visit, _PLAN)
    await follow(visit.page.locator("main section a").last)
    if is_sure:
        await follow(visit.page.locator("main form button"))


async def _break(visit: Visit) -> None:
    await _ask(visit, _PLAN, _AT_ONCE)
    address = visit.page.url
    visit.site.clock.advance(timedelta(days=23))
    await visit.site.payments.harness.run()
    await visit.enter()
    await visit.page.goto(address)


async def _see_broken(visit: Visit, *, is_announced: bool) -> None:
    await _break(visit)
    if is_announced:
        await send_due_notices(visit.site.payments.harness)
    await visit.go("/claim")


async def _change(visit: Visit) -> None:
    await _see(visit, _PLAN)
    await visit.site.payments.harness.pay(visit.site.claim_id, 790)
    await follow(visit.page.locator("main form button").first)


async def _pause_again(visit: Visit) -> None:
    await _ask(visit, "/claim/help")
    visit.site.clock.advance(timedelta(days=20))
    await visit.site.payments.harness.run()
    await visit.enter()
    await visit.go("/claim/help")
    await follow(visit.page.locator("main form button").first)


async def _help_by_link(visit: Visit) -> None:
    await visit.page.goto(await visit.site.link())
    await follow(visit.page.locator("main button").first)
    await visit.go("/claim/help")


_DEBIT = """
UPDATE merchants
SET revision = revision + 1,
    configuration = jsonb_set(configuration::jsonb, '{payment,directDebit}', $2)
WHERE merchant_id = $1
"""


async def _give_mandate(visit: Visit, iban: str | None = None) -> None:
    """Open the form of an agreed plan, and send it if an IBAN is given."""
    await visit.site.payments.harness.rows(_DEBIT, msgspec.to_builtins(DEBIT))
    await _ask(visit, _PLAN, _AT_ONCE)
    await visit.page.goto(f"{visit.page.url.partition('?')[0]}/mandate")
    if iban is not None:
        await visit.page.fill("#holder", "Hildegard Müller-Lüdenscheidt")
        await visit.page.fill("#iban", iban)
        await follow(visit.page.locator("main form button").first)


PLAN_STATES: dict[str, Reach] = {
    "options": lambda visit: _see(visit, "/claim/options"),
    "options-none": lambda visit: _see(visit, "/claim/options", {}),
    "plan": lambda visit: _see(visit, "/claim/plan"),
    "plan-check-long": lambda visit: _see(visit, "/claim/plan/check?offer=12"),
    "plan-errors": lambda visit: _see(
        visit,
        "/claim/plan/check?offer=own&monthly_amount=zehn&first_day=31&first_month=2&first_year=2026",
    ),
    "plan-check": lambda visit: _see(visit, _PLAN),
    "plan-check-at-once": lambda visit: _see(visit, _PLAN, _AT_ONCE),
    "plan-changed": _change,
    "mandate": _give_mandate,
    "mandate-errors": lambda visit: _give_mandate(visit, "DE02 1203 0000 0000 2020 52"),
    "mandate-given": lambda visit: _give_mandate(visit, "DE02 1203 0000 0000 2020 51"),
    "plan-requested": lambda visit: _ask(visit, _PLAN),
    "plan-agreed": _pay_some,
    "plan-rejected": _reject,
    "plan-withdraw": lambda visit: _withdraw(visit, is_sure=False),
    "plan-withdrawn": lambda visit: _withdraw(visit, is_sure=True),
    "plan-broken": _break,
    "claim-plan-refused": lambda visit: _see_refused(visit, _PLAN),
    "claim-deferment-refused": lambda visit: _see_refused(visit, _DAY),
    "claim-request-late": lambda visit: _see_late(visit, "/claim"),
    "plan-requested-late": _see_late,
    "claim-plan-broken": lambda visit: _see_broken(visit, is_announced=False),
    "claim-plan-broken-told": lambda visit: _see_broken(visit, is_announced=True),
    "later": lambda visit: _see(visit, "/claim/later"),
    "later-lost-day": lambda visit: _see(visit, f"{_OWN_DAY}&on_day=31&on_month=2&on_year=2026"),
    "later-out-of-range": lambda visit: _see(visit, f"{_OWN_DAY}&on_day=1&on_month=1&on_year=2027"),
    "later-no-day": lambda visit: _see(visit, "/claim/later/check"),
    "later-check": lambda visit: _see(visit, _DAY),
    "later-agreed": lambda visit: _ask(visit, _DAY, _AT_ONCE),
    "help": lambda visit: _see(visit, "/claim/help"),
    "help-paused": lambda visit: _ask(visit, "/claim/help"),
    "help-refused": _pause_again,
    "help-by-link": _help_by_link,
}
