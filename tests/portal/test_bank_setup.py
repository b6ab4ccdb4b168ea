"""Setting up a bank account and its CSV files in the portal."""

import re
from typing import Any

import httpx
import pytest

from dunwell.cases.statements.bank_accounts import close_bank_account
from dunwell.cases.statements.import_statements import import_next_file
from dunwell.cases.statements.store import StatementAccount, list_accounts
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.bank_files import IBAN
from tests.support.debit_plans import NOTICE, deliver_first, start
from tests.support.harness import Harness, a_harness
from tests.support.portal import OWN_FORM, Clerk, sign_in
from tests.support.portal_setup import give, read_form, send
from tests.support.statements import StatementHarness, build_credit, build_file
from tests.support.transfers import ACCOUNT as SHOWN_ACCOUNT
from tests.support.transfers import nordwind_with_account

_CSV = (
    "Buchungstag;Valuta;Verwendungszweck;Name;Betrag\n"
    "02.03.2026;02.03.2026;INV-1001 Müller;Erika Müller;102,40\n"
    "02.03.2026;02.03.2026;Gebühr;Bank;-1,50\n"
).encode("windows-1252")
_MAIN = "/bank/accounts/main"
_NEW = {"account": "giro", "iban": "de02 1203 0000 0000 2020 51", "holder": "Nordwind GmbH"}
_COLUMNS = {
    "bookedOn": "Buchungstag", "amount": "Betrag", "referenceText": "Verwendungszweck",
    "counterpartyName": "Name",
}  # fmt: skip


async def load(harness: Harness) -> dict[str, StatementAccount]:
    async with harness.work() as work:
        return dict(await list_accounts(work.tx, work.merchant_id))


async def add(clerk: Clerk, **typed: Any) -> httpx.Response:
    form = read_form((await clerk.get("/bank/new")).text, "revision")
    return await send(clerk, "/bank/new", {**form, **_NEW, **typed})


async def test_an_account_is_added_and_changed(clerk: Clerk, harness: Harness) -> None:
    saved = await add(clerk, maxAgeBankingDays="3", tolerance="0.50")
    assert saved.status_code == 303, saved.text
    assert (await load(harness))["giro"] == StatementAccount(
        "giro", "DE02120300000000202051", "Nordwind GmbH",
        max_age_banking_days=3, tolerance_cents=50,
    )  # fmt: skip
    assert "Saved." in (await clerk.follow(saved)).text
    path = "/bank/accounts/giro/settings"
    form = read_form((await clerk.get(path)).text, "revision")
    done = await send(clerk, path, {**form, "holder": "Nordwind AG", "maxAgeBankingDays": ""})
    assert done.status_code == 303
    changed = (await load(harness))["giro"]
    assert (changed.holder, changed.max_age_banking_days) == ("Nordwind AG", None)
    [row, *_] = await harness.rows(
        "SELECT actor_kind, action FROM audit_log WHERE merchant_id = $1 ORDER BY audit_id DESC"
    )
    assert (row["actor_kind"], row["action"]) == ("USER", "bankAccount.save")


@pytest.mark.parametrize(
    ("typed", "field", "words"),
    [
        ({"account": "Giro 1"}, "account", "lower-case letters"),
        ({"account": "main"}, "account", "Another bank account has this name"),
        ({"iban": "DE00"}, "iban", "valid IBAN"),
        ({"iban": IBAN}, "iban", "Another bank account has this IBAN"),
        ({"holder": ""}, "holder", "fill this in"),
        ({"maxAgeBankingDays": "31"}, "maxAgeBankingDays", "Enter 1 to 30 days"),
        ({"tolerance": "100.01"}, "tolerance", "up to 100.00"),
        ({"tolerance": "x"}, "tolerance", "Enter an amount"),
    ],
)
async def test_a_fault_says_what_to_enter_and_nothing_is_saved(
    clerk: Clerk, harness: Harness, typed: dict[str, str], field: str, words: str
) -> None:
    await StatementHarness(harness).save()
    before = await load(harness)
    refused = await add(clerk, **typed)
    assert refused.status_code == 422
    [error] = re.findall(rf'id="{field}-error">(.*?)</p>', refused.text, re.DOTALL)
    assert words in error
    assert await load(harness) == before


