"""The pages of workflows: what they show, how to edit them, and that conflicts lose no changes."""

import re
from typing import Any
from uuid import UUID

import pytest

from dunwell.cases.rollout.publish_workflow import publish_workflow
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.store import load_current, load_draft, load_workflows
from dunwell.core.workflows.versions.parts import list_parts
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness
from tests.support.portal import Clerk, read_fields, sign_in

_OPEN = "SELECT * FROM workflow_draft_changes WHERE merchant_id = $1 AND version_id IS NULL"


@pytest.fixture
async def at(harness: Harness) -> str:
    """The path of the merchant's only workflow."""
    async with harness.work() as work:
        [workflow] = await load_workflows(work.tx, work.merchant_id)
    return f"/workflows/{workflow.workflow_id}"


@pytest.fixture
async def colleague(resources: Resources, harness: Harness) -> Clerk:
    return await sign_in(resources, an_application(resources).app, harness, name="Ada")


async def definition_of(harness: Harness, at: str, *, of_draft: bool = True) -> Definition:
    workflow_id = UUID(at.rpartition("/")[2])
    async with harness.work() as work:
        draft = await load_draft(work.tx, work.merchant_id, workflow_id)
        current = await load_current(work.tx, work.merchant_id, workflow_id)
    version = draft if of_draft else current
    assert version is not None
    return version.definition


async def save_step(clerk: Clerk, at: str, step_id: int, **fields: Any) -> Any:
    return await clerk.submit(f"{at}/steps/{step_id}", do="save", **fields)


async def act(clerk: Clerk, at: str, step_id: int, do: str, page: str | None = None) -> Any:
    """Press a button of a step's card. `page` is the page as it was rendered before."""
    shown = page or (await clerk.get(at)).text
    form = re.search(
        rf'<form method="post" class="acts.*?name="step" value="{step_id}".*?</form>',
        shown.partition(f'data-step="{step_id}"')[2], re.DOTALL,
    )  # fmt: skip
    assert form
    fields = read_fields(form[0].replace("sign-out", ""))
    return await clerk.follow(await clerk.post(at, {**fields, "do": do}))


async def test_the_list_shows_versions_and_their_numbers_of_claims(
    clerk: Clerk, harness: Harness, claim_id: int, at: str
) -> None:
    assert claim_id
    page = await clerk.get("/workflows")
    assert "1 active claim on v1.0." in page.text, page.text.partition("processes")[2][:900]
    await save_step(clerk, at, 2, days="9")
    page = await clerk.get("/workflows")
    assert "The draft has 1 unpublished change." in page.text
    other = await clerk.get(at)
    assert "Publishes as v2.0 (major). It applies to new claims only." in other.text


async def test_a_changed_step_is_saved_in_the_draft_with_its_author(
    clerk: Clerk, harness: Harness, at: str
) -> None:
    done = await save_step(clerk, at, 2, days="9", name="Wait longer")
    assert "Saved in draft." in done.text
    parts = list_parts(await definition_of(harness, at))
    assert (parts["step 2"]["days"], parts["step 2"]["name"]) == (9, "Wait longer")
    [row] = await harness.rows(
        "SELECT * FROM workflow_draft_changes WHERE merchant_id = $1 AND version_id IS NULL"
    )
    assert (row["actor_kind"], row["part"]) == ("USER", "step 2")


async def test_saving_an_unchanged_form_changes_nothing(
    clerk: Clerk, harness: Harness, at: str
) -> None:
    ticked = {"contactHours.weekdays": ["MON", "TUE", "WED", "THU", "FRI"]}
    for path in (*(f"{at}/steps/{step_id}" for step_id in range(1, 6)), f"{at}/settings"):
        answer = await clerk.submit(path, do="save", **ticked)
        assert answer.status_code == 200, answer.text
    async with harness.work() as work:
        assert await load_draft(work.tx, work.merchant_id, UUID(at.rpartition("/")[2])) is None


