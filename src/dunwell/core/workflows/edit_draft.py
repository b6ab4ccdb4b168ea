"""Change parts of a workflow's draft, each compared with what its editor had seen: two people who
change different parts both get through, and of one part neither's words are lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.workflows.audited import list_parts
from dunwell.core.workflows.checking import read_definition
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.draft_changes import find_last_change
from dunwell.core.workflows.drafts import delete_standing_draft
from dunwell.core.workflows.open_workflow import open_workflow
from dunwell.core.workflows.parts import find_step_id, is_part, join_parts
from dunwell.core.workflows.record_changes import store_changed_draft
from dunwell.core.workflows.store import load_current, load_draft
from dunwell.core.workflows.store_draft_changes import load_open_changes
from dunwell.platform.errors import EditConflict, Fault, ValidationError
from dunwell.platform.text.differences import compute_revision


@dataclass(frozen=True, slots=True)
class Edit:
    """part: as `audited.list_parts` names it. seen: the fingerprint (`parts.fingerprint`) of the
    part as its editor had seen it. value: the part as JSON, None to take it out."""

    part: str
    seen: str
    value: Any


@dataclass(frozen=True, slots=True)
class EditedDraft:
    """version_id: the draft's, or that of the published version where nothing differs from it: then
    there is no draft."""

    version_id: UUID
    definition: Definition
    is_draft: bool = True


async def edit_draft(work: Work, workflow_id: UUID, *edits: Edit) -> EditedDraft:
    """All of the edits, or none. The first makes the draft, from the current version.

    Raises NotFound, InvalidState (the merchant has scenarios), EditConflict, and ValidationError:
    the shape is wrong. Whatever else is wrong keeps a draft from being published, not from being
    saved.
    """
    work.need(Right.CONFIGURE)
    await open_workflow(work, workflow_id)
    standing = await load_draft(work.tx, work.merchant_id, workflow_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    former = standing or current
    parts = list_parts(former.definition if former else None)
    _check_known(edits)
    wanted = read_definition(join_parts(_change(parts, edits)))
    await _check_unchanged(work, workflow_id, edits, parts=parts, wanted=list_parts(wanted))
    if former is not None and former.definition == wanted:
        return EditedDraft(former.version_id, wanted, is_draft=standing is not None)
    if current is not None and current.definition == wanted:
        await delete_standing_draft(work, workflow_id)
        return EditedDraft(current.version_id, wanted, is_draft=False)
    draft, before, after = await store_changed_draft(work, workflow_id, former, wanted)
    await save_audit(
        work, "workflow.edit_draft", f"workflow:{workflow_id}",
        before=before, after=after, versionId=str(draft.version_id),
    )  # fmt: skip
    return EditedDraft(draft.version_id, wanted)


def _check_known(edits: Sequence[Edit]) -> None:
    unknown = next((each.part for each in edits if not is_part(each.part)), None)
    if unknown is not None:
        message = f'A workflow has no part "{unknown}".'
        raise ValidationError([Fault("/part", message, "UNKNOWN_FIELD")])


async def _check_unchanged(
    work: Work, workflow_id: UUID, edits: Sequence[Edit], *,
    parts: Mapping[str, Any], wanted: Mapping[str, Any],
) -> None:  # fmt: skip
    for each in edits:
        theirs = parts.get(each.part)
        # Who wants what stands there already has lost nothing.
        if each.seen != compute_revision(theirs) and wanted.get(each.part) != theirs:
            changes = await load_open_changes(work.tx, work.merchant_id, workflow_id)
            raise EditConflict(
                f"{each.part} was changed since it was read. Look at it as it is, bring your "
                "change in and save again.",
                part=each.part,
                current=theirs,
                change=find_last_change(changes, each.part),
            )


def _change(parts: Mapping[str, Any], edits: Sequence[Edit]) -> dict[str, Any]:
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
