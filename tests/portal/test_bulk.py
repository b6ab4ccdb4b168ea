"""Actions on many claims at once, and exports of lists."""

import pytest

from dunwell.core.files.storage import SealedFiles
from dunwell.interfaces.portal.jobs import routes_bulk
from dunwell.operations.jobs.claim_jobs import run_jobs
from dunwell.operations.jobs.job import MAX_LIVE
from dunwell.operations.jobs.run_exports import run_exports
from dunwell.platform.resources import Resources
from tests.support.disputes import dispute
from tests.support.harness import Harness
from tests.support.portal import Clerk, read_fields


async def _begin(clerk: Clerk, action: str, **fields: object) -> str:
    page = await clerk.get("/claims")
    answer = await clerk.post("/bulk", {**read_fields(page.text), "action": action, **fields})
    return answer.text


async def test_a_dry_run_shows_the_effect_and_changes_nothing(
    clerk: Clerk, harness: Harness
) -> None:
    claim_ids = await harness.create("INV-1", "INV-2", "INV-3")
    await harness.run()
    await dispute(harness, claim_ids[0])

    page = await _begin(clerk, "archive", which="all")

    assert "<strong>2 of 3</strong>" in page
    assert "disputed" in page
    assert await harness.rows("SELECT 1 FROM jobs WHERE merchant_id = $1") == []


async def test_a_bulk_pause_asks_for_the_number_and_runs_as_a_job(
    resources: Resources, clerk: Clerk, harness: Harness
) -> None:
    claim_ids = await harness.create("INV-1", "INV-2", "INV-3")
    await harness.run()
    await _begin(clerk, "pause", which="ticked", claim=[str(each) for each in claim_ids[:2]])

    refused = await clerk.send(
        "/bulk", do="start", count="3", claim=[str(each) for each in claim_ids[:2]]
    )
    assert refused.status_code == 422
    assert "Enter the number of claims to confirm." in refused.text

    started = await clerk.follow(
        await clerk.send(
            "/bulk", do="start", count="2", claim=[str(each) for each in claim_ids[:2]]
        )
    )
    assert "Background job started." in started.text
    await run_jobs(resources)
    job = await clerk.get(started.url.path)
    assert "2 of 2" in job.text
    held = [len((await harness.read(each)).holds) for each in claim_ids]
    assert held == [1, 1, 0]


async def test_a_changed_selection_is_shown_again(clerk: Clerk, harness: Harness) -> None:
    await harness.create("INV-1", "INV-2")
    await _begin(clerk, "pause", which="all")
    await harness.create("INV-3")

    answer = await clerk.send("/bulk", do="start", count="2")

    assert answer.status_code == 422
    assert "The selection has changed in the meantime." in answer.text
    assert await harness.rows("SELECT 1 FROM jobs WHERE merchant_id = $1") == []


async def test_a_selection_is_searched_in_a_limited_number_of_pages(
    clerk: Clerk, harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes_bulk, "_PAGE_SIZE", 1)
    monkeypatch.setattr(routes_bulk, "_MAX_PAGES", 3)
    await harness.create("INV-1", "INV-2", "INV-3")
    assert "<strong>3 of 3</strong>" in await _begin(clerk, "pause", which="all")

    await harness.create("INV-4")
    page = await _begin(clerk, "pause", which="all")

    assert "match too many claims" in page


async def test_a_job_above_the_limit_is_refused_with_a_message(
    clerk: Clerk, harness: Harness
) -> None:
    [claim_id] = await harness.create("INV-1")
    for _ in range(MAX_LIVE):
        await _begin(clerk, "pause", which="ticked", claim=str(claim_id))
        await clerk.send("/bulk", do="start", count="1", claim=str(claim_id))

    page = await clerk.get("/claims")
    answer = await clerk.post("/export", {"token": read_fields(page.text)["token"]})

    assert answer.status_code == 409
    assert "cancel one" in answer.text


@pytest.mark.parametrize("reason", ["x" * 256, "a\x07b"], ids=["long", "bell"])
async def test_a_bulk_action_with_an_invalid_reason_is_refused(
    clerk: Clerk, harness: Harness, reason: str
) -> None:
    [claim_id] = await harness.create("INV-1")
    await _begin(clerk, "pause", which="ticked", claim=str(claim_id))

    answer = await clerk.send("/bulk", do="start", count="1", claim=str(claim_id), reason=reason)

    assert answer.status_code == 422
    assert "Enter a reason of at most 255 characters" in answer.text


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
async def test_a_bulk_pause_until_an_invalid_date_is_refused(
    clerk: Clerk, harness: Harness, day: str
) -> None:
    [claim_id] = await harness.create("INV-1")
    await _begin(clerk, "pause", which="ticked", claim=str(claim_id))

    answer = await clerk.send("/bulk", do="start", count="1", claim=str(claim_id), until=day)

    assert answer.status_code == 422
    assert "Enter a valid date" in answer.text


async def test_an_empty_selection_is_reported(clerk: Clerk, harness: Harness) -> None:
    await harness.create("INV-1")

    page = await _begin(clerk, "pause", which="ticked")

    assert "No claims selected." in page
    # The next form selects no other claims.
    assert "No claims selected." in (await clerk.send("/bulk", do="try")).text
    again = await clerk.send("/bulk", do="start", known_count="1", count="1")
    assert (again.status_code, "No claims selected." in again.text) == (422, True)


@pytest.mark.parametrize("filters", [{"q": "INV-1"}, {"least": "no amount"}])
async def test_all_claims_cannot_be_selected_with_a_search_or_an_invalid_filter(
    clerk: Clerk, harness: Harness, filters: dict[str, str]
) -> None:
    """The list shows fewer claims than the other filters select."""
    await harness.create("INV-1", "INV-2")
    page = await _begin(clerk, "archive", which="all", **filters)
    assert "The filters match too many claims." in page
    again = await clerk.send("/bulk", do="start", known_count="2", count="2")
    assert again.status_code == 422


async def test_an_unchanged_job_is_answered_with_its_etag(clerk: Clerk, harness: Harness) -> None:
    [claim_id] = await harness.create("INV-1")
    await _begin(clerk, "pause", which="ticked", claim=str(claim_id))
    started = await clerk.send("/bulk", do="start", count="1", claim=str(claim_id))
    path = started.headers["Location"].partition("?")[0]
    first = await clerk.get(path)

    again = await clerk.get(path, headers={"If-None-Match": first.headers["ETag"]})

    assert again.status_code == 304


async def test_an_exported_list_contains_no_formulas(
    resources: Resources, clerk: Clerk, harness: Harness
) -> None:
    await harness.create("INV-1", debtorLastName="=cmd()")
    page = await clerk.get("/claims")
    fields = {"token": read_fields(page.text)["token"]}

    shown = await clerk.follow(await clerk.post("/export", fields))
    storage = SealedFiles.open(resources)
    while await run_exports(resources, storage):
        pass
    job = await clerk.get(shown.url.path)
    assert "Download file" in job.text
    file = await clerk.get(f"{shown.url.path}/file.csv")
    assert file.status_code == 200, file.text[-900:]

    assert file.headers["Content-Disposition"].startswith("attachment")
    assert ",'=cmd()," in file.text