async def test_invalid_values_are_reported_next_to_their_fields_and_not_saved(
    clerk: Clerk, harness: Harness, at: str
) -> None:
    page = await save_step(clerk, at, 2, days="a week")
    assert page.status_code == 422
    assert 'id="days-error"' in page.text
    assert 'value="a week"' in page.text
    checked = await clerk.send(f"{at}/steps/2", do="check", days="0")
    assert checked.status_code == 200
    assert 'id="days-error"' in checked.text
    async with harness.work() as work:
        assert await load_draft(work.tx, work.merchant_id, UUID(at.rpartition("/")[2])) is None


async def test_a_check_shows_the_kind_of_the_next_version_and_saves_nothing(
    clerk: Clerk, at: str
) -> None:
    await clerk.get(f"{at}/steps/3")
    checked = await clerk.send(f"{at}/steps/3", do="check", value="3.10")
    assert "Publishes as v1.1 (minor)." in checked.text
    assert "The draft is identical to v1.0." in (await clerk.get(f"{at}/steps/3")).text


async def test_after_a_conflict_over_a_step_both_versions_are_shown(
    clerk: Clerk, colleague: Clerk, harness: Harness, at: str
) -> None:
    path = f"{at}/steps/2"
    await clerk.get(path)
    await save_step(colleague, at, 2, days="10")
    page = await clerk.send(path, do="save", days="14")
    assert page.status_code == 409
    assert "Someone else changed this while you were editing" in page.text
    assert "Ada" in page.text
    assert re.search(r"<del>\s*10\s*</del>.*<ins>\s*14\s*</ins>", page.text, re.DOTALL)
    assert 'value="14"' in page.text
    assert list_parts(await definition_of(harness, at))["step 2"]["days"] == 10
    done = await clerk.follow(await clerk.send(path, do="save"))
    assert "Saved in draft." in done.text
    assert list_parts(await definition_of(harness, at))["step 2"]["days"] == 14


async def test_a_conflict_is_still_shown_after_a_value_was_corrected(
    clerk: Clerk, colleague: Clerk, harness: Harness, at: str
) -> None:
    path = f"{at}/steps/2"
    await clerk.get(path)
    await save_step(colleague, at, 2, days="10")
    unreadable = await clerk.send(path, do="save", days="many")
    assert (unreadable.status_code, 'value="many"' in unreadable.text) == (422, True)
    assert (await clerk.send(path, do="save", days="14")).status_code == 409
    assert list_parts(await definition_of(harness, at))["step 2"]["days"] == 10


async def test_users_can_edit_different_steps_at_the_same_time(
    clerk: Clerk, colleague: Clerk, harness: Harness, at: str
) -> None:
    await clerk.get(f"{at}/steps/5")
    await save_step(colleague, at, 2, days="10")
    await clerk.follow(await clerk.send(f"{at}/steps/5", do="save", days="20"))
    parts = list_parts(await definition_of(harness, at))
    assert (parts["step 2"]["days"], parts["step 5"]["days"]) == (10, 20)


async def test_polling_with_the_etag_shows_a_colleagues_change(
    clerk: Clerk, colleague: Clerk, at: str
) -> None:
    first = await clerk.get(at)
    etag = {"If-None-Match": first.headers["ETag"]}
    assert (await clerk.get(at, headers=etag)).status_code == 304
    await save_step(colleague, at, 2, days="10")
    second = await clerk.get(at, headers=etag)
    assert second.status_code == 200
    assert "Ada" in second.text


async def test_steps_can_be_added_moved_duplicated_and_removed(
    clerk: Clerk, harness: Harness, at: str
) -> None:
    page = await clerk.submit(
        f"{at}/steps/new?kind=WAIT&after=1", do="save", name="Short wait", days="3"
    )
    assert "Step added to the draft." in page.text
    assert [each.id for each in (await definition_of(harness, at)).steps] == [1, 6, 2, 3, 4, 5]
    await act(clerk, at, 6, "up")
    assert [each.id for each in (await definition_of(harness, at)).steps] == [6, 1, 2, 3, 4, 5]
    await act(clerk, at, 6, "down")
    await act(clerk, at, 3, "double")
    assert [each.id for each in (await definition_of(harness, at)).steps] == [1, 6, 2, 3, 7, 4, 5]
    await act(clerk, at, 6, "remove")
    assert [each.id for each in (await definition_of(harness, at)).steps] == [1, 2, 3, 7, 4, 5]
    page = await clerk.submit(f"{at}/steps/new?kind=WAIT", do="save", name="Again", days="1")
    assert (await definition_of(harness, at)).steps[0].id == 6


