"""Put a step into a draft, move it, double it: what changes the order of steps beside a step.

A new step comes behind the one that is named, wherever that stands by then; an order that somebody
else has changed since it was shown is not changed unseen.
"""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.workflows.audited import list_parts
from dunwell.core.workflows.edit_draft import Edit, EditedDraft, edit_draft
from dunwell.core.workflows.open_workflow import open_workflow
from dunwell.core.workflows.parts import STEP_ORDER, find_step_id, name_step
from dunwell.core.workflows.store import load_current, load_draft
from dunwell.core.workflows.store_draft_changes import load_open_changes
from dunwell.core.workflows.store_history import load_known_steps
from dunwell.platform.errors import NotFound
from dunwell.platform.text.differences import compute_revision

Parts = dict[str, Any]


async def add_step(
    work: Work, workflow_id: UUID, value: Mapping[str, Any], *, after: int | None
) -> int:
    """value: the step as JSON; it gets an id that no other has had. after: the id of the step that
    it follows; None, or one that is gone: first, or last. Raises what `edit_draft` raises."""
    work.need(Right.CONFIGURE)
    parts = await _open_parts(work, workflow_id)
    order: list[int] = parts.get(STEP_ORDER, [])
    step_id = await _find_free_id(work, workflow_id, order)
    place = 0 if after is None else order.index(after) + 1 if after in order else len(order)
    await edit_draft(
        work, workflow_id,
        Edit(name_step(step_id), compute_revision(None), {**value, "id": step_id}),
        Edit(STEP_ORDER, compute_revision(order), [*order[:place], step_id, *order[place:]]),
    )  # fmt: skip
    return step_id


async def double_step(work: Work, workflow_id: UUID, step_id: int) -> int:
    """The same once more, right behind it. Raises NotFound."""
    work.need(Right.CONFIGURE)
    parts = await _open_parts(work, workflow_id)
    value = parts.get(name_step(step_id))
    if value is None:
        raise NotFound(f"The draft has no step {step_id}.")
    return await add_step(work, workflow_id, value, after=step_id)


async def move_step(
    work: Work, workflow_id: UUID, step_id: int, *, after: int | None, seen: str
) -> EditedDraft:
    """after: the id of the step that it is to follow; None: it comes first. seen: the order's
    fingerprint as it was shown. Raises what `edit_draft` raises, and NotFound."""
    work.need(Right.CONFIGURE)
    order: list[int] = (await _open_parts(work, workflow_id)).get(STEP_ORDER, [])
    if step_id not in order or not (after is None or after in order):
        raise NotFound(f"The draft has no step {step_id}, or none to follow.")
    return await edit_draft(
        work, workflow_id, Edit(STEP_ORDER, seen, place_behind(order, step_id, after))
    )


async def shift_step(
    work: Work, workflow_id: UUID, step_id: int, way: str, *, seen: str
) -> EditedDraft:
    """By one place, "up" or "down". Raises what `move_step` raises."""
    work.need(Right.CONFIGURE)
    order: list[int] = (await _open_parts(work, workflow_id)).get(STEP_ORDER, [])
    place = order.index(step_id) + (-2 if way == "up" else 1) if step_id in order else -1
    after = order[min(place, len(order) - 1)] if place >= 0 else None
    return await move_step(work, workflow_id, step_id, after=after, seen=seen)


def place_behind(order: Sequence[int], step_id: int, after: int | None) -> list[int]:
    """The order with one of its steps behind another; None: first."""
    if step_id == after:
        return [*order]
    rest = [each for each in order if each != step_id]
    place = 0 if after is None else rest.index(after) + 1
    return [*rest[:place], step_id, *rest[place:]]


async def _open_parts(work: Work, workflow_id: UUID) -> Parts:
    await open_workflow(work, workflow_id)
    former = await load_draft(work.tx, work.merchant_id, workflow_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    newest = former or current
    return list_parts(newest.definition if newest else None)


async def _find_free_id(work: Work, workflow_id: UUID, order: Sequence[int]) -> int:
    """One that no version had, and no change of the draft names."""
    known = await load_known_steps(work.tx, work.merchant_id, workflow_id)
    changes = await load_open_changes(work.tx, work.merchant_id, workflow_id)
    changed = {find_step_id(each.part) for each in changes}
    return next(n for n in count(1) if n not in known and n not in order and n not in changed)
