"""The portal's door, and a day's work behind it: each journey by mouse and by keyboard, on a phone
and on a screen, with scripts and without, in English and in German."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from dunwell.core.files.storage import SealedFiles
from dunwell.operations.jobs.claim_jobs import run_jobs
from dunwell.operations.jobs.run_exports import run_exports
from tests.browser.browser_page import Tabs
from tests.browser.clerk import (
    AtWork,
    PortalWay,
    in_all_portal_ways,
    sign_in,
    sit_down,
    stand_at_door,
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
Judge = Callable[[AtWork], Awaitable[None]]


async def answer_an_objection(clerk: AtWork, judge: Judge) -> None:
    await clerk.press("Open disputes")
    await clerk.open_named("Erika Mustermann")
    await clerk.choose("Reject dispute")
    await clerk.fill("Message to the debtor", _ANSWER)
    await clerk.press("Preview")
    await clerk.reads(_ANSWER)
    await clerk.sees("Effect on the claim")
    await judge(clerk)
    await clerk.press("Send response")
    await clerk.sees("Response sent.")
    await clerk.reads(_ANSWER)
    await clerk.turn_to("Disputes")
    await clerk.sees("No open disputes.")


async def find_and_keep(clerk: AtWork, judge: Judge) -> None:
    """Filters, order and columns stay through everything, and are kept as a view."""
    await clerk.turn_to("Claims")
    await clerk.pick("Status", "IN_PROCESS")
    await clerk.press("Apply")
    await clerk.press("Reference")
    reference = clerk.page.locator("th[aria-sort]")
    assert await reference.get_attribute("aria-sort") == "ascending"
    await clerk.press("Reference")
    assert await reference.get_attribute("aria-sort") == "descending"
    await clerk.unfold("Columns & sorting")
    await clerk.choose("Company")
    await clerk.press_at(clerk.page.locator("details.looks button"))
    await judge(clerk)
    address = clerk.page.url
    assert "status=IN_PROCESS" in address
    assert "sort=-reference" in address
    await clerk.page.reload()
    assert await reference.get_attribute("aria-sort") == "descending"
    await clerk.unfold("Save view")
    await clerk.fill("Name", "Mine")
    await clerk.press("Save view")
    await clerk.sees("View saved.")
    await clerk.turn_to("Claims")
    await clerk.open_named("Mine")
    assert clerk.page.url == address
    await clerk.open_named("RE-2026-1000")
    await clerk.page.go_back()
    await clerk.arrive()
    assert await clerk.page.locator("#status").input_value() == "IN_PROCESS"


async def write_the_list_out(clerk: AtWork, judge: Judge) -> None:
    await clerk.turn_to("Claims")
    await clerk.press("Export CSV")
    resources = clerk.site.payments.resources
    while await run_exports(resources, SealedFiles.open(resources)):
        pass
    await clerk.page.reload()
    await judge(clerk)
    assert b"RE-2026-1009" in await clerk.save("Download file (%(size)s)")
    await clerk.turn_to("Background jobs")
    await clerk.sees("CSV export")


async def pause_many(clerk: AtWork, judge: Judge) -> None:
    """Tried, begun, broken off, begun again, and what failed is tried once more."""
    resources = clerk.site.payments.resources
    await _begin_pause(clerk, judge)
    await clerk.press("Cancel job")
    await clerk.sees("Cancelled")
    await _begin_pause(clerk)
    await run_jobs(resources)
    await clerk.world.harness.rows(_FAIL + " RETURNING 1")
    await clerk.world.harness.rows(_COUNT_FAILED + " AND state = 'DONE' RETURNING 1")
    await clerk.page.reload()
    await clerk.sees("Claims not processed")
    await judge(clerk)
    rows = await clerk.save("Results (CSV)")
    assert ("Nr.,Forderung" if clerk.way.language == "de" else "No.,Claim") in rows.decode("utf-8")
    await clerk.press("Retry failed")
    await run_jobs(resources)
    await clerk.page.reload()
    await clerk.sees("Done")


async def _begin_pause(clerk: AtWork, judge: Judge | None = None) -> None:
    await clerk.turn_to("Claims")
    for reference in ("RE-2026-1007", "RE-2026-1008"):
        await clerk.choose("Select %(reference)s", reference=reference)
    await clerk.press("Pause")
    await clerk.press("Dry run")
    await clerk.sees("Preview")
    if judge is not None:
        await judge(clerk)
    await clerk.fill("To confirm, enter the number of selected claims", "2")
    await clerk.press("Pause claims")
    await clerk.sees("Background job started. You can close this page.")


async def look_at_a_claim(clerk: AtWork, judge: Judge) -> None:
    claim_at = f"/claims/{clerk.world.claim_ids[5]}"
    await clerk.go(claim_at)
    await clerk.press("Messages")
    await clerk.press_at(clerk.page.locator("ol.timeline a").first)
    await clerk.sees("Original message")
    await judge(clerk)
    await clerk.open_named("RE-2026-1005")
    await clerk.press("Why this step?")
    await clerk.sees("Next step")
    await judge(clerk)
    await clerk.open_named("RE-2026-1005")
    await clerk.press("Statement of account")
    await clerk.fill("As of", "2026-03-01")
    await clerk.press("Apply")
    await clerk.sees("Statement of account as of %(day)s")
    await clerk.open_named("RE-2026-1005")
    async with clerk.page.expect_navigation():
        await clerk.find("View as debtor").click()
    await clerk.page.go_back()
    await clerk.arrive()


async def work_on_a_claim(clerk: AtWork, judge: Judge) -> None:
    await clerk.go(f"/claims/{clerk.world.claim_ids[6]}")
    await clerk.press("Add note")
    await clerk.fill("Note", "Rings back on Friday.")
    await clerk.press("Add note")
    await clerk.reads("Rings back on Friday.")
    await clerk.press("Record payment")
    await clerk.fill("Amount", "nothing")
    await clerk.press("Record payment")
    await clerk.sees("Please check your entries")
    await judge(clerk)
    await clerk.fill("Amount", "1,50" if clerk.way.language == "de" else "1.50")
    await clerk.press("Record payment")
    await clerk.sees("Payment recorded.")
    await clerk.press("Pause")
    await clerk.fill("Reason", "Until the lawyer has written")
    await clerk.press("Pause")
    await clerk.sees("Claim paused.")
    await clerk.press("Resume")
    await clerk.press("Resume")
    await clerk.sees("Claim resumed.")
    await clerk.press("Edit")
    await clerk.fill("City", "Bremen")
    await clerk.press("Save")
    await clerk.reads("Bremen")
    await clerk.press("Close claim")
    await clerk.choose("Withdraw: the claim is dropped and nothing is to be paid")
    await clerk.press("Close claim")
    await clerk.sees("Claim closed.")


async def answer_a_plan(clerk: AtWork, judge: Judge) -> None:
    await clerk.press("Payment plan & deferral requests")
    await clerk.open_named("RE-2026-1004")
    await clerk.press("Send response")
    await clerk.sees("Choose a decision.")
    await judge(clerk)
    await clerk.choose("Approve: the workflow stays on hold while the debtor pays as agreed")
    await clerk.press("Send response")
    await clerk.sees("Response sent.")


async def settle_what_is_unknown(clerk: AtWork, judge: Judge) -> None:
    """Payments, requests, messages, and addresses that nobody writes to."""
    await clerk.world.harness.rows(_UNKNOWN + " RETURNING 1", clerk.world.claim_ids[7])
    await clerk.turn_to("Payments")
    await clerk.press("Recorded")
    await clerk.press("Payments started by debtors")
    await clerk.turn_to("Messages")
    await clerk.press("Suppression list")
    await clerk.press("Messages")
    await clerk.pick("Status", "UNKNOWN")
    await clerk.press("Apply")
    await clerk.press("Resolve")
    await judge(clerk)
    await clerk.choose("Not sent: send the message again")
    await clerk.press("Save")
    await clerk.sees("Resolved.")


async def let_somebody_in(clerk: AtWork, judge: Judge) -> None:
    await clerk.unfold_person()
    await clerk.press_at(clerk.page.get_by_role("link", name=clerk.say("Users")))
    await clerk.press("Invite user")
    await clerk.fill("Name", "Robin")
    email = f"robin-{clerk.person.user_id.hex[:8]}@example.org"
    await clerk.fill("E-mail address", email)
    await clerk.tick(clerk.page.locator("main input[name=role][value=AUDITOR]"))
    await clerk.press("Create invitation")
    await clerk.reads("/portal/invitation/")
    await judge(clerk)
    await clerk.press("Back to users")
    await clerk.reads(email)
    await clerk.unfold_person()
    await clerk.press_at(clerk.page.get_by_role("link", name=clerk.say("My account")))
    await clerk.sees("Sessions")
    await clerk.unfold_person()
    await clerk.press_at(clerk.page.get_by_role("button", name=clerk.say("Sign out")))
    await clerk.sees("Sign in")


_JOURNEYS: Mapping[str, Callable[[AtWork, Judge], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        answer_an_objection, find_and_keep, write_the_list_out, pause_many, look_at_a_claim,
        work_on_a_claim, answer_a_plan, settle_what_is_unknown, let_somebody_in,
    )
}  # fmt: skip


@in_all_portal_ways
async def test_a_user_signs_in_with_password_and_app_and_chooses_a_merchant(
    tabs: Tabs, site: Site, way: PortalWay
) -> None:
    world = await create_portal_data(site.payments.harness)
    async with stand_at_door(tabs, site, world, way, "door") as clerk:
        await sign_in(clerk)


@in_all_portal_ways
@pytest.mark.parametrize("journey", _JOURNEYS)
async def test_a_day_in_the_portal(
    tabs: Tabs,
    site: Site,
    html_checker: HtmlChecker,
    journey: str,
    way: PortalWay,
) -> None:
    """The pages on the way that nothing else opens are judged once in either language."""
    world = await create_portal_data(site.payments.harness)

    async def judge(clerk: AtWork) -> None:
        if clerk.way.scripts:
            await clerk.judge(html_checker)

    async with sit_down(tabs, site, world, way, journey) as clerk:
        await _JOURNEYS[journey](clerk, judge)
