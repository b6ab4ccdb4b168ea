"""A debtor on the pages for payment plans and deferments, and the resulting rows."""

import re
from typing import Any

import httpx
import msgspec

from dunwell.cases.modalities.answer_modality import approve_modality, reject_modality
from tests.support.landing import LandingHarness
from tests.support.modalities import AT_ONCE, OFFERED
from tests.support.payments import PAYING

OFFERING = msgspec.structs.replace(PAYING, modalities=OFFERED)
AGREEING = msgspec.structs.replace(PAYING, modalities=AT_ONCE.modalities)
_MODALITIES = """
SELECT modality_id, type, state, amount_cents, ended_reason
FROM payment_modalities
WHERE merchant_id = $1
ORDER BY requested_at, modality_id
"""
_STATES = """
SELECT body::json -> 'claim' -> 'paymentModality' ->> 'state' AS state
FROM events
WHERE merchant_id = $1 AND type = 'PAYMENT_MODALITY_STATE_CHANGE'
ORDER BY claim_id, sequence
"""
PLAN_CHECK = "/claim/plan/check?count=3&first=2026-03-16"
LATER_CHECK = "/claim/later/check?until=2026-03-31"


async def enter(landing: LandingHarness) -> None:
    """Sign in with a letter's code, which allows the debtor to see plans."""
    page = await landing.browser.type_code(await landing.give_code())
    assert page.status_code == 200


async def ask(landing: LandingHarness, check: str = PLAN_CHECK, **fields: str) -> httpx.Response:
    """Load a confirmation page, press its button and follow the redirect."""
    await landing.browser.get(check)
    return await landing.browser.submit(check.partition("?")[0], **fields)


async def modalities(landing: LandingHarness) -> list[Any]:
    return list(await landing.payments.harness.rows(_MODALITIES))


async def list_event_states(landing: LandingHarness) -> list[str]:
    """Return the states of modalities in the claim's events."""
    return [row["state"] for row in await landing.payments.harness.rows(_STATES)]


async def reject(landing: LandingHarness, reason: str | None = None) -> None:
    """Reject the open request as the merchant does."""
    harness = landing.payments.harness
    [asked] = await modalities(landing)
    async with harness.work() as work:
        await reject_modality(work, landing.claim_id, asked["modality_id"], reason=reason)


async def approve(landing: LandingHarness) -> None:
    harness = landing.payments.harness
    [asked] = await modalities(landing)
    async with harness.work() as work:
        await approve_modality(work, landing.claim_id, asked["modality_id"])


def read_text(page: str) -> str:
    """Return the visible text of the main part of a page."""
    main = page.partition("<main")[2].partition("</main>")[0]
    text = re.sub(r"<[^>]*>", " ", main.partition(">")[2])
    plain = text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{MULTIPLICATION SIGN}", "x")
    return " ".join(plain.split())