async def test_the_second_of_two_edits_sees_the_first(clerk: Clerk, harness: Harness) -> None:
    await add(clerk)
    path = "/bank/accounts/giro/settings"
    form = read_form((await clerk.get(path)).text, "revision")
    await send(clerk, path, {**form, "holder": "First"})
    second = await send(clerk, path, {**form, "holder": "Second"})
    assert second.status_code == 409
    assert "Currently saved: First" in " ".join(second.text.split())
    assert (await load(harness))["giro"].holder == "First"
    again = await send(clerk, path, read_form(second.text, "revision"))
    assert again.status_code == 303
    assert (await load(harness))["giro"].holder == "Second"


async def test_csv_columns_are_chosen_from_a_sample_and_a_file_is_imported(
    clerk: Clerk, harness: Harness
) -> None:
    await add(clerk)
    path = "/bank/accounts/giro/csv"
    form = read_form((await clerk.get(path)).text, "revision")
    shown = await give(clerk, path, {**form, "do": "look"}, sample_file=_CSV)
    assert shown.status_code == 200, shown.text
    assert "Erika Müller" in shown.text
    assert "5: Betrag" in shown.text
    form = read_form(shown.text, "revision")
    assert (form["encoding"], form["delimiter"]) == (["windows-1252"], [";"])
    missing = await give(clerk, path, {**form, "do": "save"})
    assert missing.status_code == 422
    assert "fill this in" not in missing.text
    assert "Choose one column for the amount" in missing.text
    wrong = await give(clerk, path, {**form, **_COLUMNS, "dateFormat": "YYYY-MM-DD", "do": "look"})
    assert wrong.status_code == 422
    assert "The sample cannot be read" in wrong.text
    assert (await load(harness))["giro"].csv_mapping is None
    preview = await give(clerk, path, {**form, **_COLUMNS, "do": "look"})
    assert "2 entries are read" in " ".join(preview.text.split())
    assert "€102.40" in preview.text
    saved = await give(clerk, path, {**read_form(preview.text, "revision"), "do": "save"})
    assert saved.status_code == 303, saved.text
    mapping = (await load(harness))["giro"].csv_mapping
    assert mapping is not None
    assert (mapping.booked_on, mapping.amount, mapping.encoding) == (
        "Buchungstag", "Betrag", "windows-1252",
    )  # fmt: skip
    page = await clerk.get("/bank/accounts/giro")
    fields: dict[str, Any] = {
        "token": (None, str(read_form(page.text)["token"][0])), "file": ("a.csv", _CSV),
    }  # fmt: skip
    sent = await clerk.http.post(clerk.at("/bank/accounts/giro"), files=fields, headers=OWN_FORM)
    await import_next_file(harness.resources)
    assert "2 of 2 entries read" in (await clerk.get(sent.headers["Location"])).text


async def test_a_mapping_that_another_user_changed_is_not_overwritten(
    clerk: Clerk, harness: Harness
) -> None:
    await add(clerk)
    path = "/bank/accounts/giro/csv"
    form = read_form((await clerk.get(path)).text, "revision")
    shown = await give(clerk, path, {**form, "do": "look"}, sample_file=_CSV)
    form = {**read_form(shown.text, "revision"), **_COLUMNS, "do": "save"}
    assert (await give(clerk, path, form)).status_code == 303
    second = await give(clerk, path, {**form, "currency": "CHF"})
    assert second.status_code == 409
    mapping = (await load(harness))["giro"].csv_mapping
    assert mapping is not None
    assert mapping.currency == "EUR"


