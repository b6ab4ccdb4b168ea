"""Direct debits in Chromium: every page is accessible and fits its width, and two clerks release a
file, of whom the second downloads it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from playwright.async_api import Page, expect

from dunwell.cases.direct_debit.debit_results import DebitOutcome
from dunwell.cases.direct_debit.files.release_debits import confirm_debit_file
from dunwell.cases.direct_debit.store import list_mandate_collections
from dunwell.cases.modalities.limits import PlanTerms
from tests.browser.browser_page import Tabs, listen
from tests.browser.html_checker import HtmlChecker
from tests.browser.page_checks import keep_screenshot, list_loose_ends, list_violations, measure
from tests.browser.site import OFFERING_ALL, RunningApplication, Site
from tests.support.debit_plans import DEBIT, SECOND, Debits, find_texts
from tests.support.modalities import Arrangement
from tests.support.portal import COOKIE, sign_in
from tests.support.portal_data import PortalData, create_portal_data

_HEIGHT = 900


@dataclass
class DebitDesk:
    """A merchant with two debits to release, and the browsers of its clerks."""

    site: Site
    data: PortalData
    debits: Debits
    complaints: list[str]

    def address(self, path: str) -> str:
        return f"{self.site.origin}/portal/m/{self.data.harness.merchant.merchant_id}{path}"

    async def go(self, page: Page, path: str) -> str:
        """Open the path and return the page's source."""
        answer = await page.goto(self.address(path))
        assert answer is not None
        assert answer.status == 200, path
        return await answer.text()


async def _start(site: Site, data: PortalData) -> Debits:
    """Give a mandate for two plans, and notify the debtors of the first debits."""
    harness = data.harness
    first_on = harness.clock.now().date() + timedelta(days=14)
    arrangement = Arrangement(harness, data.plan_claim_id)
    await arrangement.approve(data.plan_id)
    other = Arrangement(harness, data.claim_ids[8])
    asked = await other.ask(PlanTerms(3, first_on))
    if asked.answered_at is None:
        await other.approve(asked.modality_id)
    debits = Debits(arrangement, data.plan_id)
    await debits.sign()
    await Debits(other, asked.modality_id).sign()
    await debits.plan_at()
    await debits.plan_at(site.clock.now() + timedelta(days=8))
    return debits


@asynccontextmanager
async def _open(
    application: RunningApplication, *, second_release: bool = True
) -> AsyncIterator[DebitDesk]:
    debit = msgspec.structs.replace(DEBIT, second_release=second_release)
    payment = msgspec.structs.replace(OFFERING_ALL.payment, direct_debit=debit)
    site = await application.create_site(msgspec.structs.replace(OFFERING_ALL, payment=payment))
    data = await create_portal_data(site.payments.harness)
    yield DebitDesk(site, data, await _start(site, data), [])


@asynccontextmanager
async def _seat(tabs: Tabs, desk: DebitDesk, locale: str, **given: Any) -> AsyncIterator[Page]:
    """Yield the browser of a clerk who is signed in."""
    harness = desk.data.harness
    clerk = await sign_in(desk.site.payments.resources, desk.site.app, harness, language=locale[:2])
    secret = clerk.http.cookies[COOKIE]
    async with (
        tabs.lend(desk.site, locale=locale, **given) as page,
        listen(page) as complaints,
    ):
        await page.context.add_cookies([{"name": COOKIE, "value": secret, "url": desk.site.origin}])
        await page.set_viewport_size({"width": 1280, "height": _HEIGHT})
        yield page
        desk.complaints += complaints