async def test_a_step_is_not_moved_if_the_order_changed_in_the_meantime(
    clerk: Clerk, colleague: Clerk, harness: Harness, at: str
) -> None:
    shown = (await clerk.get(at)).text
    await act(colleague, at, 5, "up")
    page = await act(clerk, at, 1, "down", shown)
    assert "Someone else changed this while you were editing" in page.text
    assert [each.id for each in (await definition_of(harness, at)).steps] == [1, 2, 3, 5, 4]


async def test_a_step_is_not_removed_if_it_changed_in_the_meantime(
    clerk: Clerk, colleague: Clerk, harness: Harness, at: str
) -> None:
    shown = (await clerk.get(at)).text
    await save_step(colleague, at, 2, days="10")
    page = await act(clerk, at, 2, "remove", shown)
    assert "Someone else changed this while you were editing" in page.text
    assert list_parts(await definition_of(harness, at))["step 2"]["days"] == 10


async def test_a_new_workflow_has_one_message_or_copies_another_workflow(
    clerk: Clerk, harness: Harness, at: str
) -> None:
    page = await clerk.submit("/workflows", name="Premium", first="First reminder", wait="To pay")
    assert "Not published yet. The first version will be v1.0." in page.text
    assert "There is no template with this name yet." in page.text
    # The debtor has two weeks to pay before the claim is archived.
    assert "To pay" in page.text
    assert "14 days" in page.text
    assert "Warnings" not in page.text
    like = at.rpartition("/")[2]
    page = await clerk.submit("/workflows", name="Copy", like=like)
    assert "Wait a week" in page.text
    page = await clerk.submit("/workflows", name="Copy")
    assert page.status_code == 422
    assert "Another workflow already has this name." in page.text
    async with harness.work() as work:
        names = [each.name for each in await load_workflows(work.tx, work.merchant_id)]
    assert names == ["Standard", "Premium", "Copy"]


async def test_a_contact_without_a_wait_is_warned_about_before_and_after_publishing(
    clerk: Clerk, harness: Harness, at: str
) -> None:
    warning = 'No wait follows the last contact "First reminder"'
    steps = [DOCUMENT["steps"][0]]
    assert warning not in (await clerk.get(at)).text
    async with harness.work() as work:
        await save_draft(work, "Standard", a_definition(steps=steps))
    for page in (at, f"{at}/publish"):
        text = (await clerk.get(page)).text
        assert warning in text
        assert "at least 11 days" in text
    assert warning not in (await clerk.get("/workflows")).text
    async with harness.work() as work:
        await publish_workflow(work, UUID(at.rpartition("/")[2]))
    assert warning in (await clerk.get("/workflows")).text


async def test_a_workflow_can_be_renamed_and_deactivated_and_deleted_if_unused(
    clerk: Clerk, harness: Harness, at: str
) -> None:
    path = f"{at}/manage"
    done = await clerk.submit(path, do="rename", name="Usual")
    assert "Name saved." in done.text
    done = await clerk.submit(path, do="deactivate")
    assert "Deactivated: it is not assigned to new claims." in done.text
    await clerk.submit(path, do="activate")
    refused = await clerk.submit(path, do="delete")
    assert refused.status_code == 409
    assert "it is the default of the assignment rules" in refused.text
    async with harness.work() as work:
        [workflow] = await load_workflows(work.tx, work.merchant_id)
    assert (workflow.name, workflow.assignment_enabled) == ("Usual", True)
    await clerk.submit("/workflows", name="Unused", first="One")
    async with harness.work() as work:
        unused = (await load_workflows(work.tx, work.merchant_id))[1]
    done = await clerk.submit(f"/workflows/{unused.workflow_id}/manage", do="delete")
    assert "Workflow deleted." in done.text
