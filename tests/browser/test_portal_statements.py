"""Refunds and bank statements in Chromium: every page is accessible and fits its width, and entries
are assigned with the keyboard."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from uuid import UUID

import pytest
from playwright.async_api import FilePayload, Page, expect

from dunwell.cases.statements.import_statements import import_next_file
from dunwell.cases.statements.matches.match_transactions import match_new_transactions
from dunwell.core.claims.searching.search_claims import index_claims
from tests.browser.browser_page import Tabs
from tests.browser.html_checker import HtmlChecker
from tests.browser.page_checks import list_loose_ends
from tests.browser.site import RunningApplication
from tests.browser.test_portal_money import SignedInPage, open_portal
from tests.support.bank_files import (
    build_balance,
    build_camt,
    build_detail,
    build_entry,
    build_statement,
)
from tests.support.payouts import move, pay_out
from tests.support.statements import StatementHarness, build_credit, build_file

_ENTRIES = "/bank/accounts/main/entries"
# The claims that entries were assigned to, in the order of the list.
_CHOSEN = """
SELECT c.reference_number
FROM bank_matches m
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
WHERE m.merchant_id = $1
ORDER BY m.entry_id
"""
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


async def _take_money_back(tab: SignedInPage) -> UUID:
    """Record a negative payout that its movements do not explain, and return it."""
    harness = tab.data.harness
    [claim_id, *_] = tab.data.claim_ids
    await move(harness, claim_id, "ch_1", "PAID", 20_00)
    await move(harness, claim_id, "du_1", "CHARGED_BACK", 65_00)
    parts = ("ch_1", 20_00), ("du_1", -65_00), ("ch_other", 5_00)
    return await pay_out(harness, -55_00, 16_50, *parts)


async def _load_partial_return(tab: SignedInPage) -> None:
    """Import a payment of two claims, and a return of a part of it."""
    more = "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>"
    details = build_detail("102.40", "Retoure", kind="DBIT", more=more)
    statements = StatementHarness(tab.data.harness)
    paid = build_credit("204.80", "RE-2026-1007 RE-2026-1008", "two")
    returned = build_entry(
        "102.40", kind="DBIT", reference="part", details=details, day="2026-11-25"
    )
    for entry in (paid, returned):
        await statements.load(build_file(entry.replace("E2E-1", "E2E-TWO")))


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
        await _load_partial_return(tab)
        payout_id = await _take_money_back(tab)
        pages = {
            "payment-of-entry": f"/payments/{entry_payment}",
            "payment-surplus": f"/payments/{payment_id}", "surplus": "/payments?show=unmatched",
            "refund": f"/payments/{payment_id}/refund", "bank": "/bank",
            "bank-account": "/bank/accounts/main", "entries": _ENTRIES, "payouts": "/bank/payouts",
            "bank-new": "/bank/new", "bank-setup": "/bank/accounts/main/settings",
            "bank-csv": "/bank/accounts/main/csv", "payout": f"/bank/payouts/{payout_id}",
            "bank-close": "/bank/accounts/main/close",
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
        await _check_doubtful_files(tab, locale[:2])
        await tab.go(f"/payments/{payment_id}/refund")
        await tab.page.locator("button[value=preview]").click()
        await tab.check_page(f"refund-preview-{locale[:2]}")
        await tab.page.locator("button[value=confirm]").click()
        await tab.check_page(f"refund-ordered-{locale[:2]}")
        await tab.go("/bank/accounts/main/close")
        await tab.page.locator("button[value=close]").click()
        await tab.check_page(f"bank-closed-{locale[:2]}")
        assert tab.complaints == []
    assert found == []


async def _check_doubtful_files(tab: SignedInPage, language: str) -> None:
    for name, content in _DOUBTFUL.items():
        file = await StatementHarness(tab.data.harness).load(content)
        await tab.go(f"/bank/files/{file.file_id}")
        await tab.check_page(f"file-{name}-{language}")
    await tab.go("/bank/accounts/main")
    await tab.page.get_by_role("link", name="S-HELD").click()
    await tab.check_page(f"statement-held-{language}")


@dataclass
class Typist:
    """A clerk at the keyboard. A person's time is estimated as in the keystroke-level model: 0.28
    seconds for a key, and 1.35 seconds for each thing that has to be read or decided."""

    page: Page
    keys: int = 0
    thoughts: int = 0

    @property
    def seconds(self) -> float:
        return 0.28 * self.keys + 1.35 * self.thoughts

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.page.keyboard.press(key)
        self.keys += len(keys)

    async def write(self, text: str) -> None:
        await self.page.keyboard.type(text)
        self.keys += len(text)

    async def send(self) -> None:
        async with self.page.expect_navigation():
            await self.press("Enter")

    async def find_focus(self) -> None:
        """Wait until the first entry has the focus, which comes a moment after the page loads."""
        await expect(self.page.locator("[data-entry]").first.locator(":focus")).to_have_count(1)

    async def decide(self, how: str) -> None:
        """Decide about the first entry, whose element has the focus."""
        await self.find_focus()
        # The amount and the purpose are read, and what the entry belongs to is decided.
        self.thoughts += 2
        if how == "second suggestion":
            # Between the two buttons is the link to the first claim.
            await self.press("Tab", "Tab")
        elif how == "reference":
            await self.write("RE-2026-1004")
        elif how == "name":
            await self.write("Mustermann")
            await self.send()
            # The first of the claims that were found has the focus.
            await self.find_focus()
            self.thoughts += 1
        elif how == "no claim":
            await self.write("Fee of the bank")
        await self.send()


# What a clerk does with each of twenty entries, in the order of the list, and their purposes.
_DECISIONS = {
    "first suggestion": (10, "RE-2026-1005 RE-2026-1006"),
    "second suggestion": (3, "RE-2026-1006 RE-2026-1007"),
    "reference": (3, "Vielen Dank"),
    "name": (2, "Rechnung vom Mai"),
    "no claim": (2, "Entgelt"),
}


def _build_entry(number: int, how: str, text: str) -> str:
    kind, amount = "DBIT" if how == "no claim" else "CRDT", f"{number + 1}.00"
    details = build_detail(amount, text, kind=kind)
    return build_entry(amount, kind=kind, reference=f"B-{number}", details=details)


async def test_twenty_entries_of_all_kinds_are_decided_with_the_keyboard_in_two_minutes(
    tabs: Tabs, application: RunningApplication
) -> None:
    decisions = [(how, text) for how, (count, text) in _DECISIONS.items() for _ in range(count)]
    async with open_portal(tabs, application) as tab:
        harness = tab.data.harness
        await index_claims(harness.resources)
        statements = StatementHarness(harness)
        await statements.save()
        entries = [_build_entry(number, *each) for number, each in enumerate(decisions)]
        await statements.load(build_file(*entries))
        assert len(await statements.opened()) == len(decisions) == 20
        await tab.go(_ENTRIES)
        typist, begun = Typist(tab.page), monotonic()
        for how, text in decisions:
            await expect(tab.page.locator("[data-entry]").first).to_contain_text(text)
            await typist.decide(how)
            done = "Recorded without a claim." if how == "no claim" else "Assigned."
            await expect(tab.page.get_by_role("status").first).to_contain_text(done)
        waited = monotonic() - begun
        states = [state for state, _ in await statements.states()]
        assert (states.count("MATCHED"), states.count("WITHOUT_CLAIM")) == (18, 2)
        rows = await harness.rows(_CHOSEN)
        assert [row["reference_number"] for row in rows][10:16] == [
            *["RE-2026-1007"] * 3, *["RE-2026-1004"] * 3,
        ]  # fmt: skip
        print(f"{typist.keys} keys, {typist.seconds:.0f} s of a person, {waited:.0f} s of waiting")
        assert typist.seconds + waited < 120
        assert tab.complaints == []


async def test_a_key_goes_to_the_next_entry(tabs: Tabs, application: RunningApplication) -> None:
    async with _open(tabs, application) as (tab, _):
        page = tab.page
        await tab.go(_ENTRIES)
        await Typist(page).find_focus()
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
