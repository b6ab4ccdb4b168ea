"""Two clerks do the same thing at the same moment: one succeeds, the other gets a message about it,
and nothing happens twice."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from dunwell.cases.statements.matches.match_transactions import match_new_transactions
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.debit_plans import NOTICE, start
from tests.support.harness import Harness, a_harness
from tests.support.payments import PaymentHarness, a_payment_harness
from tests.support.portal import Clerk, read_fields, sign_in
from tests.support.statements import StatementHarness, build_credit, build_file

_ENTRIES = "/bank/accounts/main/entries"
_REFUNDS = "SELECT amount_cents FROM payment_refunds WHERE merchant_id = $1"


async def sign_in_two_clerks(resources: Resources, harness: Harness) -> tuple[Clerk, Clerk]:
    app = an_application(resources).app
    first, second = [await sign_in(resources, app, harness) for _ in range(2)]
    return first, second


async def send_both(
    clerks: Sequence[Clerk], path: str, *forms: dict[str, Any]
) -> list[tuple[int, str]]:
    """Send the clerks' forms at the same moment. Return the status and the text of both pages,
    sorted by the text."""
    answers = await asyncio.gather(
        *(clerk.post(path, form) for clerk, form in zip(clerks, forms, strict=True))
    )
    pages = [
        await clerk.follow(each) if each.status_code == 303 else each
        for clerk, each in zip(clerks, answers, strict=True)
    ]
    return [(each.status_code, read_message(each)) for each in pages]


def read_message(page: httpx.Response) -> str:
    """Return the text of the page's first message: done, conflict or problem. "" if it has none."""
    main = page.text.partition("<main")[2]
    found = re.search(r'<div class="(?:done|conflict|problem)[^>]*>(.*?)</div>', main, re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", found[1]).split()) if found else ""


def read_entry_form(page: httpx.Response, do: str) -> dict[str, Any]:
    """Return the fields of the first entry's form whose button has the value `do`."""
    entry = page.text.split("data-entry")[1]
    forms = re.findall(r"<form.*?</form>", entry, re.DOTALL)
    return {**read_fields(next(each for each in forms if f'value="{do}"' in each)), "do": do}


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock))
    await bank.save()
    return bank


async def test_one_entry_is_assigned_once(resources: Resources, bank: StatementHarness) -> None:
    """First both clerks assign an entry, to different claims. Then one clerk assigns an entry to a
    claim while the other records it without a claim."""
    claims = await bank.harness.create("INV-2026-1", "INV-2026-2")
    await bank.load(build_file(*(build_credit("40.00", "thanks", name) for name in ("A", "B"))))
    clerks = await sign_in_two_clerks(resources, bank.harness)
    other = {"typed": "INV-2026-2"}, {"do": "aside", "note": "Interest"}
    for count, decision in enumerate(other, 1):
        pages = [await clerk.get(_ENTRIES) for clerk in clerks]
        forms = [
            {**read_entry_form(pages[0], "find"), "typed": "INV-2026-1"},
            {**read_entry_form(pages[1], decision.get("do", "find")), **decision},
        ]
        messages = [text for _, text in await send_both(clerks, _ENTRIES, *forms)]
        refused = [
            text for text in messages if text.startswith("Nothing was changed: someone else")
        ]
        decided = [
            text for text in messages if text.startswith(("Assigned.", "Recorded without a claim."))
        ]
        assert (len(refused), len(decided)) == (1, 1), messages
        assert len(await bank.matches()) == count
    paid = [10240 - (await bank.balance(each))[1] for each in claims]
    assert sum(paid) == 40_00 * await bank.count("payments")


async def test_a_match_is_undone_once(resources: Resources, bank: StatementHarness) -> None:
    [claim_id] = await bank.harness.create("INV-2026-1001")
    await bank.load(build_file(build_credit("40.00", "INV-2026-1001", "A")))
    async with bank.harness.work() as work:
        await match_new_transactions(work, "main")
    clerks = await sign_in_two_clerks(resources, bank.harness)
    [row] = await bank.harness.rows(
        "SELECT statement_hash FROM bank_statements WHERE merchant_id = $1"
    )
    path = f"/bank/accounts/main/statements/{row['statement_hash'].hex()}"
    forms = [{**read_fields((await each.get(path)).text), "do": "undo"} for each in clerks]
    assert (await bank.balance(claim_id))[1] == 62_40
    messages = sorted(text for _, text in await send_both(clerks, path, *forms))
    assert messages[0].startswith("Nothing was changed: someone else has already undone this"), (
        messages
    )
    assert messages[1].startswith("Undone."), messages
    assert (await bank.balance(claim_id))[1] == 102_40
    kinds = [each["kind"] for each in await bank.matches()]
    assert sorted(kinds) == ["MATCHED", "UNDONE"]


