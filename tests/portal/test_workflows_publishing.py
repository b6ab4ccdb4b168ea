"""Publishing a draft with a tick for each colleague, discarding it after its changes were shown,
restoring an old version, and importing a file."""

from typing import Any
from uuid import UUID

import pytest

from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.store import load_current, load_draft, load_workflows
from dunwell.core.workflows.versions.parts import list_parts
from dunwell.interfaces.portal.workflows import routes_publish
from dunwell.operations.jobs.previews.draft_previews import run_previews
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.portal import Clerk, read_fields, sign_in


@pytest.fixture
async def at(harness: Harness) -> str:
    async with harness.work() as work:
        [workflow] = await load_workflows(work.tx, work.merchant_id)
    return f"/workflows/{workflow.workflow_id}"


@pytest.fixture
async def colleague(resources: Resources, harness: Harness) -> Clerk:
    return await sign_in(resources, an_application(resources).app, harness, name="Ada")


async def save_step(clerk: Clerk, at: str, step_id: int, **fields: Any) -> None:
    assert (await clerk.submit(f"{at}/steps/{step_id}", do="save", **fields)).status_code == 200


async def draft_of(harness: Harness, at: str) -> Definition | None:
    async with harness.work() as work:
        draft = await load_draft(work.tx, work.merchant_id, UUID(at.rpartition("/")[2]))
    return None if draft is None else draft.definition


async def version_of(harness: Harness, at: str) -> str:
    async with harness.work() as work:
        current = await load_current(work.tx, work.merchant_id, UUID(at.rpartition("/")[2]))
    assert current is not None
    return current.name


def read_publication(page: str) -> dict[str, Any]:
    """Return the form's fields, with all changes that it showed."""
    form = (
        page.partition("Changes by author")[0].rpartition("<form")[2]
        + page.partition("Changes by author")[2].partition("</form>")[0]
    )
    fields = read_fields(f'<form method="post"{form}</form>')
    seen = [part.partition('"')[0] for part in form.split('name="seen" value="')[1:]]
    return {**fields, "seen": seen}


async def test_own_changes_are_published_with_a_comment(
    clerk: Clerk, harness: Harness, claim_id: int, at: str
) -> None:
    assert claim_id
    await save_step(clerk, at, 3, value="3.10")
    page = await clerk.get(f"{at}/publish")
    assert "1 active claim moves to it." in page.text
    assert "Affected claims" in page.text
    fields = {**read_publication(page.text), "comment": "Postage is dearer"}
    done = await clerk.follow(await clerk.post(f"{at}/publish", fields))
    assert "v1.1 is published and active." in done.text
    assert "Postage is dearer" in done.text
    assert await version_of(harness, at) == "v1.1"
    shown = await clerk.get(f"{at}/versions/v1.1")
    assert "Dunning fee" in shown.text
    assert "<h3>You</h3>" in shown.text


@pytest.mark.parametrize("control", ["\x85", "\x07"])
async def test_a_comment_with_control_characters_is_refused_and_shown_again(
    clerk: Clerk, harness: Harness, claim_id: int, at: str, control: str
) -> None:
    assert claim_id
    await save_step(clerk, at, 3, value="3.10")
    fields = read_publication((await clerk.get(f"{at}/publish")).text)
    refused = await clerk.post(f"{at}/publish", {**fields, "comment": f"Postage{control} rose"})
    assert refused.status_code == 422
    assert "This text contains an invisible control character. Remove it." in refused.text
    assert "rose" in refused.text
    assert await version_of(harness, at) == "v1.0"


async def test_a_colleagues_changes_must_be_ticked_as_reviewed(
    clerk: Clerk, colleague: Clerk, harness: Harness, at: str
) -> None:
    await save_step(clerk, at, 3, value="3.10")
    await save_step(colleague, at, 2, days="10")
    shown = await clerk.get(f"{at}/publish")
    fields = read_publication(shown.text)
    page = await clerk.post(f"{at}/publish", fields)
    assert page.status_code == 409
    assert "All changes are published together. Tick the box for each colleague." in page.text
    assert await version_of(harness, at) == "v1.0"
    key = shown.text.partition('name="agreed" value="')[2].partition('"')[0]
    done = await clerk.follow(await clerk.post(f"{at}/publish", {**fields, "agreed": key}))
    assert "v2.0 is published and active." in done.text


async def test_changes_made_after_the_page_was_rendered_are_not_published(
    clerk: Clerk, colleague: Clerk, harness: Harness, at: str
) -> None:
    await save_step(clerk, at, 3, value="3.10")
    fields = read_publication((await clerk.get(f"{at}/publish")).text)
    await save_step(colleague, at, 2, days="10")
    page = await clerk.post(f"{at}/publish", fields)
    assert page.status_code == 409
    assert "Someone else changed this while you were editing" in page.text
    assert "New since review" in page.text
    assert await version_of(harness, at) == "v1.0"


async def test_a_draft_with_errors_is_not_published_and_the_errors_are_listed(
    clerk: Clerk, harness: Harness, at: str
) -> None:
    await save_step(clerk, at, 1, template="unwritten")
    page = await clerk.get(f"{at}/publish")
    assert "There is no template with this name yet." in page.text
    refused = await clerk.post(f"{at}/publish", read_publication(page.text))
    assert refused.status_code == 422
    assert await version_of(harness, at) == "v1.0"


