"""How to reach each page of a dispute, and its errors."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from dunwell.cases.disputes.answer_dispute import ResolutionOutcome
from tests.browser.browser_page import Visit
from tests.browser.page_checks import follow
from tests.support.disputes import ACCEPTED, REJECTED, answer, dispute, give_evidence, resolve
from tests.support.files import a_pdf, an_image

Reach = Callable[[Visit], Awaitable[None]]
_LONG_NAME = "Kaufvertrag_und_Rücksendebeleg_vom_14._Februar_2026_(unterschrieben).pdf"


async def _enter_by_link(visit: Visit) -> None:
    await visit.page.goto(await visit.site.link())
    await follow(visit.page.locator("main button"))


async def _reasons(visit: Visit, enter: Reach) -> None:
    await enter(visit)
    await visit.go("/claim/dispute")


async def _ask(visit: Visit, reason: str) -> None:
    await visit.enter()
    await visit.go(f"/claim/dispute/{reason}")


async def _choose(visit: Visit, *files: tuple[str, bytes]) -> None:
    given: Any = [
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        for name, content in files
    ]
    await visit.page.locator("#files").set_input_files(given)


async def _keep(visit: Visit) -> None:
    await _ask(visit, "AMOUNT_WRONG")
    await visit.page.locator("#message").fill("Der Gutschein über 10 Euro fehlt.")
    await visit.page.locator("summary").click()
    await _choose(visit, (_LONG_NAME, a_pdf()), ("foto.png", an_image("PNG")))
    await follow(visit.page.locator("button[value=keep]"))


async def _send_faults(visit: Visit) -> None:
    await _ask(visit, "DEBTOR_ALREADY_PAID")
    for name, text in (("day_day", "31"), ("day_month", "2"), ("day_year", "2026")):
        await visit.page.locator(f"#{name}").fill(text)
    await visit.page.locator("#amount").fill("viel")
    await visit.page.locator("summary").click()
    await visit.page.locator("#message").fill("x" * 2001)
    await _choose(visit, ("brief.docx", b"PK\x03\x04"), ("leer.pdf", b""))
    await follow(visit.page.locator("button[value=send]"))


async def _send_fault(visit: Visit, reason: str, **fields: str) -> None:
    await _ask(visit, reason)
    for name, text in fields.items():
        await visit.page.locator(f"#{name}").fill(text)
    await follow(visit.page.locator("button[value=send]"))


async def _refuse_file(visit: Visit) -> None:
    await _ask(visit, "OTHER")
    await visit.page.locator("summary").click()
    await _choose(visit, ("brief.docx", b"PK\x03\x04"))
    await follow(visit.page.locator("button[value=keep]"))


async def _send(visit: Visit) -> None:
    await _ask(visit, "AMOUNT_WRONG")
    await visit.page.locator("#amount").fill("1.276,40")
    await visit.page.locator("#message").fill("Der Gutschein über 10 Euro fehlt.\n\nSiehe Beleg.")
    await _choose(visit, (_LONG_NAME, a_pdf()))
    await follow(visit.page.locator("button[value=send]"))


async def _withdraw(visit: Visit, *, is_done: bool) -> None:
    await _send(visit)
    await follow(visit.page.locator("a[href$='/withdraw']"))
    if is_done:
        await follow(visit.page.locator("main button"))


async def _answer(visit: Visit, outcome: ResolutionOutcome, *, ends: bool | None) -> None:
    harness = visit.site.payments.harness
    opened = await dispute(harness, visit.site.claim_id)
    await give_evidence(harness, opened)
    await resolve(
        harness, opened, outcome, end_claim=ends, message="Wir haben den Gutschein abgezogen."
    )
    await visit.enter()
    await visit.go(f"/claim/disputes/{opened.dispute_id}")


async def _come_back(visit: Visit, outcome: ResolutionOutcome) -> None:
    """Return to the claim's page after the answer was sent."""
    harness = visit.site.payments.harness
    opened = await dispute(harness, visit.site.claim_id)
    await answer(harness, opened, outcome, message="Wir haben den Gutschein abgezogen.")
    await visit.enter()
    await visit.go("/claim")


async def _write_elsewhere(visit: Visit, button: str) -> None:
    """Save text in a second tab while the first one has its form open."""
    await _ask(visit, "AMOUNT_WRONG")
    tab = await visit.page.context.new_page()
    await tab.goto(visit.page.url)
    await tab.locator("#message").fill("Der Gutschein über 10 Euro fehlt.")
    await tab.locator(f"button[value={button}]").first.evaluate("button => button.click()")
    await tab.wait_for_url("**#saved" if button == "keep" else "**/disputes/*")
    await tab.close()
    await visit.page.locator("#message").fill("Die Mahngebühr ist falsch.")
    await follow(visit.page.locator("button[value=send]"))


