"""Signing in and the work of a day in the portal: each journey with mouse and keyboard, on a phone
and a large screen, with and without scripts, in English and German."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from dunwell.core.files.storage import SealedFiles
from dunwell.operations.jobs.claim_jobs import run_jobs
from dunwell.operations.jobs.run_exports import run_exports
from tests.browser.browser_page import Tabs
from tests.browser.clerk import (
    PortalClerk,
    PortalWay,
    in_all_portal_ways,
    open_portal,
    open_sign_in_page,
    sign_in,
)
from tests.browser.html_checker import HtmlChecker
from tests.browser.site import Site
from tests.support.portal_data import create_portal_data

_ANSWER = "The parcel never came back to us."
_FAIL = """
UPDATE job_rows SET outcome = 'FAILED', reason = 'ERROR' WHERE merchant_id = $1 AND position = 1
"""
_COUNT_FAILED = "UPDATE jobs SET done = done - 1, failed = 1 WHERE merchant_id = $1"
_UNKNOWN = """
UPDATE communications SET state = 'UNKNOWN', settled_at = NULL
WHERE merchant_id = $1 AND claim_id = $2
"""
PageCheck = Callable[[PortalClerk], Awaitable[None]]


async def answer_an_objection(clerk: PortalClerk, check_page: PageCheck) -> None:
    await clerk.press("Open disputes")
    await clerk.open_named("Erika Mustermann")
    await clerk.choose("Reject dispute")
    await clerk.fill("Message to the debtor", _ANSWER)
    await clerk.press("Preview")
    await clerk.expect_words(_ANSWER)
    await clerk.expect_text("Effect on the claim")
    await check_page(clerk)
    await clerk.press("Send response")
    await clerk.expect_text("Response sent.")
    await clerk.expect_words(_ANSWER)
    await clerk.open_part("Disputes")
    await clerk.expect_text("No open disputes.")


async def filter_and_save_view(clerk: PortalClerk, check_page: PageCheck) -> None:
    """Filter and order a list, choose its columns and save it as a view."""
    await clerk.open_part("Claims")
    await clerk.pick("Status", "IN_PROCESS")
    await clerk.press("Apply")
    await clerk.press("Reference")
    reference = clerk.page.locator("th[aria-sort]")
    assert await reference.get_attribute("aria-sort") == "ascending"
    await clerk.press("Reference")
    assert await reference.get_attribute("aria-sort") == "descending"
    await clerk.unfold("Columns & sorting")
    await clerk.choose("Company")
    await clerk.press_element(clerk.page.locator("details.looks button"))
    await check_page(clerk)
    address = clerk.page.url
    assert "status=IN_PROCESS" in address
    assert "sort=-reference" in address
    await clerk.page.reload()
    assert await reference.get_attribute("aria-sort") == "descending"
    await clerk.unfold("Save view")
    await clerk.fill("Name", "Mine")
    await clerk.press("Save view")
    await clerk.expect_text("View saved.")
    await clerk.open_part("Claims")
    await clerk.open_named("Mine")
    assert clerk.page.url == address
    await clerk.open_named("RE-2026-1000")
    await clerk.page.go_back()
    await clerk.arrive()
    assert await clerk.page.locator("#status").input_value() == "IN_PROCESS"


async def export_list(clerk: PortalClerk, check_page: PageCheck) -> None:
    await clerk.open_part("Claims")
    await clerk.press("Export CSV")
    resources = clerk.site.payments.resources
    while await run_exports(resources, SealedFiles.open(resources)):
        pass
    await clerk.page.reload()
    await check_page(clerk)
    assert b"RE-2026-1009" in await clerk.save("Download file (%(size)s)")
    await clerk.open_part("Background jobs")
    await clerk.expect_text("CSV export")


async def pause_many(clerk: PortalClerk, check_page: PageCheck) -> None:
    """Try, start and cancel a bulk pause, start it again, and repeat what has failed."""
    resources = clerk.site.payments.resources
    await _begin_pause(clerk, check_page)
    await clerk.press("Cancel job")
    await clerk.expect_text("Cancelled")
    await _begin_pause(clerk)
    await run_jobs(resources)
    await clerk.data.harness.rows(_FAIL + " RETURNING 1")
    await clerk.data.harness.rows(_COUNT_FAILED + " AND state = 'DONE' RETURNING 1")
    await clerk.page.reload()
    await clerk.expect_text("Claims not processed")
    await check_page(clerk)
    rows = await clerk.save("Results (CSV)")
    assert ("Nr.,Forderung" if clerk.way.language == "de" else "No.,Claim") in rows.decode("utf-8")
    await clerk.press("Retry failed")
    await run_jobs(resources)
    await clerk.page.reload()
    await clerk.expect_text("Done")


async def _begin_pause(clerk: PortalClerk, check_page: PageCheck | None = None) -> None:
    await clerk.open_part("Claims")
    for reference in ("RE-2026-1007", "RE-2026-1008"):
        await clerk.choose("Select %(reference)s", reference=reference)
    await clerk.press("Pause")
    await clerk.press("Dry run")
    await clerk.expect_text("Preview")
    if check_page is not None:
        await check_page(clerk)
    await clerk.fill("To confirm, enter the number of selected claims", "2")
    await clerk.press("Pause claims")
    await clerk.expect_text("Background job started. You can close this page.")


async def read_claim_pages(clerk: PortalClerk, check_page: PageCheck) -> None:
    claim_at = f"/claims/{clerk.data.claim_ids[5]}"
    await clerk.go(claim_at)
    await clerk.press("Messages")
    await clerk.press_element(clerk.page.locator("ol.timeline a").first)
    await clerk.expect_text("Original message")
    await check_page(clerk)
    await clerk.open_named("RE-2026-1005")
    await clerk.press("Why this step?")
    await clerk.expect_text("Next step")
    await check_page(clerk)
    await clerk.open_named("RE-2026-1005")
    await clerk.press("Statement of account")
    await clerk.fill("As of", "2026-03-01")
    await clerk.press("Apply")
    await clerk.expect_text("Statement of account as of %(day)s")
    await clerk.open_named("RE-2026-1005")
    async with clerk.page.expect_navigation():
        await clerk.find("View as debtor").click()
    await clerk.page.go_back()
    await clerk.arrive()


async def change_claim(clerk: PortalClerk, check_page: PageCheck) -> None:
    await clerk.go(f"/claims/{clerk.data.claim_ids[6]}")
    await clerk.press("Add note")
    await clerk.fill("Note", "Rings back on Friday.")
    await clerk.press("Add note")
    await clerk.expect_words("Rings back on Friday.")
    await clerk.press("Record payment")
    await clerk.fill("Amount", "nothing")
    await clerk.press("Record payment")
    await clerk.expect_text("Please check your entries")
    await check_page(clerk)
    await clerk.fill("Amount", "1,50" if clerk.way.language == "de" else "1.50")
    await clerk.press("Record payment")
    await clerk.expect_text("Payment recorded.")
    await clerk.press("Pause")
    await clerk.fill("Reason", "Until the lawyer has written")
    await clerk.press("Pause")
    await clerk.expect_text("Claim paused.")
    await clerk.press("Resume")
    await clerk.press("Resume")
    await clerk.expect_text("Claim resumed.")
    await clerk.press("Edit")
    await clerk.fill("City", "Bremen")
    await clerk.press("Save")
    await clerk.expect_words("Bremen")
    await clerk.press("Close claim")
    await clerk.choose("Withdraw: the claim is dropped and nothing has to be paid")
    await clerk.press("Close claim")
    await clerk.expect_text("Claim closed.")


async def answer_a_plan(clerk: PortalClerk, check_page: PageCheck) -> None:
    await clerk.press("Payment plan & deferral requests")
    await clerk.open_named("RE-2026-1004")
    await clerk.press("Send response")
    await clerk.expect_text("Choose a decision.")
    await check_page(clerk)
    await clerk.choose("Approve: the workflow stays on hold while the debtor pays as agreed")
    await clerk.press("Send response")
    await clerk.expect_text("Response sent.")


async def resolve_unknown_outcomes(clerk: PortalClerk, check_page: PageCheck) -> None:
    """Open payments and payment requests, and resolve a message with an unknown status."""
    await clerk.data.harness.rows(_UNKNOWN + " RETURNING 1", clerk.data.claim_ids[7])
    await clerk.open_part("Payments")
    await clerk.press("Recorded")
    await clerk.press("Payments started by debtors")
    await clerk.open_part("Messages")
    await clerk.press("Suppression list")
    await clerk.press("Messages")
    await clerk.pick("Status", "UNKNOWN")
    await clerk.press("Apply")
    await clerk.press("Resolve")
    await check_page(clerk)
    await clerk.choose("Not sent: send the message again")
    await clerk.press("Save")
    await clerk.expect_text("Resolved.")


async def invite_user(clerk: PortalClerk, check_page: PageCheck) -> None:
    await clerk.unfold_user_menu()
    await clerk.press_element(clerk.page.get_by_role("link", name=clerk.say("Users")))
    await clerk.press("Invite user")
    await clerk.fill("Name", "Robin")
    email = f"robin-{clerk.person.user_id.hex[:8]}@example.org"
    await clerk.fill("E-mail address", email)
    await clerk.tick(clerk.page.locator("main input[name=role][value=AUDITOR]"))
    await clerk.press("Create invitation")
    await clerk.expect_words("/portal/invitation/")
    await check_page(clerk)
    await clerk.press("Back to users")
    await clerk.expect_words(email)
    await clerk.unfold_user_menu()
    await clerk.press_element(clerk.page.get_by_role("link", name=clerk.say("My account")))
    await clerk.expect_text("Sessions")
    await clerk.unfold_user_menu()
    await clerk.press_element(clerk.page.get_by_role("button", name=clerk.say("Sign out")))
    await clerk.expect_text("Sign in")


_JOURNEYS: Mapping[str, Callable[[PortalClerk, PageCheck], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        answer_an_objection, filter_and_save_view, export_list, pause_many, read_claim_pages,
        change_claim, answer_a_plan, resolve_unknown_outcomes, invite_user,
    )
}  # fmt: skip


@in_all_portal_ways
async def test_a_user_signs_in_with_password_and_app_and_chooses_a_merchant(
    tabs: Tabs, site: Site, way: PortalWay
) -> None:
    data = await create_portal_data(site.payments.harness)
    async with open_sign_in_page(tabs, site, data, way, "door") as clerk:
        await sign_in(clerk)


@in_all_portal_ways
@pytest.mark.parametrize("journey", _JOURNEYS)
async def test_a_day_of_work_in_the_portal(
    tabs: Tabs,
    site: Site,
    html_checker: HtmlChecker,
    journey: str,
    way: PortalWay,
) -> None:
    """Pages that no other test opens are checked on the way, once in each language."""
    data = await create_portal_data(site.payments.harness)

    async def check_page(clerk: PortalClerk) -> None:
        if clerk.way.scripts:
            await clerk.check_page(html_checker)

    async with open_portal(tabs, site, data, way, journey) as clerk:
        await _JOURNEYS[journey](clerk, check_page)