async def _check(page: Page, name: str) -> None:
    for width in (1280, 390):
        await page.set_viewport_size({"width": width, "height": _HEIGHT})
        measured = await measure(page)
        assert not measured["scrolls"], (name, width, measured)
        assert not measured["broken"], (name, width, measured)
        assert await list_violations(page) == [], (name, width)
        await keep_screenshot(page, f"debits-{name}-{width}")
    await page.set_viewport_size({"width": 1280, "height": _HEIGHT})


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
async def test_every_page_is_accessible_and_fits(
    tabs: Tabs, application: RunningApplication, html_checker: HtmlChecker, locale: str
) -> None:
    found = []
    async with _open(application) as desk, _seat(tabs, desk, locale) as page:
        first, second = await desk.debits.releasable()
        returned = await _return(desk)
        proposed = await desk.debits.release(ids=[second])
        [mandate, *_] = await desk.data.harness.rows(
            "SELECT mandate_id, claim_id FROM mandates WHERE merchant_id = $1 AND claim_id = $2",
            desk.data.plan_claim_id,
        )
        pages = {
            "overview": "", "release": "/debits", "all": "/debits?show=all",
            "debit": f"/debits/{first}", "returned": f"/debits/{returned}",
            "files": "/debits/files", "file": f"/debits/files/{proposed.file_id}",
            "mandates": "/mandates",
            "mandate": f"/claims/{mandate['claim_id']}/mandates/{mandate['mandate_id']}",
            "claim": f"/claims/{mandate['claim_id']}",
            "plan": f"/claims/{mandate['claim_id']}/plans/{desk.data.plan_id}",
        }  # fmt: skip
        for name, path in pages.items():
            source = await desk.go(page, path)
            policy = "default-src 'none'"
            faults = [*await html_checker.list_faults(source), *list_loose_ends(source, policy)]
            found += [f"{name} {each}" for each in faults]
            await _check(page, f"{name}-{locale[:2]}")
    assert found == []
    assert desk.complaints == []


async def _return(desk: DebitDesk) -> str:
    """Copy a plan's second debit into a file that the bank has returned, and return its id."""
    harness, claim_id = desk.data.harness, desk.data.claim_ids[8]
    [row] = await harness.rows(
        "UPDATE debit_collections SET state = 'PRENOTIFIED', notified_at = changed_at"
        " WHERE merchant_id = $1 AND claim_id = $2 AND instalment = 2"
        " RETURNING collection_id, mandate_id",
        claim_id,
    )
    await harness.rows(
        "INSERT INTO debtor_occasions (merchant_id, claim_id, occasion, subject, notice_id,"
        " ended_at) SELECT merchant_id, claim_id, occasion, $3, notice_id, now()"
        " FROM debtor_occasions WHERE merchant_id = $1 AND claim_id = $2 AND occasion = 'debit'"
        " LIMIT 1 RETURNING 1",
        claim_id, str(row["collection_id"]),
    )  # fmt: skip
    file = await desk.debits.release(ids=[row["collection_id"]])
    async with harness.work(SECOND) as work:
        await confirm_debit_file(work, harness.resources.keys, file.file_id)
    await desk.debits.download(file)
    async with harness.work() as work:
        found = await list_mandate_collections(work.tx, work.merchant_id, [row["mandate_id"]])
    [collection] = [each for each in found if each.collection_id == row["collection_id"]]
    await desk.debits.record(collection, outcome=DebitOutcome.RETURNED, reason_code="AM04")
    return str(row["collection_id"])


@pytest.mark.parametrize("scripts", [True, False])
async def test_two_clerks_release_a_file_and_the_second_downloads_it(
    tabs: Tabs, application: RunningApplication, *, scripts: bool
) -> None:
    async with _open(application) as desk:
        async with _seat(tabs, desk, "de-DE", scripts=scripts) as page:
            await desk.go(page, "")
            await page.get_by_role("link", name="Freizugebende Lastschriften").click()
            assert await page.locator("input[name=debit]:checked").count() == 2
            await page.get_by_role("button", name="Prüfen & freigeben").click()
            await expect(page.get_by_role("heading", level=1)).to_contain_text("2 Lastschriften")
            if scripts:
                await _check(page, "preview-de")
            await page.get_by_role("button", name="2 Lastschriften vorschlagen").click()
            await expect(page.get_by_role("status").first).to_contain_text(
                "Ein anderer Benutzer muss diese Datei freigeben."
            )
            assert await page.get_by_role("button", name="Datei freigeben").count() == 0
        async with _seat(tabs, desk, "de-DE", scripts=scripts) as page:
            await desk.go(page, "/debits")
            await page.get_by_role("link", name="Zweite Freigabe nötig").click()
            await expect(page.get_by_role("button", name="Datei freigeben")).to_be_visible()
            if scripts:
                await _check(page, "second-de")
            await page.get_by_role("button", name="Datei freigeben").click()
            await expect(page.get_by_role("status").first).to_contain_text("Freigegeben.")
            if scripts:
                await _check(page, "released-de")
            async with page.expect_download() as downloading:
                await page.get_by_role("button", name="Datei herunterladen").click()
            path = await (await downloading.value).path()
            assert find_texts(await asyncio.to_thread(path.read_bytes), "NbOfTxs")[0] == "2"
            await page.reload()
            await expect(page.locator("main")).to_contain_text("bei der Bank")
        assert desk.complaints == []
