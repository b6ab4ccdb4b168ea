"""What the forms of a draft's parts have in common, whether of a step or of the settings: saved by
compare-and-set, and shown again with what is wrong, or with what somebody else has made of it."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.workflow_overviews import DraftOverview, get_draft_overview
from dunwell.core.workflows.drafts.edit_draft import PartEdit, edit_draft
from dunwell.core.workflows.versions.differences import compare_part
from dunwell.core.workflows.versions.parts import STEP_ORDER, find_step_id
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.workflows.views_editor import PartConflict
from dunwell.interfaces.web.forms import AmountFormat, Form, FormContent, PlacedFaults
from dunwell.platform.errors import EditConflict, ValidationError
from dunwell.platform.text.differences import compute_revision


@dataclass(frozen=True, slots=True)
class PartOutcome:
    """What became of a form. is_saved: the draft holds it."""

    is_saved: bool
    problems: PlacedFaults = ()
    conflict: PartConflict | None = None
    # What the page's next save is compared with; "": as it stands.
    seen: str = ""


def find_amount_format(access: MerchantAccess, look: DraftOverview, language: str) -> AmountFormat:
    currency = look.definition.settings.currency or access.merchant.configuration.currency
    return AmountFormat(currency, language)


async def save_part(
    work: Work, workflow_id: UUID, edit: PartEdit, form: Form, content: FormContent
) -> PartOutcome:
    """What the form says, unless some of it cannot be read or has no shape."""
    work.require(Right.CONFIGURE)
    try:
        if not content.faults:
            await edit_draft(work, workflow_id, edit)
            return PartOutcome(is_saved=True)
    except EditConflict as conflict:
        return PartOutcome(
            is_saved=False,
            conflict=build_part_conflict(conflict, edit.value),
            seen=compute_revision(conflict.current),
        )
    except ValidationError:
        pass
    return await check_part(work, workflow_id, edit, form=form, content=content)


async def check_part(
    work: Work, workflow_id: UUID, edit: PartEdit, *, form: Form, content: FormContent
) -> PartOutcome:
    """What is wrong with what the form says. Nothing is saved."""
    work.require(Right.CONFIGURE)
    look = await get_draft_overview(work, workflow_id, {edit.part: edit.value})
    problems = content.add(find_problems(look, edit.part, form))
    return PartOutcome(is_saved=False, problems=problems, seen=edit.seen)


def build_part_conflict(conflict: EditConflict, typed: Any) -> PartConflict:
    theirs = conflict.current
    differences = None
    if theirs is not None:
        whole = {**dict.fromkeys(theirs), **typed}
        differences = compare_part(conflict.part, theirs, whole)
    return PartConflict(conflict.change, differences, theirs is None)


def find_problems(look: DraftOverview, part: str, form: Form) -> PlacedFaults:
    """What is wrong with a part, beside which field. What is wrong with a wait as a whole is shown
    beside its days."""
    names = [each.name for each in form.fields]
    return form.place(look.faults, find_root(look, part), "days" if "days" in names else "")


def find_root(look: DraftOverview, part: str) -> str:
    """Where a part stands in the document."""
    step_id = find_step_id(part)
    if step_id is None:
        return f"/{part}"
    order: list[int] = look.parts.get(STEP_ORDER, [])
    # A new one comes last.
    return f"/steps/{order.index(step_id) if step_id in order else len(order)}"
