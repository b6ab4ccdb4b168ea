"""The pages of bank statements: importing a file, deciding open entries, undoing, and payouts."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from dunwell.cases.payments.provider import Payout
from dunwell.cases.statements.import_statements import import_next_file
from dunwell.cases.statements.matches.again import match_again
from dunwell.cases.statements.matches.match_transactions import match_new_transactions
from dunwell.cases.statements.payouts.record_payouts import record_payouts
from dunwell.core.claims.searching.search_claims import index_claims
from dunwell.core.claims.states import Status
from tests.support.bank_files import build_balance, build_camt, build_detail, build_entry
from tests.support.harness import Harness
from tests.support.portal import OWN_FORM, Clerk, read_fields
from tests.support.statements import StatementHarness, build_credit, build_file

_ENTRIES = "/bank/accounts/main/entries"
_UNCLEAR = "Many thanks"


@pytest.fixture
async def statements(harness: Harness) -> StatementHarness:
    statements = StatementHarness(harness)
    await statements.save()
    return statements


async def _load(statements: StatementHarness, *entries: str) -> None:
    await statements.load(build_file(*entries))
    async with statements.harness.work() as work:
        await match_new_transactions(work, "main")


def _list_entries(page: str) -> list[str]:
    """Return the open entries of the page, each as its part of the page."""
    return page.split("data-entry")[1:]


def _read_form(entry: str, do: str) -> dict[str, str]:
    """Return the fields of the entry's form whose button has the value `do`, or of the form of its
    first suggestion if `do` is empty."""
    forms = re.findall(r"<form.*?</form>", entry, re.DOTALL)
    wanted = f'value="{do}"' if do else 'name="share"'
    return {**read_fields(next(each for each in forms if wanted in each)), "do": do}


async def test_a_file_is_imported_with_its_progress(
    clerk: Clerk, statements: StatementHarness
) -> None:
    page = await clerk.get("/bank/accounts/main")
    token = read_fields(page.text)["token"]
    content = build_file(build_credit("102.40", _UNCLEAR))
    path = clerk.at("/bank/accounts/main")
    fields: dict[str, Any] = {"token": (None, token), "file": ("March <b>.xml", content)}
    sent = await clerk.http.post(path, files=fields, headers=OWN_FORM)
    assert sent.status_code == 303
    shown = await clerk.get(sent.headers["Location"])
    assert "March &lt;b&gt;.xml" in shown.text
    assert "data-live" in shown.text
    await import_next_file(statements.harness.resources)
    done = await clerk.get(sent.headers["Location"])
    assert "1 of 1 entries read" in done.text
    assert "Cancel" not in done.text
    listed = await clerk.get("/bank")
    assert "no statement" not in listed.text


async def test_an_import_is_cancelled_once(clerk: Clerk, statements: StatementHarness) -> None:
    file = await statements.submit(build_file(build_credit("102.40", _UNCLEAR)))
    path = f"/bank/files/{file.file_id}"
    await clerk.get(path)
    form = read_fields(clerk.page.text if clerk.page else "")
    first = await clerk.follow(await clerk.post(path, form))
    assert ">cancelled</span>" in first.text
    second = await clerk.follow(await clerk.post(path, form))
    assert "the import has already ended" in second.text


@pytest.mark.parametrize("content", [b"", b"x" * (10 * 1024 * 1024 + 1)])
async def test_a_file_of_no_or_too_many_bytes_is_refused(
    clerk: Clerk, statements: StatementHarness, content: bytes
) -> None:
    token = read_fields((await clerk.get("/bank/accounts/main")).text)["token"]
    fields: dict[str, Any] = {"token": (None, token), "file": ("a.xml", content)}
    path = clerk.at("/bank/accounts/main")
    page = await clerk.http.post(path, files=fields, headers=OWN_FORM)
    assert page.status_code == 422
    assert 'id="file-error"' in page.text
    assert await statements.count("bank_files") == 0


async def test_the_focused_suggestion_is_accepted_and_undone(
    clerk: Clerk, statements: StatementHarness, claim_id: int
) -> None:
    [other] = await statements.harness.create("INV-1002", email="other@example.org")
    await _load(statements, build_credit("102.40", "INV-1001 INV-1002", "A"))
    page = await clerk.get(_ENTRIES)
    [entry] = _list_entries(page.text)
    assert page.text.count(" autofocus") == 1
    assert "Assign to INV-1001" in entry
    assert "pays it exactly" in re.sub(r"\s+", " ", entry)
    done = await clerk.follow(await clerk.post(_ENTRIES, _read_form(entry, "")))
    assert "All entries are" in done.text
    assert (await statements.balance(claim_id))[0] is Status.COLLECTED
    undone = await clerk.follow(await clerk.send(f"{_ENTRIES}", do="undo"))
    assert "Undone." in undone.text
    assert len(_list_entries(undone.text)) == 1
    assert (await statements.balance(claim_id))[1:] == (10240, 0)
    assert (await statements.balance(other))[1:] == (10240, 0)


@pytest.mark.parametrize("typed", ["INV-1001", "{claim_id}"])
async def test_a_typed_reference_or_number_is_assigned_at_once(
    clerk: Clerk, statements: StatementHarness, claim_id: int, typed: str
) -> None:
    await _load(statements, build_credit("112.40", _UNCLEAR))
    [entry] = _list_entries((await clerk.get(_ENTRIES)).text)
    form = {**_read_form(entry, "find"), "typed": typed.format(claim_id=claim_id)}
    done = await clerk.follow(await clerk.post(_ENTRIES, form))
    assert "Assigned." in done.text
    assert await statements.balance(claim_id) == (Status.COLLECTED, 0, 1000)


async def test_a_typed_name_shows_claims_to_choose_from(
    clerk: Clerk, statements: StatementHarness, claim_id: int
) -> None:
    await _load(statements, build_credit("50.00", _UNCLEAR))
    await index_claims(statements.harness.resources)
    [entry] = _list_entries((await clerk.get(_ENTRIES)).text)
    form = {**_read_form(entry, "find"), "typed": "Mustermann"}
    shown = await clerk.post(_ENTRIES, form)
    assert shown.status_code == 200
    assert (await statements.balance(claim_id))[1] == 10240
    [found] = _list_entries(shown.text)
    assert "pays a part, €52.40 stays" in re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", found))
    await clerk.post(_ENTRIES, _read_form(found, ""))
    assert (await statements.balance(claim_id))[1] == 5240


@pytest.mark.parametrize("typed", ["", "NOBODYS<b>"])
async def test_a_text_that_finds_no_claim_is_shown_again(
    clerk: Clerk, statements: StatementHarness, claim_id: int, typed: str
) -> None:
    await _load(statements, build_credit("50.00", _UNCLEAR))
    [entry] = _list_entries((await clerk.get(_ENTRIES)).text)
    page = await clerk.post(_ENTRIES, {**_read_form(entry, "find"), "typed": typed})
    assert page.status_code == 422
    assert 'id="typed-error"' in page.text
    assert read_fields(page.text[page.text.index("data-entry") :])["typed"] == typed


async def test_an_entry_is_recorded_without_a_claim_with_a_note(
    clerk: Clerk, statements: StatementHarness
) -> None:
    await _load(statements, build_credit("50.00", _UNCLEAR))
    [entry] = _list_entries((await clerk.get(_ENTRIES)).text)
    form = _read_form(entry, "aside")
    assert (await clerk.post(_ENTRIES, {**form, "note": ""})).status_code == 422
    done = await clerk.follow(await clerk.post(_ENTRIES, {**form, "note": "Interest"}))
    assert "Recorded without a" in done.text
    assert await statements.states() == [("WITHOUT_CLAIM", 5000)]


async def test_the_second_of_two_decisions_changes_nothing(
    clerk: Clerk, statements: StatementHarness, claim_id: int
) -> None:
    await _load(statements, build_credit("102.40", _UNCLEAR))
    [entry] = _list_entries((await clerk.get(_ENTRIES)).text)
    form = {**_read_form(entry, "find"), "typed": "INV-1001"}
    await clerk.post(_ENTRIES, form)
    second = await clerk.follow(await clerk.post(_ENTRIES, form))
    assert "Nothing was changed" in second.text
    assert (await statements.balance(claim_id))[1:] == (0, 0)


async def test_an_entry_can_be_decided_later(clerk: Clerk, statements: StatementHarness) -> None:
    await _load(statements, build_credit("1.00", "first", "A"), build_credit("2.00", "second", "B"))
    first, second = _list_entries((await clerk.get(_ENTRIES)).text)
    assert ("first" in first, "second" in second) == (True, True)
    later = await clerk.get(f"{_ENTRIES}?skip=1")
    [entry] = _list_entries(later.text)
    form = {**_read_form(entry, "aside"), "note": "x"}
    answer = await clerk.post(f"{_ENTRIES}?skip=1", form)
    assert "skip=1" in answer.headers["Location"]


async def test_a_statement_shows_what_its_entries_belong_to(
    clerk: Clerk, statements: StatementHarness, claim_id: int
) -> None:
    await _load(statements, build_credit("102.40", "INV-1001", "A"))
    page = await clerk.get("/bank/accounts/main")
    [address] = re.findall(r'href="([^"]*/statements/[0-9a-f]+)"', page.text)
    shown = await clerk.get(address)
    assert "The purpose contains the whole reference" in shown.text
    undone = await clerk.follow(await clerk.send(address, do="undo"))
    assert "Undone." in undone.text
    assert (await statements.balance(claim_id))[1] == 10240


async def test_reversing_the_payment_of_an_entry_opens_the_entry(
    clerk: Clerk, statements: StatementHarness
) -> None:
    (claim_id,) = await statements.harness.create("INV-2026-1001")
    await _load(statements, build_credit("102.40", "INV-2026-1001", "B-1"))
    (row,) = await statements.harness.rows("SELECT payment_id FROM payments WHERE merchant_id = $1")
    path = f"/payments/{row['payment_id']}"
    page = await clerk.get(path)
    assert "This payment comes from a statement of the account main." in page.text
    done = await clerk.follow(
        await clerk.post(path, {**read_fields(page.text), "reason": "wrong claim"})
    )
    assert "comes from a statement" not in done.text
    assert await statements.balance(claim_id) == (Status.CREATED, 10240, 0)
    (entry,) = _list_entries((await clerk.get(_ENTRIES)).text)
    assert "INV-2026-1001" in entry


async def test_an_entry_that_resembles_another_one_says_so(
    clerk: Clerk, statements: StatementHarness
) -> None:
    for day in ("2026-11-26", "2026-11-27"):
        await _load(statements, build_credit("50.00", _UNCLEAR, "TAX-77", day=day))
    first, second = _list_entries((await clerk.get(_ENTRIES)).text)
    words = "The bank gave an entry of 26 November 2026 the same reference"
    assert words not in " ".join(first.split())
    assert words in " ".join(second.split())


async def test_an_entry_whose_matching_failed_says_so(
    clerk: Clerk, statements: StatementHarness
) -> None:
    await _load(statements, build_credit("50.00", _UNCLEAR))
    await statements.harness.rows(
        'UPDATE bank_transactions SET problem = \'{"code": "MATCHING_FAILED", "facts": {}}\''
        " WHERE merchant_id = $1"
    )
    await clerk.get("?lang=de")
    (entry,) = _list_entries((await clerk.get(_ENTRIES)).text)
    assert "konnte wegen eines Fehlers nicht automatisch zugeordnet werden" in entry
    assert 'lang="en"' not in entry.partition("</section>")[0]


async def test_payouts_are_listed(clerk: Clerk, statements: StatementHarness) -> None:
    paid = Payout("po_1", 99_00, 1_00, "EUR", datetime(2026, 3, 1, tzinfo=UTC), ())
    async with statements.harness.work() as work:
        await record_payouts(work, "stripe", [paid])
    page = await clerk.get("/bank/payouts")
    assert "po_1" in page.text
    assert ">not yet</span>" in page.text


async def test_problems_and_reasons_are_shown_in_the_readers_language(
    clerk: Clerk, statements: StatementHarness, claim_id: int
) -> None:
    balances = build_balance("OPBD", "0.00") + build_balance("CLBD", "9.00")
    entries = [build_credit("102.40", "INV-1001", "A", more=""), build_credit("1.00", "x", "B")]
    held = build_camt(*entries, balances=balances)
    file = await statements.load(held)
    await clerk.get("?lang=de")
    page = await clerk.get(f"/bank/files/{file.file_id}")
    assert "Der Anfangssaldo " in page.text
    assert 'lang="en"' not in page.text.partition("<main")[2]
    (row,) = await statements.harness.rows(
        "SELECT statement_hash FROM bank_statements WHERE merchant_id = $1"
    )
    path = f"/bank/accounts/main/statements/{row['statement_hash'].hex()}"
    page = await clerk.get(path)
    assert "Der Anfangssaldo " in page.text
    await clerk.send(path, do="release")
    async with statements.harness.work() as work:
        await match_new_transactions(work, "main")
    page = await clerk.get(path)
    assert "Der Verwendungszweck enthält „INV-1001“" in page.text
    # An earlier version stored plain sentences.
    await statements.harness.rows(
        "UPDATE bank_statements SET problems = '[\"Once a sentence.\"]',"
        " held_reason = 'It was held.', released_at = NULL WHERE merchant_id = $1"
    )
    page = await clerk.get(path)
    assert '<span lang="en">It was held.</span>' in page.text
    assert '<span lang="en">Once a sentence.</span>' in page.text


async def test_the_open_entries_of_a_statement_are_matched_again(
    clerk: Clerk, statements: StatementHarness
) -> None:
    await _load(statements, build_credit("102.40", "INV-2026-1001", "A"))
    page = await clerk.get("/bank/accounts/main")
    [address] = re.findall(r'href="([^"]*/statements/[0-9a-f]+)"', page.text)
    assert 'value="match"' in (await clerk.get(address)).text
    (claim_id,) = await statements.harness.create("INV-2026-1001")
    done = await clerk.follow(await clerk.send(address, do="match"))
    assert "are being matched again" in done.text
    async with statements.harness.work() as work:
        await match_new_transactions(work, "main")
    assert (await statements.balance(claim_id))[1] == 0
    shown = await clerk.get(address)
    assert 'value="match"' not in shown.text
    none = await clerk.follow(await clerk.send(address, do="match"))
    assert "no entry of this statement can be" in none.text


async def test_one_entry_is_matched_again(clerk: Clerk, statements: StatementHarness) -> None:
    await _load(statements, build_credit("102.40", "INV-2026-1001", "A"))
    (entry,) = _list_entries((await clerk.get(_ENTRIES)).text)
    form = _read_form(entry, "match")
    still = await clerk.follow(await clerk.post(_ENTRIES, form))
    assert "it is still not certain" in still.text
    (claim_id,) = await statements.harness.create("INV-2026-1001")
    done = await clerk.follow(await clerk.post(_ENTRIES, form))
    assert "Matched." in done.text
    assert (await statements.balance(claim_id))[1] == 0
    again = await clerk.follow(await clerk.post(_ENTRIES, form))
    assert "Nothing was changed" in again.text


async def test_an_entry_that_fails_again_says_so(
    clerk: Clerk, statements: StatementHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _load(statements, build_credit("102.40", "INV-2026-1001", "A"))
    (entry,) = _list_entries((await clerk.get(_ENTRIES)).text)

    async def fail(*_: Any, **__: Any) -> None:
        raise ValueError("planted")

    monkeypatch.setattr(match_again, "match_transactions", fail)
    failed = await clerk.follow(await clerk.post(_ENTRIES, _read_form(entry, "match")))
    assert "because of an" in failed.text
    assert await statements.states() == [("OPEN", 0)]


async def test_an_entry_that_someone_decided_about_is_not_offered_to_be_matched_again(
    clerk: Clerk, statements: StatementHarness, claim_id: int
) -> None:
    await _load(statements, build_credit("102.40", _UNCLEAR, "A"))
    (entry,) = _list_entries((await clerk.get(_ENTRIES)).text)
    form = {**_read_form(entry, "find"), "typed": str(claim_id)}
    await clerk.follow(await clerk.post(_ENTRIES, form))
    undone = await clerk.follow(await clerk.send(_ENTRIES, do="undo"))
    (entry,) = _list_entries(undone.text)
    assert 'value="match"' not in entry


async def test_a_return_of_a_part_shows_the_payments_that_it_may_take_back(
    clerk: Clerk, statements: StatementHarness
) -> None:
    await statements.harness.create("INV-2026-1001", "INV-2026-1002")
    await _load(statements, build_credit("204.80", "INV-2026-1001 INV-2026-1002", "A"))
    more = "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>"
    details = build_detail("102.40", "Retoure", kind="DBIT", more=more)
    await _load(statements, build_entry("102.40", kind="DBIT", reference="R", details=details))
    (entry,) = _list_entries((await clerk.get(_ENTRIES)).text)
    words = " ".join(re.sub(r"<[^>]+>", "", entry).split())
    assert "It may return a part of the entry of" in words
    assert "INV-2026-1001" in words
    assert "INV-2026-1002" in words
    assert len(re.findall(r'href="[^"]*/payments/[0-9a-f-]{36}"', entry)) == 2
