"""A debtor at the pages of plans and deferments, and what the database says of them."""

import re
from typing import Any

import httpx
import msgspec

from dunwell.cases.modalities.answer_modality import approve_modality, reject_modality
from tests.support.landing import Doorstep
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


async def enter(doorstep: Doorstep) -> None:
    """With a letter's code, which shows plans too."""
    page = await doorstep.browser.type_code(await doorstep.give_code())
    assert page.status_code == 200


async def ask(doorstep: Doorstep, check: str = PLAN_CHECK, **fields: str) -> httpx.Response:
    """Look at a check page, press its button, come to where it leads."""
    await doorstep.browser.get(check)
    return await doorstep.browser.submit(check.partition("?")[0], **fields)


async def modalities(doorstep: Doorstep) -> list[Any]:
    return list(await doorstep.till.house.rows(_MODALITIES))


async def told_states(doorstep: Doorstep) -> list[str]:
    """What the claim's events told of modalities."""
    return [row["state"] for row in await doorstep.till.house.rows(_STATES)]


async def reject(doorstep: Doorstep, reason: str | None = None) -> None:
    """What is asked for, as the merchant does it."""
    house = doorstep.till.house
    [asked] = await modalities(doorstep)
    async with house.work() as work:
        await reject_modality(work, doorstep.claim_id, asked["modality_id"], reason=reason)


async def approve(doorstep: Doorstep) -> None:
    house = doorstep.till.house
    [asked] = await modalities(doorstep)
    async with house.work() as work:
        await approve_modality(work, doorstep.claim_id, asked["modality_id"])


def read_text(page: str) -> str:
    """What a reader sees of a page's main part."""
    main = page.partition("<main")[2].partition("</main>")[0]
    text = re.sub(r"<[^>]*>", " ", main.partition(">")[2])
    plain = text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{MULTIPLICATION SIGN}", "x")
    return " ".join(plain.split())
