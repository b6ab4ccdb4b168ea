"""Create, edit, replace and discard a workflow's draft. Two users who change the same part get a
conflict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import lock_merchant
from dunwell.core.workflows.change_workflow import check_uses_workflows, lock_workflow_for_change
from dunwell.core.workflows.checking import check_workflow_name, parse_definition
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.draft_changes import find_last_change, merge_changes
from dunwell.core.workflows.drafts.store import (
    delete_open_changes,
    load_open_changes,
    save_merged_changes,
)
from dunwell.core.workflows.store import (
    delete_draft,
    load_current,
    load_draft,
    load_workflow_name,
    load_workflows,
    save_draft_row,
    save_workflow,
)
from dunwell.core.workflows.versions.parts import (
    STEP_ORDER,
    build_step_part_name,
    find_step_id,
    is_part,
    join_parts,
    list_parts,
    select_changed_parts,
)
from dunwell.core.workflows.versions.store import load_known_steps
from dunwell.core.workflows.versions.versions import Version, WorkflowDraft
from dunwell.platform.errors import EditConflict, Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.text.differences import compute_revision

Parts = dict[str, Any]


async def save_changed_draft(
    work: Work, workflow_id: UUID, former: Version | WorkflowDraft | None, wanted: Definition
) -> tuple[WorkflowDraft, Parts, Parts]:
    """Replace the draft, or create it, as a change of the actor. Return the new draft, and the
    changed parts before and after for the audit log. The workflow must be locked."""
    work.require(Right.CONFIGURE)
    before, after = select_changed_parts(former.definition if former else None, wanted)
    draft = WorkflowDraft(work.ids.new(work.now), wanted)
    await save_draft_row(work.tx, work.merchant_id, workflow_id, draft=draft, now=work.now)
    existing = await load_open_changes(work.tx, work.merchant_id, workflow_id)
    merged = merge_changes(
        existing, str(work.actor.kind), actor_id=work.actor.actor_id, before=before, after=after
    )
    await save_merged_changes(
        work.tx, work.merchant_id, workflow_id,
        merged=merged, ids=[work.ids.new(work.now) for _ in merged.new],
        now=work.now,
    )  # fmt: skip
    return draft, before, after


async def create_draft(work: Work, workflow_id: UUID) -> WorkflowDraft:
    """Create a draft of the current version. Raises NotFound, and InvalidState if there is a draft
    already, whose version id the message names."""
    work.require(Right.CONFIGURE)
    await lock_workflow_for_change(work, workflow_id)
    existing = await load_draft(work.tx, work.merchant_id, workflow_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    if existing is not None or current is None:
        named = "" if existing is None else f" ({existing.version_id})"
        raise InvalidState(
            f"The workflow already has a draft{named}; edit it, or discard it first.",
            state="DRAFT",
        )
    draft = WorkflowDraft(work.ids.new(work.now), current.definition)
    await save_draft_row(work.tx, work.merchant_id, workflow_id, draft=draft, now=work.now)
    await save_audit(
        work, "workflow.new_draft", f"workflow:{workflow_id}",
        before={"draft": None}, after={"draft": str(draft.version_id)},
        versionId=str(draft.version_id), basedOn=str(current.version_id),
    )  # fmt: skip
    return draft


async def discard_draft(work: Work, workflow_id: UUID) -> None:
    """Discard the draft. Raises NotFound, and InvalidState if there is no draft or no published
    version."""
    work.require(Right.CONFIGURE)
    await lock_workflow_for_change(work, workflow_id)
    if await load_current(work.tx, work.merchant_id, workflow_id) is None:
        raise InvalidState("The workflow has no published version; publish it.", state="DRAFT")
    await delete_current_draft(work, workflow_id)


async def delete_current_draft(work: Work, workflow_id: UUID) -> None:
    """Delete the draft of a locked, published workflow and record what differed. Raises
    InvalidState if there is none."""
    work.require(Right.CONFIGURE)
    existing = await load_draft(work.tx, work.merchant_id, workflow_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    if existing is None or current is None:
        raise InvalidState("The workflow has no draft.", state="PUBLISHED")
    await delete_draft(work.tx, work.merchant_id, workflow_id)
    await delete_open_changes(work.tx, work.merchant_id, workflow_id)
    before, after = select_changed_parts(existing.definition, current.definition)
    await save_audit(
        work, "workflow.discard_draft", f"workflow:{workflow_id}",
        before={"draft": str(existing.version_id), **before}, after={"draft": None, **after},
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PartEdit:
    """An edit of one part. `part` is its name in `parts.list_parts`. `expected_revision` is the
    revision of the part that the user saw. `value` is the part as JSON; None deletes it."""

    part: str
    expected_revision: str
    value: Any


@dataclass(frozen=True, slots=True)
class EditedDraft:
    """The edited draft. If nothing differs from the published version, there is no draft and
    `version_id` is that of the published version."""

    version_id: UUID
    definition: Definition
    is_draft: bool = True


async def edit_draft(work: Work, workflow_id: UUID, *edits: PartEdit) -> EditedDraft:
    """Apply all edits, or none. The first edit creates the draft from the current version.

    Other faults than the shape do not keep a draft from being saved, only from being published.
    Raises NotFound, InvalidState (the merchant has scenarios), EditConflict, ValidationError for a
    wrong shape.
    """
    work.require(Right.CONFIGURE)
    await lock_workflow_for_change(work, workflow_id)
    existing = await load_draft(work.tx, work.merchant_id, workflow_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    former = existing or current
    parts = list_parts(former.definition if former else None)
    _check_part_names(edits)
    wanted = parse_definition(join_parts(_apply_edits(parts, edits)))
    await _check_unchanged(work, workflow_id, edits, parts=parts, wanted=list_parts(wanted))
    if former is not None and former.definition == wanted:
        return EditedDraft(former.version_id, wanted, is_draft=existing is not None)
    if current is not None and current.definition == wanted:
        await delete_current_draft(work, workflow_id)
        return EditedDraft(current.version_id, wanted, is_draft=False)
    draft, before, after = await save_changed_draft(work, workflow_id, former, wanted)
    await save_audit(
        work, "workflow.edit_draft", f"workflow:{workflow_id}",
        before=before, after=after, versionId=str(draft.version_id),
    )  # fmt: skip
    return EditedDraft(draft.version_id, wanted)


def _check_part_names(edits: Sequence[PartEdit]) -> None:
    unknown = next((each.part for each in edits if not is_part(each.part)), None)
    if unknown is not None:
        message = f'A workflow has no part "{unknown}".'
        raise ValidationError([Fault("/part", message, "UNKNOWN_FIELD")])


async def _check_unchanged(
    work: Work, workflow_id: UUID, edits: Sequence[PartEdit], *,
    parts: Mapping[str, Any], wanted: Mapping[str, Any],
) -> None:  # fmt: skip
    for each in edits:
        current_value = parts.get(each.part)
        # An edit that results in the current value is no conflict.
        if (
            each.expected_revision != compute_revision(current_value)
            and wanted.get(each.part) != current_value
        ):
            changes = await load_open_changes(work.tx, work.merchant_id, workflow_id)
            raise EditConflict(
                f"{each.part} was changed since you opened it. Compare it with your change and "
                "save again.",
                part=each.part,
                current=current_value,
                change=find_last_change(changes, each.part),
            )


def _apply_edits(parts: Mapping[str, Any], edits: Sequence[PartEdit]) -> dict[str, Any]:
    changed = dict(parts)
    for each in edits:
        step_id = find_step_id(each.part)
        if each.value is None:
            changed.pop(each.part, None)
        elif step_id is not None and isinstance(each.value, Mapping):
            changed[each.part] = {**each.value, "id": step_id}
        else:
            changed[each.part] = each.value
    return changed


async def add_step(
    work: Work, workflow_id: UUID, value: Mapping[str, Any], *, after: int | None
) -> int:
    """Add a step and return its id, which no other step has had. `value` is the step as JSON.
    `after` is the id of the preceding step: None inserts at the beginning, an unknown id at the
    end. Raises what `edit_draft` raises."""
    work.require(Right.CONFIGURE)
    parts = await _lock_and_list_parts(work, workflow_id)
    order: list[int] = parts.get(STEP_ORDER, [])
    step_id = await _find_free_id(work, workflow_id, order)
    index = 0 if after is None else order.index(after) + 1 if after in order else len(order)
    await edit_draft(
        work, workflow_id,
        PartEdit(build_step_part_name(step_id), compute_revision(None), {**value, "id": step_id}),
        PartEdit(STEP_ORDER, compute_revision(order), [*order[:index], step_id, *order[index:]]),
    )  # fmt: skip
    return step_id


async def duplicate_step(work: Work, workflow_id: UUID, step_id: int) -> int:
    """Insert a copy of the step after it. Raises NotFound."""
    work.require(Right.CONFIGURE)
    parts = await _lock_and_list_parts(work, workflow_id)
    value = parts.get(build_step_part_name(step_id))
    if value is None:
        raise NotFound(f"The draft has no step {step_id}.")
    return await add_step(work, workflow_id, value, after=step_id)


async def move_step(
    work: Work, workflow_id: UUID, step_id: int, *, after: int | None, expected_revision: str
) -> EditedDraft:
    """Move the step to the position after the step `after`; None moves it to the beginning.
    `expected_revision` is the revision of the step order that the user saw. Raises what
    `edit_draft` raises, and NotFound."""
    work.require(Right.CONFIGURE)
    order: list[int] = (await _lock_and_list_parts(work, workflow_id)).get(STEP_ORDER, [])
    if step_id not in order or not (after is None or after in order):
        raise NotFound(f"The draft has no step {step_id}, or none to follow.")
    return await edit_draft(
        work,
        workflow_id,
        PartEdit(STEP_ORDER, expected_revision, move_in_order(order, step_id, after)),
    )


async def shift_step(
    work: Work, workflow_id: UUID, step_id: int, direction: str, *, expected_revision: str
) -> EditedDraft:
    """Move the step one position, "up" or "down". Raises what `move_step` raises."""
    work.require(Right.CONFIGURE)
    order: list[int] = (await _lock_and_list_parts(work, workflow_id)).get(STEP_ORDER, [])
    # The index of the step that will precede it, or a negative number for the beginning.
    index = order.index(step_id) + (-2 if direction == "up" else 1) if step_id in order else -1
    after = order[min(index, len(order) - 1)] if index >= 0 else None
    return await move_step(
        work, workflow_id, step_id, after=after, expected_revision=expected_revision
    )


def move_in_order(order: Sequence[int], step_id: int, after: int | None) -> list[int]:
    """Return the order with the step moved to the position after the step `after`, or to the
    beginning if `after` is None."""
    if step_id == after:
        return [*order]
    rest = [each for each in order if each != step_id]
    index = 0 if after is None else rest.index(after) + 1
    return [*rest[:index], step_id, *rest[index:]]


async def _lock_and_list_parts(work: Work, workflow_id: UUID) -> Parts:
    """Lock the workflow and return the parts of its draft, or of its current version if it has no
    draft."""
    await lock_workflow_for_change(work, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    newest = draft or current
    return list_parts(newest.definition if newest else None)


async def _find_free_id(work: Work, workflow_id: UUID, order: Sequence[int]) -> int:
    """Return an id that no published version and no change of the draft has used."""
    known = await load_known_steps(work.tx, work.merchant_id, workflow_id)
    changes = await load_open_changes(work.tx, work.merchant_id, workflow_id)
    changed = {find_step_id(each.part) for each in changes}
    return next(n for n in count(1) if n not in known and n not in order and n not in changed)


@dataclass(frozen=True, slots=True)
class SavedDraft:
    """The saved draft. If nothing differs from the published version, there is no draft and
    `version_id` is that of the published version."""

    workflow_id: UUID
    version_id: UUID
    is_draft: bool = True


async def save_draft(
    work: Work, name: str, definition: Definition, *, expected_id: UUID | None = None
) -> SavedDraft:
    """Save `definition` as the draft of the workflow with this name, which is created if needed.

    Only faults in the shape keep it from being saved. A workflow has one draft: the previous one is
    replaced, or discarded if `definition` is what is published. `expected_id` is the version that
    the change is based on (the draft, else the current version); later changes by others are not
    overwritten.

    Raises ValidationError (name), EditConflict, InvalidState (the merchant has scenarios).
    """
    work.require(Right.CONFIGURE)
    check_workflow_name(name)
    check_uses_workflows(work.merchant)
    await lock_merchant(work.tx, work.merchant_id)
    workflow_id = await save_workflow(
        work.tx, work.merchant_id, workflow_id=work.ids.new(work.now), name=name, now=work.now
    )
    existing = await load_draft(work.tx, work.merchant_id, workflow_id)
    if expected_id is not None:
        await _check_draft_unchanged(work, workflow_id, existing, expected_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    if current is not None and current.definition == definition:
        if existing is not None:
            await delete_current_draft(work, workflow_id)
        return SavedDraft(workflow_id, current.version_id, is_draft=False)
    if existing is not None and existing.definition == definition:
        return SavedDraft(workflow_id, existing.version_id)
    former = existing or current
    draft, before, after = await save_changed_draft(work, workflow_id, former, definition)
    await save_audit(
        work, "workflow.save_draft", f"workflow:{workflow_id}",
        before=before, after=after, versionId=str(draft.version_id), name=name,
    )  # fmt: skip
    return SavedDraft(workflow_id, draft.version_id)


async def create_workflow(work: Work, name: str, definition: Definition) -> UUID:
    """Create a workflow with a draft. Raises ValidationError for an invalid or taken name,
    InvalidState if the merchant has scenarios."""
    work.require(Right.CONFIGURE)
    check_uses_workflows(work.merchant)
    check_workflow_name(name)
    await lock_merchant(work.tx, work.merchant_id)
    if name in {each.name for each in await load_workflows(work.tx, work.merchant_id)}:
        message = f'Another workflow is called "{name}"; choose another name.'
        raise ValidationError([Fault("/name", message, "NAME_TAKEN")])
    return (await save_draft(work, name, definition)).workflow_id


async def replace_draft(
    work: Work, workflow_id: UUID, definition: Definition, *, expected_id: UUID | None
) -> SavedDraft:
    """Replace the draft's definition by an old version or a file. Each part that differs becomes a
    change of the actor. `expected_id` is the version that was shown (the draft, else the current
    version). Raises NotFound, EditConflict, InvalidState."""
    work.require(Right.CONFIGURE)
    await lock_workflow_for_change(work, workflow_id)
    name = await load_workflow_name(work.tx, work.merchant_id, workflow_id)
    return await save_draft(work, name, definition, expected_id=expected_id)


async def _check_draft_unchanged(
    work: Work, workflow_id: UUID, existing: WorkflowDraft | None, expected_id: UUID
) -> None:
    newest = existing or await load_current(work.tx, work.merchant_id, workflow_id)
    if newest is None or newest.version_id != expected_id:
        now = "there is no version yet" if newest is None else f"it is {newest.version_id} now"
        raise EditConflict(
            f"The workflow was changed since version {expected_id} was read ({now}). Read it "
            f"again, make your change, and save it with the id that you read.",
            state="PUBLISHED" if existing is None else "DRAFT",
        )
