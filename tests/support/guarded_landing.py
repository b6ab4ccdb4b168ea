"""Ways to open a claim that require proof: merchants' policies, contact details on file, sent
messages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import (
    Channel,
    ChannelSetup,
    LandingPage,
    VerificationMethod,
)
from dunwell.contact.notices.notice_codes import derive_notice_code, derive_notice_token
from dunwell.interfaces.landing.notifications.writer import NoticeWriter
from dunwell.interfaces.landing.sign_in.requested_links import send_requested_links
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from dunwell.platform.text.translation import DEBTOR_CATALOGUES, load_languages
from tests.support.landing import LandingHarness, a_landing
from tests.support.payments import PAYING

ON_FILE: dict[str, Any] = {
    "address": {
        "street": "Am Markt 1", "postalCode": "20095", "city": "Hamburg", "country": "DE",
    },
    "dateOfBirth": "1984-03-27",
    "customerNumber": "K-4711",
    "contractNumber": "V-2024-9",
}  # fmt: skip
NUMBER = "+491711234567"
BOTH_CHANNELS: dict[Channel, ChannelSetup] = {
    "EMAIL": ChannelSetup("outbox", "claims@nordwind.example"),
    "SMS": ChannelSetup("outbox", "Nordwind"),
}
_OCCASIONS = "SELECT occasion, facts FROM debtor_occasions WHERE merchant_id = $1 ORDER BY due_at"
_NOTICES = """
SELECT notice_id, kind, channel, recipient, body_text FROM debtor_notices
WHERE merchant_id = $1
ORDER BY created_at, notice_id
"""


@asynccontextmanager
async def a_guarded_landing(
    resources: Resources, clock: MovableClock, *proofs: VerificationMethod, **debtor: Any
) -> AsyncIterator[LandingHarness]:
    """Return a merchant where the links of all channels require `proofs`. `debtor` changes the
    contact details on file; its item `key` names the merchant."""
    page = LandingPage(verification=dict.fromkeys(("EMAIL", "SMS", "LETTER"), proofs))
    configuration = msgspec.structs.replace(
        PAYING, channels=BOTH_CHANNELS, landing_page=page if proofs else LandingPage()
    )
    key = debtor.pop("key", "nordwind")
    async with a_landing(
        resources, clock, configuration=configuration, key=key, debtor=ON_FILE | debtor
    ) as landing:
        yield landing


async def send_links(landing: LandingHarness) -> int:
    """Send the requested links as the worker does. Return how many requests it processed."""
    resources = landing.payments.resources
    writer = NoticeWriter(load_languages(DEBTOR_CATALOGUES), resources.settings.public_url)
    return await send_requested_links(resources, writer)


async def list_notices(landing: LandingHarness) -> list[Any]:
    return list(await landing.payments.harness.rows(_NOTICES))


async def list_occasions(landing: LandingHarness) -> list[Any]:
    """Return the occasions of the debtor's pending notifications."""
    return list(await landing.payments.harness.rows(_OCCASIONS))


async def read_sent_code(landing: LandingHarness) -> str:
    """Return the newest code."""
    return derive_notice_code(landing.payments.resources.keys, await _newest(landing))


async def read_sent_link(landing: LandingHarness) -> str:
    """Return the path of the newest link."""
    return f"/q/{derive_notice_token(landing.payments.resources.keys, await _newest(landing))}"


async def levels(landing: LandingHarness) -> list[str]:
    """Return the levels of all sessions."""
    rows = await landing.payments.harness.rows(
        "SELECT DISTINCT opened_at, session_id, level FROM debtor_sessions WHERE merchant_id = $1"
        " ORDER BY opened_at, session_id"
    )
    return [row["level"] for row in rows]


async def _newest(landing: LandingHarness) -> UUID:
    notice_id: UUID = (await list_notices(landing))[-1]["notice_id"]
    return notice_id
