"""How to reach the start page, the legal notice, and the information of a debt collector."""

from typing import Any

from dunwell.accounts.installation.installation_file import Operator
from dunwell.contact.sending.references import build_reference
from tests.browser.browser_page import Visit
from tests.browser.page_checks import follow
from tests.support.operators import AGENCY, OWN


async def _go(visit: Visit, operator: Operator, path: str) -> None:
    await visit.site.set_operator(operator)
    await visit.go(path)


async def _read_imprint(visit: Visit) -> None:
    await visit.site.set_operator(OWN)
    await visit.enter()
    await visit.go("/imprint")


async def _open_collected(visit: Visit) -> None:
    await visit.site.set_operator(AGENCY)
    code = await visit.site.give_code()
    await visit.go("/q")
    await visit.page.locator("#code").fill(code)
    await follow(visit.page.locator("main button"))


async def _check_message(visit: Visit) -> None:
    code = await visit.site.give_check()
    await visit.go("/real")
    await visit.page.locator("#code").fill(code)
    await visit.page.locator("#amount").fill("1.337,90")
    await follow(visit.page.locator("main button"))


async def _unsubscribe(visit: Visit) -> None:
    """Follow the link in an e-mail, as with a mail program that has no one-click unsubscribe."""
    await visit.site.give_link()
    harness = visit.site.payments.harness
    [row] = await harness.rows(
        "SELECT communication_id FROM communications WHERE merchant_id = $1 AND channel = 'EMAIL'"
        " ORDER BY planned_at DESC LIMIT 1"
    )
    keys, merchant_id = harness.resources.keys, harness.merchant.merchant_id
    await visit.go(f"/u/{build_reference(keys, merchant_id, row['communication_id'])}")


async def _unsubscribed(visit: Visit) -> None:
    await _unsubscribe(visit)
    await follow(visit.page.locator("main button"))


FRONT_STATES: dict[str, Any] = {
    "home": lambda visit: visit.go("/"),
    "home-agency": lambda visit: _go(visit, AGENCY, "/"),
    "home-own": lambda visit: _go(visit, OWN, "/"),
    "imprint": lambda visit: _go(visit, AGENCY, "/imprint"),
    "impressum": lambda visit: _go(visit, AGENCY, "/impressum"),
    "imprint-in-session": _read_imprint,
    "claim-collected": _open_collected,
    "real-message": _check_message,
    "unsubscribe": _unsubscribe,
    "unsubscribe-done": _unsubscribed,
    "not-found-anywhere": lambda visit: visit.go("/mahnung"),
}
