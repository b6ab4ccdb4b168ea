"""The page of delivery providers in Chromium: alerts, figures by destination, and reasons of
failures."""

from typing import Any

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.operations.alerts.check_alerts import check_for_alerts
from tests.browser.browser_page import Tabs
from tests.browser.html_checker import HtmlChecker
from tests.browser.page_checks import list_loose_ends
from tests.browser.site import RunningApplication
from tests.browser.test_portal_money import open_portal

_LINES: dict[str, Any] = {
    "post": {"channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587"},
    "sms": {
        "channel": "SMS", "adapter": "twilio",
        "credentials": {"user": "AC", "passwordFile": "p"},
    },
}  # fmt: skip
# Destination, number of messages, number of failures, reason.
_SENT = (
    ("post", "t-online.de", 240, 31, "The mail server refused it: 550 5.7.1."),
    ("post", "gmx.de", 412, 3, "5.1.1"),
    ("post", "a-very-long-company-name-with-hyphens.co.uk", 12, 0, ""),
    ("sms", "DE", 96, 2, "The provider reported UNDELIV, error 011."),
    ("sms", None, 4, 1, "<b>none</b>"),
)
_FILL = """
INSERT INTO communications (merchant_id, communication_id, claim_id, run, step_id, place, channel,
                            state, not_before, planned_at, settled_at, provider, destination,
                            failure, delivered_at, recipient_digest)
SELECT $1, gen_random_uuid(), $2, $8::integer * 1000 + n, 1, 0, 'EMAIL',
       CASE WHEN n <= $6 THEN 'FAILED' ELSE 'ACCEPTED' END, $9, $9, $9, $3, $4,
       CASE WHEN n <= $6 THEN $7::text END, CASE WHEN n > $6 AND n % 2 = 0 THEN $9::timestamptz END,
       sha256(n::text::bytea)
FROM generate_series(1, $5) n
RETURNING 1
"""


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
async def test_delivery_providers_and_alerts_are_accessible_and_fit(
    tabs: Tabs, application: RunningApplication, html_checker: HtmlChecker, locale: str
) -> None:
    async with open_portal(tabs, application, locale=locale) as signed_in:
        harness = signed_in.data.harness
        resources, now = harness.resources, harness.clock.now()
        await apply_installation(resources, check_installation({"deliveryProviders": _LINES}))
        for number, (line, place, sent, failed, why) in enumerate(_SENT, 1):
            await harness.rows(
                _FILL, signed_in.data.claim_id, line, place, sent, failed, why, number, now
            )
        await check_for_alerts(resources, lambda _: None, "")
        for path, name in (
            ("/portal/delivery-providers", "delivery-providers"),
            (signed_in.address(""), "start"),
        ):
            address = path if path.startswith("http") else f"{signed_in.site.origin}{path}"
            answer = await signed_in.page.goto(address)
            assert answer is not None
            assert answer.status == 200
            source = await answer.text()
            faults = await html_checker.list_faults(source)
            assert [*faults, *list_loose_ends(source, "default-src 'none'")] == []
            await signed_in.check_page(f"{name}-{locale[:2]}")
        assert signed_in.complaints == []