async def test_a_match_that_was_made_again_is_not_undone(
    resources: Resources, bank: StatementHarness
) -> None:
    """The second clerk still sees the first match, which was undone and made again."""
    [claim_id] = await bank.harness.create("INV-2026-1001")
    await bank.load(build_file(build_credit("40.00", "thanks", "A")))
    first, second = await sign_in_two_clerks(resources, bank.harness)
    form = {**read_entry_form(await first.get(_ENTRIES), "find"), "typed": "INV-2026-1001"}
    assigned = await first.follow(await first.post(_ENTRIES, form))
    stale = {**read_fields(assigned.text.partition("<main")[2]), "do": "undo"}
    await first.post(_ENTRIES, stale)
    form = {**read_entry_form(await first.get(_ENTRIES), "find"), "typed": "INV-2026-1001"}
    await first.post(_ENTRIES, form)
    await second.get(_ENTRIES)
    token = read_fields((await second.get("/bank/accounts/main")).text)["token"]
    refused = await second.follow(await second.post(_ENTRIES, {**stale, "token": token}))
    assert "someone else has already undone this" in read_message(refused)
    assert (await bank.balance(claim_id))[1] == 62_40


async def test_one_debit_is_released_in_one_file(resources: Resources, clock: MovableClock) -> None:
    debits = await start(resources, clock)
    harness = debits.arrangement.harness
    await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    clerks = await sign_in_two_clerks(resources, harness)
    forms = []
    for clerk in clerks:
        await clerk.get("/debits")
        ids = [str(each) for each in await debits.releasable()]
        page = await clerk.send("/debits/release", do="preview", debit=ids)
        forms.append({**read_fields(page.text), "do": "release"})
    messages = sorted(text for _, text in await send_both(clerks, "/debits/release", *forms))
    assert messages[0].startswith("Nothing was released: none of these debits can be"), messages
    assert messages[1].startswith("Released."), messages
    rows = await harness.rows("SELECT debits FROM debit_files WHERE merchant_id = $1")
    assert [row["debits"] for row in rows] == [1]


async def test_a_debit_is_released_or_held_back(resources: Resources, clock: MovableClock) -> None:
    debits = await start(resources, clock)
    harness = debits.arrangement.harness
    mandate = await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    first, second = await sign_in_two_clerks(resources, harness)
    [debit] = await debits.releasable()
    await first.get("/debits")
    preview = await first.send("/debits/release", do="preview", debit=str(debit))
    held = read_fields((await second.get(f"/debits/{debit}")).text)
    release = {**read_fields(preview.text), "do": "release"}
    answers = await asyncio.gather(
        first.post("/debits/release", release), second.post(f"/debits/{debit}", held)
    )
    pages = [
        await clerk.follow(answer) for clerk, answer in zip((first, second), answers, strict=True)
    ]
    messages = [read_message(each) for each in pages]
    [state, *_] = await debits.states(mandate)
    files = await harness.rows("SELECT debits FROM debit_files WHERE merchant_id = $1")
    if state == "RELEASED":
        assert messages[1].startswith("Nothing was changed: the debit was released"), messages
        assert len(files) == 1
    else:
        assert state == "CANCELLED"
        assert messages[0].startswith("Nothing was released: none of these debits"), messages
        assert files == []


async def _pay(payments: PaymentHarness, cents: int) -> str:
    started = await payments.start()
    payments.pays(cents)
    await payments.settle(started.request_id)
    [row] = await payments.harness.rows("SELECT payment_id FROM payments WHERE merchant_id = $1")
    return f"/payments/{row['payment_id']}"


async def test_one_payment_is_refunded_once(resources: Resources, clock: MovableClock) -> None:
    payments = await a_payment_harness(resources, clock)
    path = f"{await _pay(payments, 10240)}/refund"
    clerks = await sign_in_two_clerks(resources, payments.harness)
    forms = []
    for clerk in clerks:
        await clerk.get(path)
        page = await clerk.send(path, do="preview", amount="2.40", effect="REOPEN")
        forms.append({**read_fields(page.text), "do": "confirm"})
    pages = sorted(await send_both(clerks, path, *forms))
    assert [status for status, _ in pages] == [200, 409]
    assert pages[0][1].startswith("Refund ordered."), pages
    assert pages[1][1] != ""
    assert [row["amount_cents"] for row in await payments.harness.rows(_REFUNDS)] == [240]


async def test_one_surplus_is_refunded_with_one_of_two_clicks(
    resources: Resources, clock: MovableClock
) -> None:
    payments = await a_payment_harness(resources, clock)
    path = f"{await _pay(payments, 12000)}/refund"
    clerks = await sign_in_two_clerks(resources, payments.harness)
    forms = []
    for clerk in clerks:
        page = await clerk.get("/payments?show=unmatched")
        forms.append({**read_fields(page.text.partition("<tbody>")[2]), "do": "surplus"})
    messages = sorted(text for _, text in await send_both(clerks, path, *forms))
    assert messages[0].startswith("Nothing was refunded: the surplus has changed"), messages
    assert messages[1].startswith("Refund ordered."), messages
    assert [row["amount_cents"] for row in await payments.harness.rows(_REFUNDS)] == [1760]
