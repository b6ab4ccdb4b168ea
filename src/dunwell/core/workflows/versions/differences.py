"""Compare two definitions, part by part and field by field, in sentences for the user who
publishes, and line by line in long texts. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from enum import StrEnum
from typing import Any

import msgspec

from dunwell.core.workflows.definition import Definition, Step
from dunwell.core.workflows.versions.parts import SETTINGS, STEP_ORDER, find_step_id, is_text_part
from dunwell.core.workflows.versions.versions import FIELD_VERDICTS, VersionVerdict
from dunwell.platform.text.differences import compare_values


class Change(StrEnum):
    ADDED = "ADDED"
    REMOVED = "REMOVED"
    CHANGED = "CHANGED"


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field that differs. `before` or `after` is None if the field does not exist there."""

    path: tuple[str, ...]
    before: Any
    after: Any
    # True if the field is text, whose differences are shown word by word instead of both values.
    is_text: bool = False

    @property
    def name(self) -> str:
        """The name of the field in forms."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class PartDifference:
    """A part that differs. `kind` and `title` are those of a step, otherwise empty. `fields` are
    those of a changed part, and all texts of an added or removed template or snippet."""

    part: str
    change: Change
    is_major: bool
    step_id: int | None = None
    kind: str = ""
    title: str = ""
    fields: list[FieldDifference] = field(default_factory=list)


# Fields of steps that hold text.
_TEXT_FIELDS = frozenset({"name", "message"})
_MAJOR_FIELDS = {
    str(kind.__struct_config__.tag): {
        each.encode_name
        for each in msgspec.structs.fields(kind)
        if verdicts[each.name] is VersionVerdict.MAJOR
    }
    for kind, verdicts in FIELD_VERDICTS.items()
    if kind is not Definition
}


def compare_parts(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[PartDifference]:
    """Compare parts by their names (`parts.list_parts`)."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    differences = (compare_part(name, before.get(name), after.get(name)) for name in names)
    return [each for each in differences if each is not None]


def compare_part(name: str, before: Any, after: Any) -> PartDifference | None:
    """Compare one part. Return None for a step order in which only added and removed steps
    differ.
    """
    if name == STEP_ORDER:
        return _compare_order(before or [], after or [])
    change = _find_change(before, after)
    is_added_or_removed = before is None or after is None
    step_id = find_step_id(name)
    if is_text_part(name):
        fields = [*_walk_texts((), before, after)]
    else:
        fields = [] if is_added_or_removed else [*_walk_fields((), before, after)]
    if step_id is None:
        return PartDifference(name, change, is_major=name == SETTINGS, fields=fields)
    existing = after if after is not None else before
    kind = str(existing["kind"])
    changed_fields = {each.path[0] for each in fields}
    is_major = is_added_or_removed or bool(changed_fields & (_MAJOR_FIELDS[kind] | {"kind"}))
    return PartDifference(
        name,
        change,
        is_major=is_major,
        step_id=step_id,
        kind=kind,
        title=str(existing["name"]),
        fields=fields,
    )


def _compare_order(before: list[int], after: list[int]) -> PartDifference | None:
    order_before = [each for each in before if each in after]
    order_after = [each for each in after if each in before]
    if order_before == order_after:
        return None
    moved = FieldDifference(("stepOrder",), order_before, order_after)
    return PartDifference(STEP_ORDER, Change.CHANGED, is_major=True, fields=[moved])


def _find_change(before: Any, after: Any) -> Change:
    if before is None:
        return Change.ADDED
    return Change.REMOVED if after is None else Change.CHANGED


def _walk_fields(path: tuple[str, ...], before: Any, after: Any) -> Iterator[FieldDifference]:
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys([*before, *after]):
            yield from _walk_fields((*path, name), before.get(name), after.get(name))
    else:
        both_texts = isinstance(before, str) and isinstance(after, str)
        is_text = both_texts and path[-1] in _TEXT_FIELDS
        yield FieldDifference(path, before, after, is_text)


def _walk_texts(path: tuple[str, ...], before: Any, after: Any) -> Iterator[FieldDifference]:
    """Yield every text of a template or snippet that differs, including those of a channel or
    language that only one side has."""
    if before == after:
        return
    if isinstance(before, Mapping) or isinstance(after, Mapping):
        for name in dict.fromkeys([*(before or ()), *(after or ())]):
            yield from _walk_texts((*path, name), (before or {}).get(name), (after or {}).get(name))
    else:
        yield FieldDifference(path, before, after, is_text=True)


def list_differences(old: Definition, new: Definition) -> list[str]:
    """Return a line for each step, text or setting that was added, removed, moved or changed. If
    empty, the two definitions are equal."""
    return [
        *compare_values("settings", _to_builtins(old.settings), _to_builtins(new.settings)),
        *_compare_steps(old.steps, new.steps),
        *compare_values("templates", _to_builtins(old.templates), _to_builtins(new.templates)),
        *compare_values("snippets", _to_builtins(old.snippets), _to_builtins(new.snippets)),
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
            yield from compare_values(
                f"step {step_id}", _to_builtins(old_by_id[step_id]), _to_builtins(step)
            )
    kept_before = [step_id for step_id in old_by_id if step_id in new_by_id]
    kept_now = [step_id for step_id in new_by_id if step_id in old_by_id]
    if kept_before != kept_now:
        yield f"steps in another order: {', '.join(map(str, new_by_id))}"


def _to_builtins(part: object) -> Any:
    return msgspec.to_builtins(part)


def compare_texts(old: Definition, new: Definition) -> dict[str, list[str]]:
    """Return the changed lines of texts with several lines, by location: each line begins with -, +
    or a space. Locations are named as in `list_differences`, which quotes texts of one line."""
    before, after = dict(_list_texts(old)), dict(_list_texts(new))
    return {
        place: _compare_lines(before[place], text)
        for place, text in after.items()
        if place in before and before[place] != text and "\n" in before[place] + text
    }


def _list_texts(definition: Definition) -> Iterator[tuple[str, str]]:
    for name in ("templates", "snippets"):
        yield from _walk_members(name, msgspec.to_builtins(getattr(definition, name)))


def _walk_members(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _walk_members(f"{place}.{name}", member)
    elif isinstance(value, str):
        yield place, value


def _compare_lines(old: str, new: str) -> list[str]:
    lines = list(unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm=""))
    # Skips the file names, and the first hunk's line numbers.
    return ["..." if line.startswith("@@") else line for line in lines[3:]]