async def test_the_worker_counts_large_numbers_of_claims(
    clerk: Clerk, harness: Harness, claim_id: int, at: str, resources: Resources,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(routes_publish, "_MAX_INLINE_CLAIMS", 0)
    await save_step(clerk, at, 1, send="IMMEDIATE", name="Now")
    path = f"{at}/publish"
    page = await clerk.get(path)
    token = read_fields(page.text)["token"]
    draft = page.text.partition('name="known_draft" value="')[2].partition('"')[0]
    shown = await clerk.follow(
        await clerk.post(f"{at}/preview", {"token": token, "known_draft": draft})
    )
    assert "claims processed." in shown.text
    assert "data-live" in shown.text
    assert await run_previews(resources) >= 1
    found = await clerk.get(path)
    assert "unchanged" in found.text
    [job] = await harness.rows("SELECT state, total, done FROM jobs WHERE merchant_id = $1")
    assert (job["state"], job["total"], job["done"]) == ("DONE", 1, 1)


async def test_a_preview_of_a_discarded_draft_is_reported(
    clerk: Clerk, harness: Harness, claim_id: int, at: str, resources: Resources,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(routes_publish, "_MAX_INLINE_CLAIMS", 0)
    await save_step(clerk, at, 1, name="Now")
    page = await clerk.get(f"{at}/publish")
    draft = page.text.partition('name="known_draft" value="')[2].partition('"')[0]
    fields = {"token": read_fields(page.text)["token"], "known_draft": draft}
    await clerk.post(f"{at}/preview", fields)
    await clerk.submit(f"{at}/discard")
    assert (await clerk.post(f"{at}/preview", fields)).status_code == 409
    await run_previews(resources)
    [job] = await harness.rows("SELECT state FROM jobs WHERE merchant_id = $1")
    assert job["state"] == "FAILED"


async def test_a_draft_is_discarded_after_its_changes_were_shown(
    clerk: Clerk, colleague: Clerk, harness: Harness, at: str
) -> None:
    await save_step(clerk, at, 2, days="10")
    shown = await clerk.get(f"{at}/discard")
    assert "The published version v1.0 stays active." in shown.text
    await save_step(colleague, at, 5, days="20")
    refused = await clerk.post(f"{at}/discard", read_fields(shown.text))
    assert refused.status_code == 409
    assert "Ada" in refused.text
    assert await draft_of(harness, at) is not None
    done = await clerk.follow(await clerk.post(f"{at}/discard", read_fields(refused.text)))
    assert "Draft discarded." in done.text
    assert await draft_of(harness, at) is None


async def test_an_old_version_is_restored_as_a_draft(
    clerk: Clerk, harness: Harness, at: str
) -> None:
    await save_step(clerk, at, 2, days="10")
    fields = read_publication((await clerk.get(f"{at}/publish")).text)
    await clerk.post(f"{at}/publish", fields)
    assert await version_of(harness, at) == "v2.0"
    shown = await clerk.get(f"{at}/versions/v1.0")
    assert "A published version cannot be changed." in shown.text
    page = await clerk.follow(await clerk.post(f"{at}/versions/v1.0", read_fields(shown.text)))
    assert "The version was restored as the draft." in page.text
    assert list_parts(await draft_of(harness, at))["step 2"]["days"] == 7
    again = await clerk.post(f"{at}/versions/v2.0", read_fields(shown.text))
    assert again.status_code == 409
    compared = await clerk.get(f"{at}/compare?before=v1.0&after=v2.0")
    assert "The sequence of steps changes." in compared.text


async def test_a_file_is_imported_after_a_preview_of_its_changes(
    clerk: Clerk, colleague: Clerk, harness: Harness, at: str
) -> None:
    path = f"{at}/file"
    fields = read_fields((await clerk.get(path)).text)
    changed = fields["text"].replace("days: 7", "days: 8")
    looked = await clerk.post(path, {**fields, "text": changed, "do": "look"})
    assert "Changes" in looked.text
    assert await draft_of(harness, at) is None
    await save_step(colleague, at, 5, days="20")
    refused = await clerk.post(path, {**fields, "text": changed, "do": "import"})
    assert refused.status_code == 409
    assert "days: 8" in refused.text
    done = await clerk.follow(await clerk.post(path, {**read_fields(refused.text), "do": "import"}))
    assert "The file was imported into the draft." in done.text
    parts = list_parts(await draft_of(harness, at))
    assert (parts["step 2"]["days"], parts["step 5"]["days"]) == (8, 14)
    for text, expected in (("a: [", "cannot be read"), ("steps: 3", "Line 1:")):
        bad = await clerk.post(path, {**fields, "text": text, "do": "look"})
        assert (bad.status_code, expected in bad.text) == (422, True)


@pytest.mark.parametrize("form", ["yaml", "json"])
async def test_importing_an_exported_file_changes_nothing(clerk: Clerk, at: str, form: str) -> None:
    text = (await clerk.get(f"{at}/versions/v1.0/{form}")).text
    fields = read_fields((await clerk.get(f"{at}/file")).text)
    looked = await clerk.post(f"{at}/file", {**fields, "text": text, "do": "look"})
    assert looked.status_code == 200
    assert "No changes." in looked.text


async def test_the_switch_to_workflows_is_previewed_and_happens_once(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, key="hansen", switched_to_workflows=False)
    await harness.publish(a_definition())
    clerk = await sign_in(resources, an_application(resources).app, harness)
    assert "This merchant uses scenarios" in (await clerk.get("/workflows")).text
    shown = await clerk.get("/switch")
    assert "v1.0" in shown.text
    fields = read_fields(shown.text)
    refused = await clerk.post("/switch", fields)
    assert refused.status_code == 422
    moved = await clerk.post("/switch", {**fields, "sure": "yes", "revision": "other"})
    assert moved.status_code == 409
    done = await clerk.follow(await clerk.post("/switch", {**fields, "sure": "yes"}))
    assert "This merchant now uses workflows." in done.text
    assert (await clerk.post("/switch", {**fields, "sure": "yes"})).status_code == 409