async def test_an_account_is_closed_after_its_consequences_were_shown_and_reopened(
    clerk: Clerk, harness: Harness
) -> None:
    bank = StatementHarness(harness)
    await bank.save()
    await bank.load(build_file(build_credit("1.00", "x", "B-1")))
    assert f"{_MAIN}/close" in (await clerk.get(_MAIN)).text
    shown = " ".join((await clerk.get(f"{_MAIN}/close")).text.split())
    assert "1 open entry</a> stays open" in shown
    assert "No direct debit is announced" not in shown
    assert "still asked to transfer" not in shown
    closed = await clerk.follow(await clerk.send(f"{_MAIN}/close", do="close"))
    text = " ".join(closed.text.split())
    assert "Bank account closed." in text
    assert "This account has been closed since" in text
    assert "Import statement" not in text
    assert "Assign open entries" in text
    assert ">closed</span>" in (await clerk.get("/bank")).text
    assert (await clerk.get(f"{_MAIN}/close")).status_code == 303
    await clerk.get(_MAIN)
    reopened = await clerk.follow(await clerk.send(f"{_MAIN}/close", do="reopen"))
    assert "Bank account reopened." in " ".join(reopened.text.split())
    assert (await load(harness))["main"].closed_at is None


async def test_the_second_user_who_closes_an_account_is_told_so(
    clerk: Clerk, harness: Harness
) -> None:
    await StatementHarness(harness).save()
    await clerk.get(f"{_MAIN}/close")
    assert clerk.page is not None
    form = {"token": read_form(clerk.page.text)["token"], "do": "close"}
    await clerk.post(f"{_MAIN}/close", form)
    closed_at = (await load(harness))["main"].closed_at
    second = await clerk.follow(await clerk.post(f"{_MAIN}/close", form))
    assert "someone else has closed this bank account already" in " ".join(second.text.split())
    assert (await load(harness))["main"].closed_at == closed_at


async def test_a_file_for_an_account_that_was_closed_meanwhile_is_refused(
    clerk: Clerk, harness: Harness
) -> None:
    bank = StatementHarness(harness)
    await bank.save()
    token = read_form((await clerk.get(_MAIN)).text)["token"]
    async with harness.work() as work:
        await close_bank_account(work, "main")
    fields: dict[str, Any] = {"token": (None, str(token[0])), "file": ("a.xml", build_file())}
    sent = await clerk.http.post(clerk.at(_MAIN), files=fields, headers=OWN_FORM)
    assert sent.status_code == 422
    assert "Nothing was imported: this bank account is closed." in sent.text
    assert await bank.count("bank_files") == 0


@pytest.mark.parametrize(("is_delivered", "words"), [(False, "1 debit</a>"), (True, "at the bank")])
async def test_closing_an_account_says_what_happens_with_direct_debits(
    resources: Resources, clock: MovableClock, is_delivered: bool, words: str
) -> None:
    debits = await start(resources, clock)
    harness = debits.arrangement.harness
    await StatementHarness(harness).save()
    if is_delivered:
        await deliver_first(debits)
    else:
        await debits.sign()
        await debits.plan_at()
        await debits.plan_at(NOTICE)
    clerk = await sign_in(resources, an_application(resources).app, harness)
    shown = " ".join((await clerk.get(f"{_MAIN}/close")).text.split())
    assert "No direct debit is announced or released" in shown
    assert words in shown
    assert ("at the bank" in shown) is is_delivered


async def test_closing_the_account_that_debtors_see_warns_of_it(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, configuration=nordwind_with_account())
    account = StatementAccount("main", SHOWN_ACCOUNT.iban, SHOWN_ACCOUNT.holder)
    await StatementHarness(harness).save(account)
    clerk = await sign_in(resources, an_application(resources).app, harness)
    shown = " ".join((await clerk.get(f"{_MAIN}/close")).text.split())
    assert "Debtors are still asked to transfer to this account." in shown
