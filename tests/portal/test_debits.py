"""The pages of direct debits: release by one or two users, files, holding back, and mandates."""

import re
from uuid import UUID

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.cases.direct_debit.debit_results import DebitOutcome
from dunwell.cases.direct_debit.debit_values import Collection
from dunwell.cases.direct_debit.files.store import DebitFile
from dunwell.cases.direct_debit.store import list_claim_mandates, list_mandate_collections
from dunwell.cases.payments.refunds.refund_payment import (
    RefundOrder,
    find_refundable_amounts,
    order_refund,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.portal.test_timeline import read_timeline
from tests.support.application import an_application
from tests.support.debit_plans import CLERK, NOTICE, Debits, find_texts, start
from tests.support.disputes import dispute
from tests.support.harness import a_harness
from tests.support.modalities import Arrangement
from tests.support.portal import Clerk, read_fields, sign_in

_FILES = "SELECT file_id, state, debits FROM debit_files WHERE merchant_id = $1"


async def _start(resources: Resources, clock: MovableClock, *, second: bool = False) -> Debits:
    """Return two plans of one merchant, whose first debits wait for their release."""
    debits = await start(resources, clock, second_release=second)
    harness = debits.arrangement.harness
    [claim_id] = await harness.create("INV-2", email="second@example.org")
    arrangement = Arrangement(harness, claim_id)
    await debits.sign()
    await Debits(arrangement, (await arrangement.agree()).modality_id).sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    return debits


@pytest.fixture
async def debits(resources: Resources, clock: MovableClock) -> Debits:
    return await _start(resources, clock)


@pytest.fixture
async def clerk(resources: Resources, debits: Debits) -> Clerk:
    return await _sign_in(resources, debits)


async def _sign_in(resources: Resources, debits: Debits, role: Role = Role.OPERATOR) -> Clerk:
    app = an_application(resources).app
    return await sign_in(resources, app, debits.arrangement.harness, UserRoles(role))


async def _preview(clerk: Clerk, ids: list[UUID]) -> str:
    await clerk.get("/debits")
    page = await clerk.send("/debits/release", do="preview", debit=[str(each) for each in ids])
    assert page.status_code == 200, page.text
    return page.text


async def _list_files(debits: Debits) -> list[tuple[str, int]]:
    rows = await debits.arrangement.harness.rows(_FILES)
    return [(row["state"], row["debits"]) for row in rows]


async def test_debits_are_previewed_released_and_downloaded(clerk: Clerk, debits: Debits) -> None:
    overview = await clerk.get("")
    assert re.search(r"Direct debits to release</a></span><strong[^>]*>2<", overview.text)
    listed = await clerk.get("/debits")
    assert listed.text.count('name="debit"') == 2
    assert "12 Mar 2026" in listed.text.replace("\N{NO-BREAK SPACE}", " ")
    ids = await debits.releasable()
    shown = await _preview(clerk, ids)
    assert "Release 2 debits, €68.28 in total?" in shown
    assert await _list_files(debits) == []
    done = await clerk.follow(await clerk.send("/debits/release", do="release"))
    assert "Released. Download the file" in " ".join(done.text.split())
    assert await _list_files(debits) == [("RELEASED", 2)]
    overview = await clerk.get("")
    assert "Files with direct debits to pass on to the bank" in overview.text

    path = done.url.path
    await clerk.get(path)
    file = await clerk.send(f"{path}/order.xml")
    assert file.headers["Content-Type"] == "application/xml"
    assert file.headers["Content-Disposition"].startswith("attachment")
    assert find_texts(file.content, "NbOfTxs")[0] == "2"
    assert await _list_files(debits) == [("DELIVERED", 2)]
    page = await clerk.get(path)
    assert "at the bank" in page.text
    assert "Files with direct debits" not in (await clerk.get("")).text


async def test_only_the_selected_debits_are_released(clerk: Clerk, debits: Debits) -> None:
    first, second = await debits.releasable()
    assert "Release 1 debit of €34.14?" in await _preview(clerk, [first])
    await clerk.send("/debits/release", do="release")
    assert await debits.releasable() == [second]


async def test_a_release_without_a_selection_says_so(clerk: Clerk, debits: Debits) -> None:
    await clerk.get("/debits")
    fields = {"token": read_fields(clerk.page.text)["token"]} if clerk.page else {}
    page = await clerk.follow(await clerk.post("/debits/release", {**fields, "do": "preview"}))
    assert "select at least one debit" in page.text
    assert await _list_files(debits) == []


async def test_a_double_click_releases_each_debit_once(clerk: Clerk, debits: Debits) -> None:
    await _preview(clerk, await debits.releasable())
    assert clerk.page is not None
    form = {**read_fields(clerk.page.text), "do": "release"}
    await clerk.post("/debits/release", form)
    second = await clerk.follow(await clerk.post("/debits/release", form))
    assert "none of these debits can be released now" in second.text
    assert await _list_files(debits) == [("RELEASED", 2)]


async def test_nothing_is_released_if_a_debit_changed_after_the_preview(
    clerk: Clerk, debits: Debits, resources: Resources
) -> None:
    first, second = await debits.releasable()
    await _preview(clerk, [first, second])
    colleague = await _sign_in(resources, debits)
    await colleague.get(f"/debits/{first}")
    await colleague.send(f"/debits/{first}")
    conflict = await clerk.send("/debits/release", do="release")
    assert conflict.status_code == 409
    assert "Release 1 debit of €34.14?" in conflict.text
    assert await _list_files(debits) == []
    await clerk.send("/debits/release", do="release")
    assert await _list_files(debits) == [("RELEASED", 1)]


async def test_a_debit_that_cannot_be_released_is_not_offered(clerk: Clerk, debits: Debits) -> None:
    await dispute(debits.arrangement.harness, debits.arrangement.claim_id)
    page = await clerk.get("/debits")
    assert page.text.count('name="debit"') == 1
    assert "the claim is disputed" in page.text
    shown = await _preview(clerk, await debits.releasable())
    assert "Release 1 debit" in shown
    assert "1 debit that you chose can no longer be released" in shown


async def test_a_second_user_releases_the_file(resources: Resources, clock: MovableClock) -> None:
    debits = await _start(resources, clock, second=True)
    clerk = await _sign_in(resources, debits)
    assert "Propose 2 debits, €68.28 in total?" in await _preview(clerk, await debits.releasable())
    proposed = await clerk.follow(await clerk.send("/debits/release", do="release"))
    path = proposed.url.path
    assert "Another user has to release this file." in proposed.text
    assert 'value="release"' not in proposed.text
    own = await clerk.follow(await clerk.send(path, do="release"))
    assert "another user has to release it" in own.text
    assert await _list_files(debits) == [("PROPOSED", 2)]

    colleague = await _sign_in(resources, debits, Role.ADMIN)
    assert "Direct debits: second release needed" in (await colleague.get("")).text
    assert "Second release needed" in (await colleague.get("/debits")).text
    await colleague.get(path)
    released = await colleague.follow(await colleague.send(path, do="release"))
    assert "Released." in released.text
    assert released.text.count("Clerk ") >= 2
    assert await _list_files(debits) == [("RELEASED", 2)]
    again = await colleague.follow(await clerk.post(path, read_fields(own.text)))
    assert "someone else has already released this file" in again.text


async def test_a_proposal_that_changed_is_not_released_unseen(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await _start(resources, clock, second=True)
    clerk = await _sign_in(resources, debits)
    ids = await debits.releasable()
    await _preview(clerk, ids)
    path = (await clerk.follow(await clerk.send("/debits/release", do="release"))).url.path
    colleague = await _sign_in(resources, debits)
    await colleague.get(path)
    await clerk.get(f"/debits/{ids[0]}")
    await clerk.send(f"/debits/{ids[0]}")
    conflict = await colleague.send(path, do="release")
    assert conflict.status_code == 409
    assert "1 debit, €34.14" in conflict.text
    assert [state for state, _ in await _list_files(debits)] == ["PROPOSED"]
    await colleague.send(path, do="release")
    assert await _list_files(debits) == [("RELEASED", 1)]


async def test_a_proposal_with_a_debit_that_cannot_be_released_says_so(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await _start(resources, clock, second=True)
    file = await debits.release()
    await dispute(debits.arrangement.harness, debits.arrangement.claim_id)
    clerk = await _sign_in(resources, debits)
    path = f"/debits/files/{file.file_id}"
    page = await clerk.get(path)
    assert "1 debit of this file cannot be released." in " ".join(page.text.split())
    assert 'value="release"' not in page.text
    conflict = await clerk.send(path, do="release")
    assert conflict.status_code == 409
    assert [state for state, _ in await _list_files(debits)] == ["PROPOSED"]
    gone = await clerk.follow(await clerk.send(path, do="dissolve"))
    assert "Proposal discarded." in gone.text
    assert await _list_files(debits) == []


async def test_a_debit_is_held_back_once(clerk: Clerk, debits: Debits) -> None:
    [first, _] = await debits.releasable()
    path = f"/debits/{first}"
    page = await clerk.get(path)
    assert "E-mail" in page.text
    form = read_fields(page.text)
    done = await clerk.follow(await clerk.post(path, form))
    assert "Held back. The account is not debited" in " ".join(done.text.split())
    assert "held back by a user" in done.text
    assert len(await debits.releasable()) == 1
    await debits.release()
    [row] = await debits.arrangement.harness.rows(
        "SELECT collection_id FROM debit_collections WHERE merchant_id = $1 AND state = 'RELEASED'"
    )
    late = await clerk.follow(await clerk.post(f"/debits/{row['collection_id']}", form))
    assert "Nothing was changed" in late.text


async def _deliver_first(debits: Debits) -> tuple[DebitFile, Collection]:
    """Release the debits and download their file. Return it with the claim's first debit."""
    file = await debits.release()
    await debits.download(file)
    rows = await debits.arrangement.harness.rows(
        "SELECT mandate_id FROM mandates WHERE merchant_id = $1 AND claim_id = $2",
        debits.arrangement.claim_id,
    )
    async with debits.arrangement.harness.work() as work:
        mandate_ids = [row["mandate_id"] for row in rows]
        [first, *_] = await list_mandate_collections(work.tx, work.merchant_id, mandate_ids)
    return file, first


async def test_a_debit_that_the_bank_collected_offers_no_refund(
    clerk: Clerk, debits: Debits
) -> None:
    """No provider can pay it back."""
    _, first = await _deliver_first(debits)
    await debits.record(first)
    [payment] = await debits.arrangement.harness.rows(
        "SELECT payment_id FROM payments WHERE merchant_id = $1"
    )
    payment_id, claim_id = payment["payment_id"], debits.arrangement.claim_id
    page = await clerk.get(f"/payments/{payment_id}")
    assert (page.status_code, "/refund" in page.text) == (200, False)
    async with debits.arrangement.harness.work(CLERK) as work:
        assert await find_refundable_amounts(work, claim_id, payment_id) is None
        with pytest.raises(InvalidState, match="not made through a payment provider"):
            await order_refund(work, claim_id, payment_id, RefundOrder(100))


async def test_a_returned_debit_shows_its_reason(clerk: Clerk, debits: Debits) -> None:
    file, first = await _deliver_first(debits)
    await debits.record(first, outcome=DebitOutcome.RETURNED, reason_code="AM04")
    page = await clerk.get(f"/debits/{first.collection_id}")
    assert "AM04: not enough money in the account" in " ".join(page.text.split())
    of_file = await clerk.get(f"/debits/files/{file.file_id}")
    assert "0 collected, 1 returned" in " ".join(of_file.text.split())
    listed = await clerk.get("/debits?show=all&state=RETURNED&since=2026-03-01&until=2026-03-31")
    assert listed.text.count(f'/debits/{first.collection_id}"') == 1
    assert "AM04" in listed.text
    assert "No entries." in (await clerk.get("/debits?show=all&until=2026-03-01")).text


async def test_a_mandate_is_shown_and_revoked(clerk: Clerk, debits: Debits) -> None:
    claim_id = debits.arrangement.claim_id
    listed = await clerk.get("/mandates?state=ACTIVE")
    found = re.findall(rf"/claims/{claim_id}/mandates/[0-9a-f-]+", listed.text)
    path = found[0]
    claim = await clerk.get(f"/claims/{claim_id}")
    assert path in claim.text
    plan = await clerk.get(f"/claims/{claim_id}/plans/{debits.modality_id}")
    assert path in plan.text
    assert plan.text.count("/debits/") == 3
    page = await clerk.get(path)
    for text in ("I authorise Nordwind.", "DE •••• 2051", "session-1", "on the debtor page"):
        assert text in page.text
    assert page.text.count("/debits/") == 3
    form = read_fields(page.text)
    for _ in range(2):
        done = await clerk.follow(await clerk.post(path, form))
        assert "Mandate revoked." in done.text
    assert "the mandate has ended" in done.text
    assert "No mandates" not in (await clerk.get("/mandates?state=REVOKED")).text


async def test_an_auditor_sees_no_forms(debits: Debits, resources: Resources) -> None:
    file = await debits.release()
    auditor = await _sign_in(resources, debits, Role.AUDITOR)
    [row, *_] = await debits.arrangement.harness.rows(
        "SELECT claim_id, mandate_id FROM mandates WHERE merchant_id = $1"
    )
    for path in (
        "/debits", f"/debits/files/{file.file_id}",
        f"/claims/{row['claim_id']}/mandates/{row['mandate_id']}",
    ):  # fmt: skip
        page = await auditor.get(path)
        assert page.status_code == 200
        assert page.text.count('<form method="post"') <= 1


async def test_only_a_merchant_with_direct_debits_has_this_area(
    resources: Resources, clock: MovableClock, clerk: Clerk
) -> None:
    other = await a_harness(resources, clock, key="other")
    colleague = await sign_in(resources, an_application(resources).app, other)
    assert 'data-key="l"' in (await clerk.get("")).text
    assert 'data-key="l"' not in (await colleague.get("")).text
    page = await colleague.get("/debits")
    assert "Direct debits are not set up for this merchant." in page.text


async def test_the_timeline_of_the_claim_shows_the_mandate_and_its_debits(
    clerk: Clerk, debits: Debits
) -> None:
    path = f"/claims/{debits.arrangement.claim_id}?show=money"
    [entry] = read_timeline((await clerk.get(path)).text)
    assert entry.startswith("Direct debit mandate given ")
    await debits.download(await debits.release())
    entries = read_timeline((await clerk.get(path)).text)
    assert entries[1:] == ["Direct debit of €34.14 for instalment 1 released to the bank"]
    async with debits.arrangement.harness.work() as work:
        [mandate] = await list_claim_mandates(
            work.tx, work.merchant_id, debits.arrangement.claim_id
        )
    [first, *_] = await debits.collections(mandate)
    await debits.record(first, outcome=DebitOutcome.RETURNED, reason_code="AC04")
    entries = read_timeline((await clerk.get(path)).text)
    assert "Direct debit of €34.14 returned by the bank account closed" in entries
    assert sum("not collected the mandate has ended" in each for each in entries) == 2
    [ended] = [each for each in entries if each.startswith("Direct debit mandate ended:")]
    assert "the bank returned a debit" in ended


async def test_debits_of_the_bank_are_filtered_and_no_account_can_be_chosen(
    clerk: Clerk, debits: Debits
) -> None:
    page = await clerk.get("/debits?show=all")
    assert 'name="by"' not in page.text
    assert page.text.count("/debits/") > 2
    assert "No entries." in (await clerk.get("/debits?show=all&by=@bank")).text
    assert "No entries." not in (await clerk.get("/debits?show=all&by=BANK")).text
