"""A debtor who opens a dispute on the page, and what the merchant receives."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.landing import LandingHarness

_DISPUTES = """
SELECT dispute_id, type, reason, label, message, answers, state
FROM disputes
WHERE merchant_id = $1
ORDER BY opened_at, dispute_id
"""
_FILES = """
SELECT u.file_name, u.content_type, u.size_bytes, u.storage_key
FROM dispute_files f
JOIN uploads u USING (merchant_id, ticket_id)
WHERE f.merchant_id = $1
ORDER BY f.added_at, f.file_id
"""
_EVENTS = """
SELECT body::json -> 'claim' -> 'disputeReason' AS reason
FROM events
WHERE merchant_id = $1 AND type = 'DISPUTED'
ORDER BY sequence
"""


async def sign_in_with_letter_code(landing: LandingHarness) -> None:
    """Sign in with a letter's code, which gives full access."""
    await landing.browser.type_code(await landing.give_code())


async def open_dispute_form(landing: LandingHarness, reason: str = "AMOUNT_WRONG") -> str:
    """Load the questions for a reason and return the address of their form."""
    path = f"/claim/dispute/{reason}?lang=en"
    page = await landing.browser.get(path)
    assert page.status_code == 200, page.text
    return path


async def disputes(landing: LandingHarness) -> list[dict[str, Any]]:
    return [dict(row) for row in await landing.payments.harness.rows(_DISPUTES)]


async def files(landing: LandingHarness) -> list[tuple[str, str]]:
    """Return name and type of the files of all disputes."""
    rows = await landing.payments.harness.rows(_FILES)
    return [(row["file_name"], row["content_type"]) for row in rows]


async def list_event_reasons(landing: LandingHarness) -> list[dict[str, Any]]:
    """Return the reasons in DISPUTED events."""
    return [row["reason"] for row in await landing.payments.harness.rows(_EVENTS)]


def list_stored_files(landing: LandingHarness) -> list[Path]:
    """Return the merchant's files in the file storage."""
    settings, merchant_id = landing.payments.resources.settings, landing.payments.merchant_id
    folder = Path(urlsplit(settings.files_url).path) / str(merchant_id)
    return sorted(path for path in folder.rglob("*") if path.is_file())
