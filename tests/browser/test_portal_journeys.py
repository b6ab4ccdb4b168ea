"""The portal's door, and a day's work behind it: each journey by mouse and by keyboard, on a phone
and on a screen, with scripts and without, in English and in German."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from dunwell.core.files.storage import SealedFiles
from dunwell.operations.jobs.run_exports import run_exports
from dunwell.operations.jobs.run_jobs import run_jobs
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
from tests.browser.visit import Tabs
from tests.support.portal_world import a_portal_world

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
    await clerk.press("Objections to answer")
    await clerk.open_named("Erika Mustermann")
    await clerk.choose("No: the claim stands")
    await clerk.fill("Message to the debtor", _ANSWER)
    await clerk.press("Look at it before it is sent")
    await clerk.reads(_ANSWER)
    await clerk.sees("What becomes of the claim")
    await judge(clerk)
    await clerk.press("Send the answer")
    await clerk.sees("The answer is sent.")
    await clerk.reads(_ANSWER)
    await clerk.turn_to("Disputes")
    await clerk.sees("No objection waits for an answer.")


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
    await clerk.unfold("Order and columns")
    await clerk.choose("Company")
    await clerk.press("Show it like this")
    await judge(clerk)
    address = clerk.page.url
    assert "status=IN_PROCESS" in address
    assert "sort=-reference" in address
    await clerk.page.reload()
    assert await reference.get_attribute("aria-sort") == "descending"
    await clerk.unfold("Save these filters as a view")
    await clerk.fill("Name", "Mine")
    await clerk.press("Save the view")
    await clerk.sees("The view is saved.")
    await clerk.turn_to("Claims")
    await clerk.open_named("Mine")
    assert clerk.page.url == address
    await clerk.open_named("RE-2026-1000")
    await clerk.page.go_back()
    await clerk.arrive()
    assert await clerk.page.locator("#status").input_value() == "IN_PROCESS"


async def write_the_list_out(clerk: AtWork, judge: Judge) -> None:
    await clerk.turn_to("Claims")
    await clerk.press("Write the list out as CSV")
    resources = clerk.site.till.resources
    while await run_exports(resources, SealedFiles.open(resources)):
        pass
    await clerk.page.reload()
    await judge(clerk)
    assert b"RE-2026-1009" in await clerk.save("Download the file (%(size)s)")
    await clerk.turn_to("Background jobs")
    await clerk.sees("Write out a list")


async def pause_many(clerk: AtWork, judge: Judge) -> None:
    """Tried, begun, broken off, begun again, and what failed is tried once more."""
    resources = clerk.site.till.resources
    await _begin_pause(clerk, judge)
    await clerk.press("Cancel the rest")
    await clerk.sees("Cancelled")
    await _begin_pause(clerk)
    await run_jobs(resources)
    await clerk.world.house.rows(_FAIL + " RETURNING 1")
    await clerk.world.house.rows(_COUNT_FAILED + " AND state = 'DONE' RETURNING 1")
    await clerk.page.reload()
    await clerk.sees("What was not done")
    await judge(clerk)
    rows = await clerk.save("What became of each claim, as CSV")
    assert ("Nr.,Forderung" if clerk.way.language == "de" else "No.,Claim") in rows.decode("utf-8")
    await clerk.press("Try the failed again")
    await run_jobs(resources)
    await clerk.page.reload()
    await clerk.sees("Done")


async def _begin_pause(clerk: AtWork, judge: Judge | None = None) -> None:
    await clerk.turn_to("Claims")
    for reference in ("RE-2026-1007", "RE-2026-1008"):
        await clerk.choose("Tick %(reference)s", reference=reference)
    await clerk.press("Pause")
    await clerk.press("Try it without any effect")
    await clerk.sees("What would become of it")
    if judge is not None:
        await judge(clerk)
    await clerk.fill("To confirm, type how many claims are chosen", "2")
    await clerk.press("Pause claims")
    await clerk.sees("The job has begun. It goes on when you close this page.")


async def look_at_a_claim(clerk: AtWork, judge: Judge) -> None:
    claim_at = f"/claims/{clerk.world.claim_ids[5]}"
    await clerk.go(claim_at)
    await clerk.press("Messages")
    await clerk.press_at(clerk.page.locator("ol.timeline a").first)
    await clerk.sees("Original message")
    await judge(clerk)
    await clerk.open_named("RE-2026-1005")
    await clerk.press("Why?")
    await clerk.sees("What comes next, and why")
    await judge(clerk)
    await clerk.open_named("RE-2026-1005")
    await clerk.press("Account")
    await clerk.fill("As of the end of", "2026-03-01")
    await clerk.press("Show")
    await clerk.sees("Account at the end of %(day)s")
    await clerk.open_named("RE-2026-1005")
    async with clerk.page.expect_navigation():
        await clerk.find("As the debtor sees it").click()
    await clerk.page.go_back()
    await clerk.arrive()


async def work_on_a_claim(clerk: AtWork, judge: Judge) -> None:
    await clerk.go(f"/claims/{clerk.world.claim_ids[6]}")
    await clerk.press("Write a note")
    await clerk.fill("Note", "Rings back on Friday.")
    await clerk.press("Save the note")
    await clerk.reads("Rings back on Friday.")
    await clerk.press("Payment received")
    await clerk.fill("Amount", "nothing")
    await clerk.press("Record the payment")
    await clerk.sees("Please check what you entered")
    await judge(clerk)
    await clerk.fill("Amount", "1,50" if clerk.way.language == "de" else "1.50")
    await clerk.press("Record the payment")
    await clerk.sees("The payment is recorded.")
    await clerk.press("Pause")
    await clerk.fill("Why", "Until the lawyer has written")
    await clerk.press("Pause")
    await clerk.sees("The claim is paused.")
    await clerk.press("Resume")
    await clerk.press("Resume")
    await clerk.sees("The claim goes on.")
    await clerk.press("Change")
    await clerk.fill("City", "Bremen")
    await clerk.press("Save")
    await clerk.reads("Bremen")
    await clerk.press("Archive or withdraw")
    await clerk.choose("Withdraw: you do not ask for the money any more")
    await clerk.press("End the process")
    await clerk.sees("The process has ended.")


async def answer_a_plan(clerk: AtWork, judge: Judge) -> None:
    await clerk.press("Instalments or more time, asked for")
    await clerk.open_named("RE-2026-1004")
    await clerk.press("Send the answer")
    await clerk.sees("Choose whether you agree or not.")
    await judge(clerk)
    await clerk.choose("Yes: the process rests as long as it is kept")
    await clerk.press("Send the answer")
    await clerk.sees("The answer is sent.")


async def settle_what_is_unknown(clerk: AtWork, judge: Judge) -> None:
    """Payments, requests, messages, and addresses that nobody writes to."""
    await clerk.world.house.rows(_UNKNOWN + " RETURNING 1", clerk.world.claim_ids[7])
    await clerk.turn_to("Payments")
    await clerk.press("Recorded")
    await clerk.press("Begun by debtors")
    await clerk.turn_to("Messages")
    await clerk.press("Addresses not written to")
    await clerk.press("Messages")
    await clerk.pick("State", "UNKNOWN")
    await clerk.press("Apply")
    await clerk.press("Settle")
    await judge(clerk)
    await clerk.choose("It was not sent: it is sent again")
    await clerk.press("Settle it")
    await clerk.sees("Settled.")


async def let_somebody_in(clerk: AtWork, judge: Judge) -> None:
    await clerk.unfold_person()
    await clerk.press_at(clerk.page.get_by_role("link", name=clerk.say("Users")))
    await clerk.press("Invite somebody")
    await clerk.fill("Name", "Robin")
    email = f"robin-{clerk.person.user_id.hex[:8]}@example.org"
    await clerk.fill("E-mail address", email)
    await clerk.tick(clerk.page.locator("main input[name=role][value=AUDITOR]"))
    await clerk.press("Make a link")
    await clerk.reads("/portal/invitation/")
    await judge(clerk)
    await clerk.press("Back to all people")
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
async def test_somebody_signs_in_with_password_and_app_and_chooses_the_merchant(
    tabs: Tabs, site: Site, way: PortalWay
) -> None:
    world = await a_portal_world(site.till.house)
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
    world = await a_portal_world(site.till.house)

    async def judge(clerk: AtWork) -> None:
        if clerk.way.scripts:
            await clerk.judge(html_checker)

    async with sit_down(tabs, site, world, way, journey) as clerk:
        await _JOURNEYS[journey](clerk, judge)
