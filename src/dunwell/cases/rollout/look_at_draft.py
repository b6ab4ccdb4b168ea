"""A workflow's draft for whoever edits it: what it says, who changed what, what it would become.

Without a draft it is what the first edit would begin with. No claim is looked at: an edit answers
at once, however many run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.contact_waits import find_contact_warnings
from dunwell.cases.rollout.publish_workflow import find_publishing_faults
from dunwell.core.workflows.change_workflow import check_switched
from dunwell.core.workflows.checking import find_definition_faults, read_definition
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.draft_changes import DraftChange
from dunwell.core.workflows.drafts.store import load_open_changes
from dunwell.core.workflows.store import (
    load_assignability,
    load_current,
    load_draft,
)
from dunwell.core.workflows.versions.differences import PartDifference, compare_parts
from dunwell.core.workflows.versions.parts import join_parts, list_parts
from dunwell.core.workflows.versions.versions import (
    Verdict,
    Version,
    find_next_number,
    find_verdict,
    render_version_name,
)
from dunwell.platform.errors import Fault, NotFound, ValidationError


@dataclass(frozen=True, slots=True)
class LookedAtDraft:
    """current: the published version; None: there is none. draft_id: None: nothing is changed."""

    workflow_id: UUID
    name: str
    is_assignable: bool
    current: Version | None
    draft_id: UUID | None
    definition: Definition
    # The definition's parts (`audited.list_parts`).
    parts: Mapping[str, Any]
    # Oldest first.
    changes: list[DraftChange]
    verdict: Verdict
    # What it would be called when it is published.
    next_version: str
    # Against the published version.
    differences: list[PartDifference]
    # What keeps it from being published, with pointers from the definition's root.
    faults: list[Fault]
    # What should be changed before it is published, and keeps it from nothing.
    warnings: list[Fault]


async def look_at_draft(
    work: Work, workflow_id: UUID, typed: Mapping[str, Any] | None = None
) -> LookedAtDraft:
    """typed: parts as they are typed and not saved, in the place of the draft's; those that have
    no shape are told among the faults. Raises NotFound, InvalidState (the merchant has
    scenarios)."""
    work.need(Right.CONFIGURE)
    check_switched(work.merchant)
    known = await load_assignability(work.tx, work.merchant_id, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    newest = draft or current
    if known is None or newest is None:
        raise NotFound(f"There is no workflow {workflow_id}.")
    definition, faults = _read_typed(newest.definition, typed or {})
    if not faults:
        faults = await find_publishing_faults(work, workflow_id, definition)
    verdict = find_verdict(current.definition, definition) if current else Verdict.MAJOR
    number = find_next_number(current, verdict)
    if current is not None and verdict is Verdict.NONE:
        number = (current.major, current.minor)
    parts = list_parts(definition)
    published = list_parts(current.definition) if current else {}
    return LookedAtDraft(
        workflow_id=workflow_id,
        name=known[0],
        is_assignable=known[1],
        current=current,
        draft_id=draft.version_id if draft else None,
        definition=definition,
        parts=parts,
        changes=await load_open_changes(work.tx, work.merchant_id, workflow_id),
        verdict=verdict,
        next_version=render_version_name(*number),
        differences=compare_parts(published, parts) if current else [],
        faults=faults,
        warnings=find_contact_warnings(definition),
    )


def _read_typed(definition: Definition, typed: Mapping[str, Any]) -> tuple[Definition, list[Fault]]:
    """With what is typed, as far as it has a shape, and else what is wrong with it."""
    if not typed:
        return definition, []
    document = join_parts({**list_parts(definition), **typed})
    try:
        return read_definition(document), []
    except ValidationError:
        return definition, find_definition_faults(document)
