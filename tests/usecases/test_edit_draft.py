"""Two users edit one draft: the changes by part, and their authors."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from dunwell.accounts.merchants.actor import Actor, Interface, Origin, build_user_actor
from dunwell.accounts.merchants.rights import ROLE_RIGHTS, Role
from dunwell.cases.rollout.delete_workflow import discard_draft_or_workflow
from dunwell.cases.rollout.publish_workflow import publish_workflow
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.draft_changes import DraftChange, ReviewedChanges
from dunwell.core.workflows.drafts.edit_draft import EditedDraft, PartEdit, edit_draft, save_draft
from dunwell.core.workflows.drafts.publish_draft import ChangesNotReviewed
from dunwell.core.workflows.drafts.store import load_open_changes, load_published_changes
from dunwell.core.workflows.store import load_draft
from dunwell.core.workflows.versions.parts import list_parts
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import EditConflict, NotFound, ValidationError
from dunwell.platform.resources import Resources
from dunwell.platform.text.differences import compute_revision
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness

FIRST = a_definition()
PARTS = list_parts(FIRST)


def a_user() -> Actor:
    return build_user_actor(str(uuid4()), ROLE_RIGHTS[Role.OPERATOR], Origin(Interface.PORTAL))


ADA, BEN = a_user(), a_user()


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock)


@pytest.fixture
async def workflow_id(harness: Harness) -> UUID:
    async with harness.work() as work:
        saved = await save_draft(work, "Standard", FIRST)
        await publish_workflow(work, saved.workflow_id)
    return saved.workflow_id


def wait_of(days: int) -> dict[str, Any]:
    return {**PARTS["step 2"], "days": days}


async def edit(
    harness: Harness, workflow_id: UUID, who: Actor, part: str, value: Any, *, seen: Any = None
) -> EditedDraft:
    """Edit a part. `seen` is the part as its editor saw it; by default as in the first version."""
    shown = compute_revision(PARTS.get(part) if seen is None else seen)
    async with harness.work(who) as work:
        return await edit_draft(work, workflow_id, PartEdit(part, shown, value))


async def open_changes(harness: Harness, workflow_id: UUID) -> list[DraftChange]:
    async with harness.work() as work:
        return await load_open_changes(work.tx, work.merchant_id, workflow_id)


async def draft_of(harness: Harness, workflow_id: UUID) -> Definition | None:
    async with harness.work() as work:
        draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    return None if draft is None else draft.definition


async def test_two_users_can_change_different_parts(harness: Harness, workflow_id: UUID) -> None:
    await edit(harness, workflow_id, ADA, "step 2", wait_of(10))
    await edit(harness, workflow_id, BEN, "snippets/signature", {"de": "Gruß", "en": "Regards"})
    draft = await draft_of(harness, workflow_id)
    assert list_parts(draft) == PARTS | {
        "step 2": wait_of(10), "snippets/signature": {"de": "Gruß", "en": "Regards"},
    }  # fmt: skip
    changes = await open_changes(harness, workflow_id)
    assert [(each.actor_id, each.part) for each in changes] == [
        (ADA.actor_id, "step 2"), (BEN.actor_id, "snippets/signature"),
    ]  # fmt: skip


async def test_a_conflicting_edit_is_refused_with_both_versions(
    harness: Harness, workflow_id: UUID
) -> None:
    await edit(harness, workflow_id, ADA, "step 2", wait_of(10))
    with pytest.raises(EditConflict) as refusal:
        await edit(harness, workflow_id, BEN, "step 2", wait_of(14))
    assert refusal.value.current == wait_of(10)
    assert refusal.value.change is not None
    assert refusal.value.change.actor_id == ADA.actor_id
    assert list_parts(await draft_of(harness, workflow_id))["step 2"] == wait_of(10)
    await edit(harness, workflow_id, BEN, "step 2", wait_of(14), seen=wait_of(10))
    assert list_parts(await draft_of(harness, workflow_id))["step 2"] == wait_of(14)


async def test_several_edits_are_all_made_or_none(harness: Harness, workflow_id: UUID) -> None:
    await edit(harness, workflow_id, ADA, "step 2", wait_of(10))
    async with harness.work(BEN) as work:
        with pytest.raises(EditConflict):
            await edit_draft(
                work, workflow_id,
                PartEdit("snippets/new", compute_revision(None), {"de": "Neu", "en": "New"}),
                PartEdit("step 2", compute_revision(PARTS["step 2"]), wait_of(14)),
            )  # fmt: skip
    assert "snippets/new" not in list_parts(await draft_of(harness, workflow_id))


async def test_saving_the_present_value_is_no_conflict(harness: Harness, workflow_id: UUID) -> None:
    first = await edit(harness, workflow_id, ADA, "step 2", wait_of(10))
    short = {"kind": "WAIT", "name": PARTS["step 2"]["name"], "days": 10}
    second = await edit(harness, workflow_id, BEN, "step 2", short)
    assert second.version_id == first.version_id
    assert [each.actor_id for each in await open_changes(harness, workflow_id)] == [ADA.actor_id]


async def test_consecutive_changes_of_one_part_by_one_user_are_one_change(
    harness: Harness, workflow_id: UUID
) -> None:
    await edit(harness, workflow_id, ADA, "step 2", wait_of(10))
    await edit(harness, workflow_id, ADA, "step 2", wait_of(12), seen=wait_of(10))
    [change] = await open_changes(harness, workflow_id)
    assert (change.before, change.after) == (PARTS["step 2"], wait_of(12))


async def test_reverting_the_only_change_removes_the_draft(
    harness: Harness, workflow_id: UUID
) -> None:
    await edit(harness, workflow_id, ADA, "step 2", wait_of(10))
    back = await edit(harness, workflow_id, ADA, "step 2", PARTS["step 2"], seen=wait_of(10))
    assert not back.is_draft
    assert await draft_of(harness, workflow_id) is None
    assert await open_changes(harness, workflow_id) == []


async def test_a_removed_step_is_removed_from_the_order(
    harness: Harness, workflow_id: UUID
) -> None:
    edited = await edit(harness, workflow_id, ADA, "step 3", None)
    assert [each.id for each in edited.definition.steps] == [1, 2, 4, 5]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("step 2", {"kind": "WAIT", "name": "Wait", "days": "a week"}),
        ("title", "x"),
        ("settings", 1),
    ],
)
async def test_a_part_with_a_wrong_shape_is_refused_and_not_saved(
    harness: Harness, workflow_id: UUID, part: str, value: Any
) -> None:
    with pytest.raises(ValidationError):
        await edit(harness, workflow_id, ADA, part, value)
    assert await draft_of(harness, workflow_id) is None


async def test_a_draft_saved_as_a_whole_has_an_author_for_each_part(
    harness: Harness, workflow_id: UUID
) -> None:
    await edit(harness, workflow_id, ADA, "step 2", wait_of(10))
    whole = a_definition(snippets={"signature": {"de": "Gruß", "en": "Regards"}})
    async with harness.work() as work:
        await save_draft(work, "Standard", whole)
    changes = await open_changes(harness, workflow_id)
    assert [(each.actor_kind, each.part) for each in changes] == [
        ("USER", "step 2"), ("CREDENTIAL", "step 2"), ("CREDENTIAL", "snippets/signature"),
    ]  # fmt: skip


async def test_another_users_change_is_published_only_when_it_is_selected(
    harness: Harness, workflow_id: UUID
) -> None:
    await edit(harness, workflow_id, ADA, "step 2", wait_of(10))
    await edit(harness, workflow_id, BEN, "step 5", {**PARTS["step 5"], "days": 20})
    mine, theirs = await open_changes(harness, workflow_id)
    seen = frozenset({mine.change_id, theirs.change_id})
    for reviewed in (None, ReviewedChanges(seen, frozenset())):
        async with harness.work(ADA) as work:
            with pytest.raises(ChangesNotReviewed) as refusal:
                await publish_workflow(work, workflow_id, reviewed=reviewed)
        assert [each.change_id for each in refusal.value.unapproved] == [theirs.change_id]
    async with harness.work(ADA) as work:
        reviewed = ReviewedChanges(seen, frozenset({theirs.change_id}))
        version = await publish_workflow(work, workflow_id, reviewed=reviewed)
        stamped = await load_published_changes(work.tx, work.merchant_id, version.version_id)
    assert stamped == [mine, theirs]
    assert await open_changes(harness, workflow_id) == []


async def test_a_change_after_the_page_was_loaded_is_reported(
    harness: Harness, workflow_id: UUID
) -> None:
    await edit(harness, workflow_id, ADA, "step 2", wait_of(10))
    [shown] = await open_changes(harness, workflow_id)
    await edit(harness, workflow_id, ADA, "step 2", wait_of(11), seen=wait_of(10))
    reviewed = ReviewedChanges(frozenset({shown.change_id}), frozenset())
    async with harness.work(ADA) as work:
        with pytest.raises(ChangesNotReviewed) as refusal:
            await publish_workflow(work, workflow_id, reviewed=reviewed)
    assert [each.after for each in refusal.value.new_changes] == [wait_of(11)]
    assert await draft_of(harness, workflow_id) is not None


async def test_a_program_publishes_without_selecting_changes(
    harness: Harness, workflow_id: UUID
) -> None:
    await edit(harness, workflow_id, ADA, "step 2", wait_of(10))
    async with harness.work() as work:
        assert (await publish_workflow(work, workflow_id)).name == "v2.0"


async def test_discarding_a_draft_deletes_its_changes(harness: Harness, workflow_id: UUID) -> None:
    await edit(harness, workflow_id, ADA, "step 2", wait_of(10))
    async with harness.work(BEN) as work:
        await discard_draft_or_workflow(work, workflow_id)
    assert await open_changes(harness, workflow_id) == []


async def test_drafts_of_another_merchant_are_not_accessible(
    harness: Harness, workflow_id: UUID
) -> None:
    other = await a_harness(harness.resources, harness.clock, key="other")
    async with other.work() as work:
        theirs = await save_draft(work, "Standard", FIRST)
    with pytest.raises(NotFound):
        await edit(harness, theirs.workflow_id, ADA, "step 2", wait_of(10))
    await edit(harness, workflow_id, ADA, "step 2", wait_of(10))
    assert await open_changes(other, workflow_id) == []
    assert len(await open_changes(other, theirs.workflow_id)) == len(PARTS)
