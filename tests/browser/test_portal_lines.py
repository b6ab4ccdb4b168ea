"""The pages of the installation's lines in Chromium: accessible, within their width, and looked
through without scripts."""

from dataclasses import replace

import pytest
from playwright.async_api import Browser, expect

from dunwell.escalation.join_reports import join_reports
from dunwell.installation.apply_installation import apply_installation
from dunwell.installation.document import check_installation
from dunwell.kit.resources import Resources
from dunwell.sending.incoming import Incoming
from dunwell.sending.report import Report
from dunwell.sending.report_store import save_report
from dunwell.sending.take_incoming_sms import take_incoming_sms
from tests.browser.html_checker import HtmlChecker
from tests.browser.judges import keep_screenshot, list_loose_ends, list_violations, measure
from tests.browser.site import Site
from tests.support.portal import COOKIE, sign_in

_LINES = {
    "post": {"channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587"},
    "sms-kannel": {
        "channel": "SMS", "adapter": "twilio", "server": "https://sms.example.com",
        "credentials": {"user": "AC1", "passwordFile": "token"},
    },
}  # fmt: skip
_WRITTEN = (
    ("+4915112345678", "Ich habe am Freitag überwiesen. Welche von beiden Rechnungen ist das?"),
    ("Paketdienst", "Ihr Paket ist da"),
    ("+4369912345678", "Wer sind Sie?\nIch kenne Sie nicht. " + "Bitte erklären Sie das. " * 6),
)
_REPORT = Report(
    line="post", provider_id="6f1e9a0c" * 8, state="FAILED", happened_at=None, reference=None,
    reason="550 address unknown", cause="ADDRESS", raw=b"as it came",
)  # fmt: skip


async def fill(resources: Resources) -> None:
    secrets = {"lines/sms-kannel/credentials/passwordFile": b"token"}
    await apply_installation(resources, check_installation({"lines": _LINES}), secrets)
    for number, (sender, text) in enumerate(_WRITTEN):
        incoming = Incoming("sms-kannel", str(number), sender, "+4930123456", text)
        await take_incoming_sms(resources, incoming)
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        for report in (_REPORT, replace(_REPORT, provider_id="2", state="DELAYED", reason="")):
            await save_report(tx, report, real_now=now, ids=resources.ids)
    await join_reports(resources)


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
async def test_lines_and_what_nobody_could_place_are_looked_through(
    chromium: Browser, site: Site, html_checker: HtmlChecker, locale: str
) -> None:
    resources = site.till.resources
    await fill(resources)
    clerk = await sign_in(resources, site.app, site.till.house, language=locale[:2])
    secret = clerk.http.cookies[COOKIE]
    context = await chromium.new_context(locale=locale)
    await context.add_cookies([{"name": COOKIE, "value": secret, "url": site.origin}])
    page = await context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text))
    found = []
    for name in ("lines", "lines/unplaced", "lines/unplaced?of=reports"):
        answer = await page.goto(f"{site.origin}/portal/{name}")
        assert answer is not None
        assert answer.status == 200
        source = await answer.text()
        faults = await html_checker.list_faults(source)
        found += [*faults, *list_loose_ends(source, "default-src 'none'")]
        for width in (1280, 390):
            await page.set_viewport_size({"width": width, "height": 900})
            measured = await measure(page)
            found += [f"{name} {width} {key}" for key in ("scrolls", "broken") if measured[key]]
            found += await list_violations(page)
            shown = name.replace("/", "-").replace("?of=", "-")
            await keep_screenshot(page, f"portal-{shown}-{locale[:2]}-{width}")
    assert found == []
    assert complaints == []
    await context.close()


async def test_one_is_looked_at_without_scripts_by_keyboard(chromium: Browser, site: Site) -> None:
    resources = site.till.resources
    await fill(resources)
    clerk = await sign_in(resources, site.app, site.till.house)
    secret = clerk.http.cookies[COOKIE]
    context = await chromium.new_context(locale="en-GB", java_script_enabled=False)
    await context.add_cookies([{"name": COOKIE, "value": secret, "url": site.origin}])
    page = await context.new_page()
    await page.goto(f"{site.origin}/portal/lines/unplaced")
    await page.get_by_role("button", name="Looked at").nth(1).focus()
    async with page.expect_navigation():
        await page.keyboard.press("Enter")
    await expect(page.get_by_role("status")).to_contain_text("It is looked at")
    await expect(page.get_by_text("Ihr Paket ist da")).to_have_count(0)
    await expect(page.get_by_role("button", name="Looked at")).to_have_count(2)
    await context.close()
"""The portal's lines in Chromium: alarms, figures by where messages go to, and why they failed."""

from typing import Any

import pytest
from playwright.async_api import Browser

from dunwell.alarms.look import look_for_alarms
from dunwell.installation.apply_installation import apply_installation
from dunwell.installation.document import check_installation
from tests.browser.html_checker import HtmlChecker
from tests.browser.judges import list_loose_ends
from tests.browser.site import Stage
from tests.browser.test_portal_money import sit_down

_LINES: dict[str, Any] = {
    "post": {"channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587"},
    "sms": {
        "channel": "SMS", "adapter": "twilio",
        "credentials": {"user": "AC", "passwordFile": "p"},
    },
}  # fmt: skip
# Destination, of how many, of these failed, why.
_SENT = (
    ("post", "t-online.de", 240, 31, "The mail server refused it: 550 5.7.1."),
    ("post", "gmx.de", 412, 3, "5.1.1"),
    ("post", "a-very-long-company-name-with-hyphens.co.uk", 12, 0, ""),
    ("sms", "DE", 96, 2, "The provider reported UNDELIV, error 011."),
    ("sms", None, 4, 1, "<b>none</b>"),
)
_FILL = """
INSERT INTO communications (merchant_id, communication_id, claim_id, run, step_id, place, channel,
                            state, not_before, planned_at, settled_at, line, destination, failure,
                            delivered_at, recipient_digest)
SELECT $1, gen_random_uuid(), $2, $8::integer * 1000 + n, 1, 0, 'EMAIL',
       CASE WHEN n <= $6 THEN 'FAILED' ELSE 'ACCEPTED' END, $9, $9, $9, $3, $4,
       CASE WHEN n <= $6 THEN $7::text END, CASE WHEN n > $6 AND n % 2 = 0 THEN $9::timestamptz END,
       sha256(n::text::bytea)
FROM generate_series(1, $5) n
RETURNING 1
"""


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
async def test_lines_and_alarms_are_accessible_and_fit(
    chromium: Browser, stage: Stage, html_checker: HtmlChecker, locale: str
) -> None:
    async with sit_down(chromium, stage, locale=locale) as seat:
        house = seat.world.house
        resources, now = house.resources, house.clock.now()
        await apply_installation(resources, check_installation({"lines": _LINES}))
        for number, (line, place, sent, failed, why) in enumerate(_SENT, 1):
            await house.rows(
                _FILL, seat.world.claim_id, line, place, sent, failed, why, number, now
            )
        await look_for_alarms(resources, lambda _: None, "")
        for path, name in (("/portal/lines", "lines"), (seat.address(""), "start")):
            address = path if path.startswith("http") else f"{seat.site.origin}{path}"
            answer = await seat.page.goto(address)
            assert answer is not None
            assert answer.status == 200
            source = await answer.text()
            faults = await html_checker.list_faults(source)
            assert [*faults, *list_loose_ends(source, "default-src 'none'")] == []
            await seat.judge(f"{name}-{locale[:2]}")
        assert seat.complaints == []