async def _send_stale(visit: Visit) -> None:
    await _ask(visit, "AMOUNT_WRONG")
    token = "document.querySelector('#answers [name=token]').value = 'x'.repeat(43)"
    await visit.page.evaluate(token)
    await visit.page.locator("#message").fill("Der Gutschein über 10 Euro fehlt.")
    await follow(visit.page.locator("button[value=send]"))


async def _send_late(visit: Visit) -> None:
    await _ask(visit, "AMOUNT_WRONG")
    await visit.page.locator("#message").fill("Der Gutschein über 10 Euro fehlt.")
    visit.site.clock.advance(timedelta(minutes=61))
    await follow(visit.page.locator("button[value=send]"))


async def _leave_unsent(visit: Visit) -> None:
    await _keep(visit)
    await visit.go("/claim")


async def _refuse_more(visit: Visit) -> None:
    await _send(visit)
    await _choose(visit, ("brief.docx", b"PK\x03\x04"))
    await follow(visit.page.locator("form[action$='/files'] button"))


async def _send_files_late(visit: Visit) -> None:
    await _send(visit)
    await _choose(visit, ("brief.pdf", a_pdf()))
    visit.site.clock.advance(timedelta(minutes=61))
    await follow(visit.page.locator("form[action$='/files'] button"))


async def _come_back_to_files(visit: Visit) -> None:
    await _send(visit)
    address = visit.page.url
    await _choose(visit, ("brief.pdf", a_pdf()))
    visit.site.clock.advance(timedelta(minutes=61))
    await follow(visit.page.locator("form[action$='/files'] button"))
    await visit.enter()
    await visit.page.goto(address)


async def _ask_by_link(visit: Visit, reason: str) -> None:
    await _enter_by_link(visit)
    await visit.go(f"/claim/dispute/{reason}")


async def _withhold(visit: Visit, reason: str) -> None:
    await _ask_by_link(visit, reason)
    await follow(visit.page.locator("button[value=send]"))


async def _take_back(visit: Visit) -> None:
    await _withhold(visit, "WRONG_PERSON")
    await follow(visit.page.locator("main .go a"))


async def _open_a_ninth(visit: Visit) -> None:
    for claim_id in await visit.site.payments.harness.create(
        *(f"RE-2026-090{n}" for n in range(8))
    ):
        await visit.page.goto(await visit.site.link(claim_id=claim_id))
        await follow(visit.page.locator("main button"))
        visit.site.clock.advance(timedelta(seconds=1))
    await _enter_by_link(visit)


DISPUTE_STATES: dict[str, Reach] = {
    "dispute": lambda visit: _reasons(visit, Visit.enter),
    "dispute-by-link": lambda visit: _reasons(visit, _enter_by_link),
    "dispute-amount": lambda visit: _ask(visit, "AMOUNT_WRONG"),
    "dispute-paid": lambda visit: _ask(visit, "DEBTOR_ALREADY_PAID"),
    "dispute-insolvency": lambda visit: _ask(visit, "INSOLVENCY"),
    "dispute-other": lambda visit: _ask(visit, "OTHER"),
    "dispute-wrong-person": lambda visit: _ask_by_link(visit, "WRONG_PERSON"),
    "dispute-person-died": lambda visit: _ask_by_link(visit, "PERSON_DIED"),
    "claim-wrong-person": lambda visit: _withhold(visit, "WRONG_PERSON"),
    "claim-person-died": lambda visit: _withhold(visit, "PERSON_DIED"),
    "wrong-person-withdraw": _take_back,
    "claim-ninth": _open_a_ninth,
    "dispute-kept": _keep,
    "dispute-overtaken": lambda visit: _write_elsewhere(visit, "keep"),
    "dispute-unsent": lambda visit: _write_elsewhere(visit, "send"),
    "dispute-stale": _send_stale,
    "dispute-late": _send_late,
    "claim-unsent": _leave_unsent,
    "dispute-faults": _send_faults,
    "dispute-fault": lambda visit: _send_fault(
        visit, "AMOUNT_WRONG", amount="viel", message="Der Gutschein fehlt."
    ),
    "dispute-empty": lambda visit: _send_fault(visit, "OTHER"),
    "dispute-refused": _refuse_file,
    "dispute-sent": _send,
    "dispute-sent-refused": _refuse_more,
    "dispute-files-late": _send_files_late,
    "dispute-files-kept": _come_back_to_files,
    "dispute-withdraw": lambda visit: _withdraw(visit, is_done=False),
    "dispute-withdrawn": lambda visit: _withdraw(visit, is_done=True),
    "dispute-accepted": lambda visit: _answer(visit, ACCEPTED, ends=None),
    "dispute-accepted-open": lambda visit: _answer(visit, ACCEPTED, ends=False),
    "claim-objection-accepted": lambda visit: _come_back(visit, ACCEPTED),
    "claim-objection-rejected": lambda visit: _come_back(visit, REJECTED),
    "dispute-rejected": lambda visit: _answer(visit, REJECTED, ends=None),
}
