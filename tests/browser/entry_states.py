"""How to reach each page before a claim is opened, and its errors."""

from collections.abc import Awaitable, Callable
from typing import Any

from dunwell.accounts.merchants.configuration import VerificationMethod
from dunwell.contact.notices.notice import REPEATED_WITHIN
from tests.browser.browser_page import Visit
from tests.browser.page_checks import follow

Reach = Callable[[Visit], Awaitable[None]]

_ASK_FOR = """
UPDATE merchants
SET revision = revision + 1,
    configuration = jsonb_set(jsonb_set(configuration::jsonb, '{landingPage}',
        coalesce(configuration::jsonb -> 'landingPage', '{}')),
        '{landingPage,verification}', $2::jsonb)
WHERE merchant_id = $1
"""
_ON_FILE = """
UPDATE debtors
SET address = '{"postal_code": "20095"}', date_of_birth = '1984-03-27', customer_number = 'K-4711'
WHERE merchant_id = $1
"""


async def _set(visit: Visit, **fields: str) -> None:
    """Fill in fields, ignoring the browser's validation."""
    for name, value in fields.items():
        field = visit.page.locator(f"#{name}")
        await field.evaluate("(field, value) => { field.required = false; field.value = value }",
                             value)  # fmt: skip


async def _press(visit: Visit, **fields: str) -> None:
    await _set(visit, **fields)
    await follow(visit.page.locator("main button").first)


async def _link(visit: Visit, *proofs: VerificationMethod, on_file: bool = True) -> str:
    """Open the page of a link that asks for these proofs."""
    await visit.site.payments.harness.rows(_ASK_FOR, {"EMAIL": list(proofs)})
    if on_file:
        await visit.site.payments.harness.rows(_ON_FILE)
    path = await visit.site.give_link()
    await visit.go(path)
    return path


async def _link_wrong(visit: Visit, proof: VerificationMethod, **fields: str) -> None:
    await _link(visit, proof)
    await _press(visit, **fields)


async def _call(visit: Visit) -> None:
    await visit.site.payments.harness.rows("UPDATE debtors SET email = NULL WHERE merchant_id = $1")
    await _link(visit, "POSTAL_CODE", on_file=False)


async def _lock(visit: Visit) -> None:
    await _link(visit, "POSTAL_CODE")
    for _ in range(6):
        await _press(visit, fact="1")


async def _send(visit: Visit) -> None:
    await _link(visit, "CODE")
    await _press(visit)


async def _send_wrong(visit: Visit) -> None:
    await _send(visit)
    await _press(visit, code="000000")


async def _verify(visit: Visit, place: str = "claim") -> None:
    await visit.site.payments.harness.rows(_ON_FILE)
    await visit.go(await visit.site.give_link())
    await follow(visit.page.locator("main button"))
    await visit.go(f"/claim/verify/{place}")


async def _verify_wrong(visit: Visit) -> None:
    await _verify(visit)
    await _press(visit, fact="1")


async def _letter_wrong(visit: Visit) -> None:
    await _verify(visit)
    await _set(visit, code="0000-0000-0000")
    await follow(visit.page.locator("form[action$='/letter'] button"))


async def _link_notices(visit: Visit) -> None:
    await _link(visit, "CODE")
    await follow(visit.page.locator("a[href$='#legal']"))


async def _send_often(visit: Visit) -> None:
    for _ in range(6):
        await _verify(visit, "preferences")
        await _press(visit)
        # An earlier request would count as a double click.
        visit.site.clock.advance(REPEATED_WITHIN)


async def _send_to_raise(visit: Visit) -> None:
    await _verify(visit, "preferences")
    await _press(visit)


async def _raise_wrong(visit: Visit) -> None:
    await _send_to_raise(visit)
    await _press(visit, code="000000")


async def _new_link(visit: Visit, fields: dict[str, str], times: int = 1) -> None:
    for _ in range(times):
        await visit.go("/q/new-link")
        await _press(visit, **fields)


async def _check(visit: Visit, amount: str) -> None:
    code = await visit.site.give_code()
    await visit.go("/real")
    await _press(visit, code=code, amount=amount)


async def _real_in_session(visit: Visit) -> None:
    await _verify(visit)
    await visit.go("/real")


async def _end(visit: Visit) -> None:
    await _verify(visit)
    await follow(visit.page.locator("form[action*='/end'] button"))


async def _send_too_much(visit: Visit) -> None:
    await visit.go("/q")
    await _press(visit, code="x" * 9000)


_ASKED: dict[str, str] = {"reference": "INV-1001", "contact": "erika@example.org"}
ENTRY_STATES: dict[str, Any] = {
    "link-postal-code": lambda visit: _link(visit, "POSTAL_CODE"),
    "link-postal-code-wrong": lambda visit: _link_wrong(visit, "POSTAL_CODE", fact="1"),
    "link-birth-date": lambda visit: _link(visit, "DATE_OF_BIRTH"),
    "link-birth-date-wrong": lambda visit: _link_wrong(visit, "DATE_OF_BIRTH", born_day="31"),
    "link-customer-number": lambda visit: _link(visit, "CUSTOMER_NUMBER"),
    "link-locked": _lock,
    "link-call": _call,
    "link-code": lambda visit: _link(visit, "CODE"),
    "link-notices": _link_notices,
    "link-code-sent": _send,
    "link-code-wrong": _send_wrong,
    "verify": _verify,
    "verify-wrong": _verify_wrong,
    "verify-letter-wrong": _letter_wrong,
    "verify-contact": lambda visit: _verify(visit, "preferences"),
    "verify-code-sent": _send_to_raise,
    "verify-code-wrong": _raise_wrong,
    "verify-sent-often": _send_often,
    "new-link": lambda visit: visit.go("/q/new-link"),
    "new-link-empty": lambda visit: _new_link(visit, {"reference": "", "contact": ""}),
    "new-link-sent": lambda visit: _new_link(visit, _ASKED),
    "new-link-often": lambda visit: _new_link(visit, _ASKED, 6),
    "real": lambda visit: visit.go("/real"),
    "real-ours": lambda visit: _check(visit, "1.337,90"),
    "real-unconfirmed": lambda visit: _check(visit, "1"),
    "real-in-session": _real_in_session,
    "ended": _end,
    "too-large": _send_too_much,
}
