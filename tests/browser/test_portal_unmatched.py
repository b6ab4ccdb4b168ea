"""The pages of unmatched replies and reports in Chromium: they are accessible, fit their width, and
can be marked as seen without scripts."""

from dataclasses import replace

import pytest
from playwright.async_api import Browser, expect

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.contact.escalation.reports.delivery_reports import process_reports
from dunwell.contact.sending.incoming_sms import ReceivedSms
from dunwell.contact.sending.receive_sms import receive_sms
from dunwell.contact.sending.report import Report
from dunwell.contact.sending.store import save_report
from dunwell.platform.resources import Resources
from tests.browser.html_checker import HtmlChecker
from tests.browser.page_checks import keep_screenshot, list_loose_ends, list_violations, measure
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
    provider="post", provider_message_id="6f1e9a0c" * 8, state="FAILED", happened_at=None,
    reference=None,
    reason="550 address unknown", cause="ADDRESS", raw=b"as it came",
)  # fmt: skip


async def fill(resources: Resources) -> None:
    secrets = {"deliveryProviders/sms-kannel/credentials/passwordFile": b"token"}
    await apply_installation(resources, check_installation({"deliveryProviders": _LINES}), secrets)
    for number, (sender, text) in enumerate(_WRITTEN):
        incoming = ReceivedSms("sms-kannel", str(number), sender, "+4930123456", text)
        await receive_sms(resources, incoming)
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        for report in (
            _REPORT,
            replace(_REPORT, provider_message_id="2", state="DELAYED", reason=""),
        ):
            await save_report(tx, report, real_now=now, ids=resources.ids)
    await process_reports(resources)


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
async def test_delivery_providers_and_unmatched_reports_are_listed(
    chromium: Browser, site: Site, html_checker: HtmlChecker, locale: str
) -> None:
    resources = site.payments.resources
    await fill(resources)
    clerk = await sign_in(resources, site.app, site.payments.harness, language=locale[:2])
    secret = clerk.http.cookies[COOKIE]
    context = await chromium.new_context(locale=locale)
    await context.add_cookies([{"name": COOKIE, "value": secret, "url": site.origin}])
    page = await context.new_page()
    complaints: list[str] = []
    page.on("console", lambda console_message: complaints.append(console_message.text))
    found = []
    for name in (
        "delivery-providers",
        "delivery-providers/unmatched",
        "delivery-providers/unmatched?of=reports",
    ):
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


async def test_an_unmatched_report_is_viewed_without_scripts_with_the_keyboard(
    chromium: Browser, site: Site
) -> None:
    resources = site.payments.resources
    await fill(resources)
    clerk = await sign_in(resources, site.app, site.payments.harness)
    secret = clerk.http.cookies[COOKIE]
    context = await chromium.new_context(locale="en-GB", java_script_enabled=False)
    await context.add_cookies([{"name": COOKIE, "value": secret, "url": site.origin}])
    page = await context.new_page()
    await page.goto(f"{site.origin}/portal/delivery-providers/unmatched")
    await page.get_by_role("button", name="Mark as read").nth(1).focus()
    async with page.expect_navigation():
        await page.keyboard.press("Enter")
    await expect(page.get_by_role("status")).to_contain_text("Marked as read")
    await expect(page.get_by_text("Ihr Paket ist da")).to_have_count(0)
    await expect(page.get_by_role("button", name="Mark as read")).to_have_count(2)
    await context.close()
