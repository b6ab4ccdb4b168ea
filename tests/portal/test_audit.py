"""The audit log in the portal: filters, stable pages, masked values, and the check of seals."""

import asyncio
import re
from datetime import timedelta

import pytest

from dunwell.accounts.merchants.audit_fields import (
    FieldClass,
    classify_field,
    list_shown_fields,
    redact,
)
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.contact.messages.ledger.seal_ledger import seal_ledger
from dunwell.core.claims.claim_holds import pause_claim
from dunwell.core.files.storage import SealedFiles
from dunwell.operations.jobs.run_exports import run_exports
from dunwell.platform.resources import Resources
from tests.support.disputes import dispute
from tests.support.harness import Harness, a_harness
from tests.support.ledgers import tamper
from tests.support.portal import Clerk


def _list_actions(page: str) -> list[str]:
    return re.findall(r'<th scope="row"><a class="id"[^>]*>([\w.-]+)</a>', page)


async def test_each_entry_shows_the_actor_the_action_and_the_network(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    await clerk.submit(f"/claims/{claim_id}/note", text="Called.")

    page = (await clerk.get("/audit?action=note.add")).text

    assert _list_actions(page) == ["note.add"]
    assert re.search(r"<bdi>Clerk \d+</bdi>", page)
    assert "Portal, 203.0.113.0/24" in page
    assert f"Claim {claim_id}" in page
    assert "not sealed yet" in page


async def test_filters_narrow_the_audit_log(
    clerk: Clerk, harness: Harness, claim_id: int, resources: Resources
) -> None:
    [second] = await harness.create("INV-2")
    async with harness.work() as work:
        await pause_claim(work, second)
    await dispute(harness, claim_id)
    await clerk.submit(f"/claims/{claim_id}/note", text="Called.")
    name = re.findall(r"<summary><bdi>(Clerk \d+)", (await clerk.get("/audit")).text)[0]
    today, tomorrow = (harness.clock.now().date() + timedelta(days=n) for n in (0, 1))

    async def show(query: str) -> list[str]:
        return _list_actions((await clerk.get(f"/audit?{query}")).text)

    assert await show(f"who={name}") == ["note.add"]
    assert await show("kind=DEBTOR") == ["dispute.open", "hold.open"]
    assert await show("who=erp&kind=CREDENTIAL&action=hold.open") == ["hold.open"]
    assert await show("claim=INV-2") == ["hold.open"]
    assert await show(f"claim={second}") == ["hold.open"]
    assert await show(f"claim=INV-2&since={tomorrow}") == []
    assert await show(f"claim=INV-2&since={today}&until={today}") == ["hold.open"]
    assert await show("action=claim.look") == []
    odd = await clerk.get("/audit?claim=nowhere&since=x")
    assert "Claim not found." in odd.text
    assert "Enter a valid date (2026-03-31)." in odd.text
    assert _list_actions(odd.text) == []


async def test_the_next_page_continues_after_the_last_entry(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    for number in range(60):
        async with harness.work() as work:
            await save_audit(work, f"try.n{number}", "merchant:1")

    first = (await clerk.get("/audit")).text
    link = re.findall(r'rel="next" href="([^"]+)"', first)[0].replace("&amp;", "&")
    second = (await clerk.get(link)).text

    actions = [each for each in _list_actions(first + second) if each.startswith("try.")]
    assert actions == [f"try.n{number}" for number in reversed(range(60))]
    assert (await clerk.get("/audit?after=nonsense")).status_code == 303


async def test_no_entry_appears_behind_a_cursor_that_was_already_returned(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    """The transaction of the entry begins before the first page is read and ends after it, so the
    entry's id is smaller than the cursor."""
    for number in range(60):
        async with harness.work() as work:
            await save_audit(work, f"try.n{number}", "merchant:1")
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def write_late() -> None:
        async with harness.work() as work:
            await save_audit(work, "try.late", "merchant:1")
            begun.set()
            await may_end.wait()

    harness.clock.advance(timedelta(seconds=-30))
    late = asyncio.create_task(write_late())
    await begun.wait()
    harness.clock.advance(timedelta(seconds=30))
    async with harness.work() as work:
        await save_audit(work, "try.after", "merchant:1")
    first = (await clerk.get("/audit")).text
    may_end.set()
    await late

    link = re.findall(r'rel="next" href="([^"]+)"', first)[0].replace("&amp;", "&")
    second = (await clerk.get(link)).text
    # The held-back entries come first when the list is read from the beginning.
    assert "try.late" not in _list_actions(first + second)
    assert "try.after" not in _list_actions(first + second)
    assert _list_actions((await clerk.get("/audit")).text)[:2] == ["try.after", "try.late"]


async def test_personal_and_secret_values_are_masked_for_everyone(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    async with harness.work() as work:
        await change_contact_data(work, claim_id, {"email": "new@example.org"})
        # An entry as it was stored when personal and secret values were not masked yet.
        await save_audit(
            work, "try.old", "merchant:1",
            before={"email": "old@example.org", "secret": "whsec_1"},
            after={"parts": [{"debtorName": "Erika"}], "state": "OPEN"}, message="Liebe Frau",
        )  # fmt: skip

    page = (await clerk.get("/audit")).text

    for word in ("example.org", "whsec_1", "Erika", "Liebe Frau"):
        assert word not in page.partition("<main")[2], word
    assert "(masked)" in page
    assert "(secret)" in page
    assert ">OPEN<" in page


def test_fields_are_shown_or_masked_by_their_class() -> None:
    assert classify_field("email") is FieldClass.PERSONAL
    assert classify_field("clientSecret") is FieldClass.SECRET
    assert classify_field("state") is FieldClass.PLAIN
    [field] = list_shown_fields({"state": "***"}, {"state": "OPEN"})
    assert (field.is_before_masked, field.before, field.after) == (True, None, "OPEN")
    assert redact({"a": {"token": "t", "b": 1}, "email": None}) == {
        "a": {"token": "***", "b": 1}, "email": None,
    }  # fmt: skip


async def test_the_seals_of_the_listed_entries_are_checked(
    clerk: Clerk, resources: Resources, harness: Harness, claim_id: int
) -> None:
    await seal_ledger(resources)
    async with harness.work() as work:
        await pause_claim(work, claim_id)
    await seal_ledger(resources)

    sound = (await clerk.get("/audit?check=yes")).text
    assert "Verified: seals 1 to 2" in sound
    part = (await clerk.get("/audit?check=yes&action=hold.open")).text
    assert "Verified: seals 2 to 2" in part


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE audit_log SET action = 'x' WHERE merchant_id = $1 AND seal = 2",
        "which was altered"),
        ("DELETE FROM audit_log WHERE merchant_id = $1 AND seal = 2 AND action = 'try.one'",
         "missing: "),
        ("UPDATE audit_log SET actor_id = 'me' WHERE merchant_id = $1 AND seal = 2",
         "which was altered"),
        ("UPDATE ledger_seals SET digest = sha256('x') WHERE merchant_id = $1 AND seal = 1",
         "does not match"),
        ("DELETE FROM ledger_seals WHERE merchant_id = $1 AND seal = 1", "does not match"),
    ],
)  # fmt: skip
async def test_a_broken_seal_is_reported_in_words(
    clerk: Clerk, resources: Resources, harness: Harness, claim_id: int, change: str, words: str
) -> None:
    await seal_ledger(resources)
    async with harness.work() as work:
        await save_audit(work, "try.one", "merchant:1")
        await save_audit(work, "try.two", "merchant:1")
    await seal_ledger(resources)
    await tamper(harness, change)

    action = "x" if "action = 'x'" in change else "try.two"
    page = (await clerk.get(f"/audit?check=yes&action={action}")).text

    assert "Verification failed" in page
    assert words in page


async def test_the_audit_log_is_exported_as_csv_for_users_who_may_read_it(
    clerk: Clerk, resources: Resources, harness: Harness, claim_id: int
) -> None:
    async with harness.work() as work:
        await save_audit(work, "=try.formula", "@merchant", after={"state": "=1+1"})
    shown = await clerk.get("/audit?action=%3Dtry.formula")
    token = shown.text.partition('name="token" value="')[2].partition('"')[0]
    started = await clerk.post("/audit/export", {"token": token, "action": "=try.formula"})
    await run_exports(resources, SealedFiles.open(resources))

    text = (await clerk.get(started.headers["Location"] + "/file.csv")).text

    head, row = text.lstrip("\ufeff").splitlines()
    assert head.startswith("at,actorKind,actorId,action,subject,before,after,")
    assert ",'=try.formula,'@merchant," in row
    assert '"{""state"":""=1+1""}"' in row


async def test_the_audit_log_has_no_entries_of_another_merchant(
    clerk: Clerk, resources: Resources, harness: Harness, claim_id: int
) -> None:
    other = await a_harness(resources, harness.clock, key="other")
    await other.create("X-1")
    theirs = (await clerk.get(f"/portal/m/{other.merchant.merchant_id}/audit")).text
    assert f"Claim {claim_id}" not in theirs
