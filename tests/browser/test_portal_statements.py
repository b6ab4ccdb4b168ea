"""Refunds and bank statements in Chromium: every page is accessible and fits its width, and entries
are assigned with the keyboard."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from uuid import UUID

import pytest
from playwright.async_api import FilePayload, expect

from dunwell.cases.statements.import_statements import import_next_file
from dunwell.cases.statements.matches.match_transactions import match_new_transactions
from dunwell.core.claims.searching.search_claims import index_claims
from tests.browser.browser_page import Tabs
from tests.browser.html_checker import HtmlChecker
from tests.browser.page_checks import list_loose_ends
from tests.browser.site import RunningApplication
from tests.browser.test_portal_money import SignedInPage, open_portal
from tests.support.bank_files import build_balance, build_camt, build_entry, build_statement
from tests.support.statements import StatementHarness, build_credit, build_file

_ENTRIES = "/bank/accounts/main/entries"
# A file whose statement is held, and one that is refused.
_DOUBTFUL = {
    "held": build_camt(
        statements=build_statement(
            build_entry("12.50", reference="H-1", status="<Cd>NEW</Cd>"),
            build_credit("1.00", "RE-2026-1005", "H-2"),
            balances=build_balance("OPBD", "100.00") + build_balance("CLBD", "9.00"),
            statement_id="S-HELD",
        )
    ),
    "refused": build_camt(build_entry("12,50", reference="B-2")),
}


async def _pay_too_much(tab: SignedInPage) -> UUID:
    """Let the debtor pay 17.60 too much through the provider, and return the payment."""
    payments = tab.site.payments
    owed = (await payments.harness.read(payments.claim_id)).balance.outstanding_cents
    started = await payments.start(owed)
    payments.pays(owed + 1760)
    await payments.settle(started.request_id)
    [row] = await payments.harness.rows(
        "SELECT payment_id FROM payments WHERE merchant_id = $1 AND request_id IS NOT NULL"
    )
    payment_id: UUID = row["payment_id"]
    return payment_id


async def _load_statement(tab: SignedInPage, unclear: int) -> None:
    """Import a statement with entries that name two claims, and others that name none."""
    harness = tab.data.harness
    await index_claims(harness.resources)
    statements = StatementHarness(harness)
    await statements.save()
    entries = [
        build_credit("102.40", "RE-2026-1007 RE-2026-1008", "set"),
        build_credit("49.00", "Rechnung Wasser, vielen Dank <b>!</b>".replace("<", "&lt;"), "name"),
        build_credit("102.40", "RE-2026-1009", "sure"),
        *(build_credit(f"{number}.00", f"RE-2026-1005 RE-2026-1006 {number}", f"more-{number}")
          for number in range(1, unclear + 1)),
    ]  # fmt: skip
    await statements.load(build_file(*entries))
    async with harness.work() as work:
        await match_new_transactions(work, "main")


async def _load_resembling_entry(tab: SignedInPage) -> UUID:
    """Import an entry with the reference and the amount of one of the next day, and return the
    payment of another entry."""
    harness = tab.data.harness
    entry = build_credit("49.00", "Rechnung Wasser", "name", day="2026-11-26")
    await StatementHarness(harness).load(build_file(entry))
    [row] = await harness.rows(
        "SELECT payment_id FROM bank_matches WHERE merchant_id = $1 AND rule = 'REFERENCE'"
    )
    payment_id: UUID = row["payment_id"]
    return payment_id


@asynccontextmanager
async def _open(
    tabs: Tabs, application: RunningApplication, locale: str = "en-GB", unclear: int = 2
) -> AsyncIterator[tuple[SignedInPage, UUID]]:
    async with open_portal(tabs, application, locale=locale) as tab:
        await _load_statement(tab, unclear)
        yield tab, await _pay_too_much(tab)


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
async def test_every_page_is_accessible_and_fits(
    tabs: Tabs, application: RunningApplication, html_checker: HtmlChecker, locale: str
) -> None:
    found = []
    async with _open(tabs, application, locale) as (tab, payment_id):
        entry_payment = await _load_resembling_entry(tab)
        pages = {
            "payment-of-entry": f"/payments/{entry_payment}",
            "payment-surplus": f"/payments/{payment_id}", "surplus": "/payments?show=unmatched",
            "refund": f"/payments/{payment_id}/refund", "bank": "/bank",
            "bank-account": "/bank/accounts/main", "entries": _ENTRIES, "payouts": "/bank/payouts",
            "bank-new": "/bank/new", "bank-setup": "/bank/accounts/main/settings",
            "bank-csv": "/bank/accounts/main/csv",
        }  # fmt: skip
        for name, path in pages.items():
            source = await tab.go(path)
            faults = [
                *await html_checker.list_faults(source),
                *list_loose_ends(source, "default-src 'none'"),
            ]
            found += [f"{name} {each}" for each in faults]
            await tab.check_page(f"{name}-{locale[:2]}")
        await tab.go("/bank/accounts/main")
        await tab.page.locator("main a[href*='/statements/']").last.click()
        await tab.check_page(f"statement-{locale[:2]}")
        await tab.page.locator("summary", has_text=re.compile("Why|Warum")).first.click()
        await tab.check_page(f"statement-why-{locale[:2]}")
        for name, content in _DOUBTFUL.items():
            file = await StatementHarness(tab.data.harness).load(content)
            await tab.go(f"/bank/files/{file.file_id}")
            await tab.check_page(f"file-{name}-{locale[:2]}")
        await tab.go("/bank/accounts/main")
        await tab.page.get_by_role("link", name="S-HELD").click()
        await tab.check_page(f"statement-held-{locale[:2]}")
        await tab.go(f"/payments/{payment_id}/refund")
        await tab.page.locator("button[value=preview]").click()
        await tab.check_page(f"refund-preview-{locale[:2]}")
        await tab.page.locator("button[value=confirm]").click()
        await tab.check_page(f"refund-ordered-{locale[:2]}")
        assert tab.complaints == []
    assert found == []


async def test_twenty_entries_are_assigned_with_the_keyboard(
    tabs: Tabs, application: RunningApplication
) -> None:
    async with _open(tabs, application, unclear=18) as (tab, _):
        page = tab.page
        await tab.go(_ENTRIES)
        begun = monotonic()
        for left in range(19, -1, -1):
            if await page.locator("button[autofocus]").count() == 0:
                await page.keyboard.type("RE-2026-1004")
            async with page.expect_navigation():
                await page.keyboard.press("Enter")
            await expect(page.get_by_role("status").first).to_contain_text("Assigned.")
            assert await page.locator("[data-entry]").count() == min(left, 20)
        assert monotonic() - begun < 120
        assert tab.complaints == []


async def test_a_key_goes_to_the_next_entry(tabs: Tabs, application: RunningApplication) -> None:
    async with _open(tabs, application) as (tab, _):
        page = tab.page
        await tab.go(_ENTRIES)
        await page.keyboard.press("n")
        await expect(page.locator("#entry-2 :focus")).to_have_count(1)
        await page.locator("#entry-4 summary").focus()
        await page.keyboard.press("n")
        await expect(page.locator("#entry-1 :focus")).to_have_count(1)


_CSV = (
    "Buchungstag;Verwendungszweck;Name;Betrag\n"
    "02.03.2026;RE-2026-1009;Erika Müller;102,40\n"
    "02.03.2026;Gebühr;Bank;-1,50\n"
).encode("windows-1252")


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
async def test_an_account_with_csv_files_is_set_up_and_its_first_file_imported(
    tabs: Tabs, application: RunningApplication, locale: str
) -> None:
    async with open_portal(tabs, application, locale=locale) as tab:
        page = tab.page
        await tab.go("/bank/new")
        await page.locator("#account").fill("giro")
        await page.locator("#iban").fill("DE02 1203 0000 0000 2020 51")
        await page.locator("#holder").fill("Nordwind GmbH")
        await page.locator("main form button.primary").click()
        await page.locator("main a[href$='/csv']").click()
        sample = FilePayload(name="umsatz.csv", mimeType="text/csv", buffer=_CSV)
        await page.locator("#sample_file").set_input_files(sample)
        await page.locator("button[value=look]").click()
        for name, column in (
            ("bookedOn", "Buchungstag"), ("amount", "Betrag"), ("counterpartyName", "Name"),
            ("referenceText", "Verwendungszweck"),
        ):  # fmt: skip
            await page.locator(f"#{name}").select_option(column)
        await tab.check_page(f"csv-columns-{locale[:2]}")
        await page.locator("button[value=look]").click()
        await expect(page.locator("#read")).to_contain_text("2")
        await tab.check_page(f"csv-preview-{locale[:2]}")
        await page.locator("button[value=save]").click()
        await expect(page.get_by_role("status").first).to_be_visible()
        await page.locator("#file").set_input_files(sample)
        await page.locator("main form[enctype] button").click()
        await import_next_file(tab.data.harness.resources)
        await page.reload()
        await expect(page.locator("main")).to_contain_text("umsatz.csv")
        await tab.check_page(f"csv-imported-{locale[:2]}")
        statements = StatementHarness(tab.data.harness)
        assert await statements.count("bank_transactions") == 2
        assert tab.complaints == []
