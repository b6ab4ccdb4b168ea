"""What changed between two definitions, in words for the person who publishes. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from dunwell.core.workflows.definition import Definition, Step
from dunwell.platform.text.differences import compare_values


def find_differences(old: Definition, new: Definition) -> list[str]:
    """One line for each thing added, removed, moved or changed; none: the two are equal."""
    return [
        *compare_values("settings", _read(old.settings), _read(new.settings)),
        *_compare_steps(old.steps, new.steps),
        *compare_values("templates", _read(old.templates), _read(new.templates)),
        *compare_values("snippets", _read(old.snippets), _read(new.snippets)),
    ]


def _compare_steps(old: Sequence[Step], new: Sequence[Step]) -> Iterator[str]:
    old_by_id, new_by_id = ({step.id: step for step in steps} for steps in (old, new))
    for step_id, step in old_by_id.items():
        if step_id not in new_by_id:
            yield f'step {step_id} "{step.name}" removed'
    for step_id, step in new_by_id.items():
        if step_id not in old_by_id:
            yield f'step {step_id} "{step.name}" added'
        else:
            yield from compare_values(f"step {step_id}", _read(old_by_id[step_id]), _read(step))
    kept_before = [step_id for step_id in old_by_id if step_id in new_by_id]
    kept_now = [step_id for step_id in new_by_id if step_id in old_by_id]
    if kept_before != kept_now:
        yield f"steps in another order: {', '.join(map(str, new_by_id))}"


def _read(part: object) -> Any:
    return msgspec.to_builtins(part)
