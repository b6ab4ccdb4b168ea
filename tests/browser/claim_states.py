"""How to reach each state of the claim page, and the pages of documents and preferences."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from dunwell.cases.assignment.assign_claims import start_assignment
from dunwell.cases.modalities.limits import Terms
from tests.browser.browser_page import Visit
from tests.browser.page_checks import follow
from tests.support.definitions import a_definition
from tests.support.disputes import dispute
from tests.support.documents import attach
from tests.support.files import an_image
from tests.support.guarded_landing import read_sent_code
from tests.support.modalities import DEFERMENT, PLAN, Arrangement

Reach = Callable[[Visit], Awaitable[None]]

_ALLOW = """
UPDATE merchants
SET revision = revision + 1, configuration = configuration::jsonb || $2::jsonb
WHERE merchant_id = $1
"""
_OFFERS: dict[str, Any] = {
    "modalities": {"plan": {"counts": [2, 3, 6]}, "deferment": {"maxDays": 30}},
    "payment": {"methods": [{"provider": "sandbox"}], "partial": {"min": "500"}},
}
_CONTACT: dict[str, Any] = {"kind": "COMMUNICATION", "channel": "EMAIL", "template": "reminder"}
_FEE: dict[str, Any] = {"kind": "FEE", "type": "DUNNING_FEE", "value": "250"}
_BEGAN_EARLY = """
UPDATE debtor_sessions SET first_opened_at = opened_at - interval '7 hours' WHERE merchant_id = $1
"""
_VERIFY = "/claim/verify/preferences"
_PAGE = "/claim/preferences"


async def _open_by_link(visit: Visit) -> None:
    await visit.page.goto(await visit.site.link())
    await follow(visit.page.locator("main button"))


async def offer_plans(visit: Visit) -> None:
    """Offer plans, deferrals and parts of the amount."""
    await visit.site.payments.harness.rows(_ALLOW, _OFFERS)


async def _arrange(visit: Visit, terms: Terms, *, is_agreed: bool) -> None:
    harness = visit.site.payments.harness
    await offer_plans(visit)
    arrangement = Arrangement(harness, visit.site.claim_id)
    await (arrangement.agree(terms) if is_agreed else arrangement.ask(terms))


async def _show(visit: Visit, terms: Terms, *, is_agreed: bool) -> None:
    await _arrange(visit, terms, is_agreed=is_agreed)
    await visit.open()


async def _run(visit: Visit) -> None:
    """A claim whose workflow has started: contacts, a fee and an end follow."""
    harness = visit.site.payments.harness
    waits: list[dict[str, Any]] = [{"kind": "WAIT", "days": days} for days in (10, 9, 14)]
    kinds = [_CONTACT, waits[0], _CONTACT, waits[1], _FEE, _CONTACT, waits[2]]
    steps = [{"id": n, "name": f"Step {n}", **kind} for n, kind in enumerate(kinds, start=1)]
    await harness.publish(a_definition(steps=steps))
    async with harness.work() as work:
        await start_assignment(work, visit.site.claim_id)
    await harness.run()


async def _what_follows(visit: Visit) -> None:
    await _run(visit)
    await visit.open()


async def _what_follows_a_pause(visit: Visit) -> None:
    await _run(visit)
    await visit.site.hold("PAUSE", 9)
    await visit.open()


async def _instalment_missed(visit: Visit) -> None:
    await _arrange(visit, PLAN, is_agreed=True)
    visit.site.clock.advance(timedelta(days=17))
    await visit.open()


async def _answer_late(visit: Visit) -> None:
    await _disputed(visit)
    visit.site.clock.advance(timedelta(days=20))
    await visit.open()


async def _plan_in_part_paid(visit: Visit) -> None:
    await _arrange(visit, PLAN, is_agreed=True)
    await visit.site.payments.harness.pay(visit.site.claim_id, 50000)
    await visit.open()


async def _agreed_by_link(visit: Visit) -> None:
    await _arrange(visit, PLAN, is_agreed=True)
    await _open_by_link(visit)


async def _disputed(visit: Visit) -> None:
    harness = visit.site.payments.harness
    await offer_plans(visit)
    await dispute(harness, visit.site.claim_id)
    answered = "UPDATE disputes SET answers = $2 WHERE merchant_id = $1"
    await harness.rows(answered, {"amount": "100000"})
    await visit.open()


async def _all_at_once(visit: Visit) -> None:
    await _arrange(visit, PLAN, is_agreed=True)
    await dispute(visit.site.payments.harness, visit.site.claim_id, "GOODS_RETURNED")
    await visit.site.hold("PAUSE", 9)
    await visit.open()


async def _paid(visit: Visit) -> None:
    await _attach_all(visit)
    await visit.site.payments.harness.pay(visit.site.claim_id, 133790)
    await visit.open()


async def _attach_all(visit: Visit) -> None:
    harness, claim_id = visit.site.payments.harness, visit.site.claim_id
    await attach(harness, claim_id, "Rechnung RE-2026-0815")
    await attach(
        harness, claim_id, "Lieferschein_mit_einem_sehr_langen_Namen_ohne_Leerzeichen_2026"
    )
    await attach(harness, claim_id, "Foto", an_image("PNG", 900, 600))


async def _documents(visit: Visit) -> None:
    await _attach_all(visit)
    await visit.enter()
    await visit.go("/claim/documents")


async def _document_lost(visit: Visit) -> None:
    attachment_id = await attach(visit.site.payments.harness, visit.site.claim_id)
    await visit.site.payments.harness.rows(
        "UPDATE uploads SET storage_key = storage_key || '-' WHERE merchant_id = $1"
    )
    await visit.enter()
    await visit.go(f"/claim/documents/{attachment_id}")


async def _preferences(visit: Visit) -> None:
    await visit.enter()
    await visit.go(_PAGE)


async def _no_way_left(visit: Visit) -> None:
    await _preferences(visit)
    for box in await visit.page.locator("[type=checkbox]").all():
        await box.uncheck()
    await follow(visit.page.locator("[action*=channels] button"))


async def _reach_code_level(visit: Visit) -> None:
    await visit.enter()
    await visit.go(_VERIFY)
    await follow(visit.page.locator("main button").first)
    await visit.page.locator("#code").fill(await read_sent_code(visit.site))
    await follow(visit.page.locator("main button").first)


async def _others(visit: Visit, *references: str) -> None:
    await _reach_code_level(visit)
    for reference in references:
        await visit.site.payments.harness.create(reference, email="erika@example.org")
    await visit.go("/claim/others")


async def _one_more(visit: Visit) -> None:
    await _others(visit, "RE-2026-0816")
    await visit.go("/claim")


async def _last_hour(visit: Visit) -> None:
    await visit.enter()
    await visit.site.payments.harness.rows(_BEGAN_EARLY)
    await visit.go("/claim")


async def _plan_late(visit: Visit) -> None:
    await visit.enter()
    visit.site.clock.advance(timedelta(minutes=61))
    await visit.go("/claim/plan/check?offer=3")


async def _address(visit: Visit, typed: str = "") -> None:
    await _reach_code_level(visit)
    await visit.go(f"{_PAGE}/email")
    if typed:
        field = visit.page.locator("#address")
        await field.evaluate("field => { field.type = 'text' }")
        await field.fill(typed)
        await follow(visit.page.locator("main button"))


async def _address_late(visit: Visit, *, is_opened_again: bool) -> None:
    await _address(visit)
    await visit.page.locator("#address").fill("erika@neu.example")
    if is_opened_again:
        token = "document.querySelector('main [name=token]').value = 'x'.repeat(43)"
        await visit.page.evaluate(token)
    else:
        visit.site.clock.advance(timedelta(minutes=61))
    await follow(visit.page.locator("main button"))


async def _confirm(visit: Visit, code: str = "") -> None:
    """Enter the code. Without one, the code that was sent."""
    await _address(visit, "erika@neu.example")
    await visit.page.locator("#code").fill(code or await read_sent_code(visit.site))
    await follow(visit.page.locator("main button").first)


CLAIM_STATES: dict[str, Reach] = {
    "claim-by-link": _open_by_link,
    "claim-what-follows": _what_follows,
    "claim-what-follows-a-pause": _what_follows_a_pause,
    "claim-instalment-missed": _instalment_missed,
    "claim-answer-late": _answer_late,
    "claim-plan-requested": lambda visit: _show(visit, PLAN, is_agreed=False),
    "claim-deferment-requested": lambda visit: _show(visit, DEFERMENT, is_agreed=False),
    "claim-plan-active": _plan_in_part_paid,
    "claim-plan-by-link": _agreed_by_link,
    "claim-deferred": lambda visit: _show(visit, DEFERMENT, is_agreed=True),
    "claim-disputed-in-part": _disputed,
    "claim-all-at-once": _all_at_once,
    "claim-paid-with-documents": _paid,
    "documents": _documents,
    "document-lost": _document_lost,
    "claim-others": _one_more,
    "claim-last-hour": _last_hour,
    "others": lambda visit: _others(visit, "RE-2026-0816", "RE-2026-0817"),
    "others-none": _others,
    "plan-late": _plan_late,
    "preferences": _preferences,
    "preferences-no-way-left": _no_way_left,
    "preferences-sure": _reach_code_level,
    "preferences-address": _address,
    "preferences-address-wrong": lambda visit: _address(visit, "erika"),
    "preferences-address-late": lambda visit: _address_late(visit, is_opened_again=False),
    "preferences-address-stale": lambda visit: _address_late(visit, is_opened_again=True),
    "preferences-code": lambda visit: _address(visit, "erika@neu.example"),
    "preferences-code-wrong": lambda visit: _confirm(visit, "000000"),
    "preferences-changed": _confirm,
}
