"""Find all faults of a JSON value compared with a msgspec type, each with a JSON pointer and a
helpful message. Pure."""

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from itertools import islice
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from dunwell.platform.errors import Fault
from dunwell.platform.text.wire import DESCRIPTIONS

_TYPES_IN_WORDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}
# The JSON type in which each declared type is written.
JSON_TYPES: Mapping[type[inspect.Type], str] = {
    inspect.StrType: "string",
    inspect.DateType: "string",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.BoolType: "boolean",
    inspect.NoneType: "null",
    inspect.StructType: "object",
    inspect.DictType: "object",
    inspect.ListType: "array",
    inspect.VarTupleType: "array",
}
# The fault code and the message for each limit.
LIMITS: Mapping[str, tuple[str, str]] = {
    "least characters": ("TOO_SHORT", "Use at least {} characters."),
    "most characters": ("TOO_LONG", "Use at most {} characters."),
    "least entries": ("TOO_FEW", "Give at least {} of these."),
    "most entries": ("TOO_MANY", "Give at most {} of these."),
    "least": ("TOO_SMALL", "Use {} or more."),
    "more than": ("TOO_SMALL", "Use more than {}."),
    "most": ("TOO_LARGE", "Use {} or less."),
    "less than": ("TOO_LARGE", "Use less than {}."),
}


def describe_wrong_type(value: object, expected: Sequence[str]) -> str:
    """Say which JSON types were expected and which one was given."""
    words = [_TYPES_IN_WORDS[name] for name in dict.fromkeys(expected) if name != "null"]
    actual = get_type_name(value)
    return f"Expected {' or '.join(words)}, not {_TYPES_IN_WORDS.get(actual, f'a {actual}')}."


def get_type_name(value: object) -> str:
    """Return the JSON type of a parsed value, or Python's name for other values in a YAML
    document."""
    if value is None:
        return "null"
    return _NAMES.get(type(value)) or type(value).__name__


_NAMES = {
    bool: "boolean", str: "string", int: "integer", float: "number", dict: "object", list: "array",
}  # fmt: skip


def describe_value(value: object) -> str:
    """Return a short form of a value. Its content is not written out."""
    if isinstance(value, str):
        return f'"{shorten(value)}"'
    if isinstance(value, dict | list):
        return "This object" if isinstance(value, dict) else "This array"
    return shorten(msgspec.json.encode(value).decode())


def shorten(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


Part = TypeVar("Part")
_Path = tuple[str | int, ...]

# The largest number of faults reported for one value. After these are corrected, others may follow.
MAX_FAULTS = 100
# The largest number of fields of an object whose fields are examined. No valid object has half as
# many.
_MAX_KEYS = 200
# A text that is too long is searched for other faults only up to this length, because searching
# megabytes would delay other requests.
_MAX_SEARCHED = 4_096

# A longer name is not compared with known names.
_MAX_COMPARED_LENGTH = 100
# How much of a name a pointer contains. No valid name is longer, and a pointer with a name of a
# megabyte would be repeated in every fault below it.
_MAX_POINTER_LENGTH = 255

MORE_FAULTS = Fault("", "There may be more faults; correct these first.", "MORE_FAULTS")


def find_faults(value: object, shape: Any) -> list[Fault]:
    """Return all faults of `value` (parsed JSON) compared with the msgspec type `shape`. Without
    faults, the value can be converted.

    Paths are JSON pointers, "" for the root. The pointer of a missing field is the one that it
    would have. In a tagged union, only the type that the tag names is compared. The message of a
    pattern is the `description` of its `msgspec.Meta`, if there is one. `limit_faults` limits the
    number of faults.
    """
    return limit_faults(_walk(value, inspect_type(shape), ()))


def explain_renamed_keys(faults: Iterable[Fault], renamed: Mapping[str, str]) -> Iterator[Fault]:
    """Yield the faults, and name the new key where an unknown key has an old name. `renamed` maps a
    pattern for the pointer of the old key to the new name."""
    for fault in faults:
        names = [new for old, new in renamed.items() if re.fullmatch(old, fault.path)]
        if fault.code == "UNKNOWN_FIELD" and names:
            old_name = fault.path.rpartition("/")[2]
            message = f'"{old_name}" is not a key. Use "{names[0]}" instead.'
            yield Fault(fault.path, message, fault.code)
        else:
            yield fault


def limit_faults(faults: Iterable[Fault]) -> list[Fault]:
    """Return each fault once, and at most MAX_FAULTS. If there may be more, the last fault says
    so. No more faults are searched for than are returned."""
    reported = list(islice(_remove_repeated(faults), MAX_FAULTS + 1))
    if len(reported) > MAX_FAULTS:
        reported[MAX_FAULTS - 1 :] = [MORE_FAULTS]
    return reported


def _remove_repeated(faults: Iterable[Fault]) -> Iterator[Fault]:
    seen: set[Fault] = set()
    for fault in faults:
        if fault not in seen:
            seen.add(fault)
            yield fault


def convert_if_valid(value: object, shape: type[Part]) -> Part | None:
    """Return the value converted to `shape`, or None if it does not fit; `find_faults` then reports
    why."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        return None


def render_pointer(parts: Collection[str | int]) -> str:
    """Return the JSON pointer (RFC 6901) of these keys and indexes. A key that is longer than any
    valid one is cut."""
    return "".join("/" + _render_part(part) for part in parts)


def _render_part(part: str | int) -> str:
    return shorten(str(part), _MAX_POINTER_LENGTH).replace("~", "~0").replace("/", "~1")


def suggest_known(name: str, known: Collection[str]) -> str:
    """Return a hint for an unknown name: the most similar known name, or all known names."""
    # A long name resembles no known one, and comparing it takes long.
    is_short = len(name) <= _MAX_COMPARED_LENGTH
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6) if is_short else []
    # A short name in another case has a low similarity.
    near = near or [each for each in known if is_short and each.lower() == name.lower()]
    if near:
        return f'Did you mean "{near[0]}"?'
    return f"Known: {', '.join(known)}." if known else "None is known here."


@cache
def inspect_type(shape: Any) -> inspect.Type:
    """Return msgspec's description of the type."""
    return inspect.type_info(shape)


def strip_metadata(kind: inspect.Type) -> inspect.Type:
    return kind.type if isinstance(kind, inspect.Metadata) else kind


def _walk(value: object, kind: inspect.Type, path: _Path, description: str = "") -> Iterator[Fault]:
    """Yield the faults of one value. `description` says what the type expects."""
    if isinstance(kind, inspect.Metadata):
        schema = kind.extra_json_schema or {}
        yield from _walk(value, kind.type, path, schema.get("description", ""))
    elif isinstance(kind, inspect.UnionType):
        yield from _walk_union(value, kind, path)
    elif isinstance(kind, inspect.LiteralType | inspect.EnumType):
        yield from _check_choice(value, _list_choices(kind), path)
    elif not isinstance(kind, inspect.AnyType):
        expected = JSON_TYPES[type(kind)]
        actual = get_type_name(value)
        if actual != expected and (actual, expected) != ("integer", "number"):
            yield Fault(render_pointer(path), describe_wrong_type(value, [expected]), "WRONG_TYPE")
        elif check := _CHECKS.get(type(kind)):
            yield from check(value, kind, path, description)


def _walk_union(value: object, kind: inspect.UnionType, path: _Path) -> Iterator[Fault]:
    actual = get_type_name(value)
    branches = [branch for branch in kind.types if _get_branch_type_name(branch) == actual]
    if not branches and actual == "integer":
        branches = [branch for branch in kind.types if _get_branch_type_name(branch) == "number"]
    # If no type fits the value, the message lists the permitted values.
    choices = (inspect.LiteralType, inspect.EnumType)
    branches = branches or [
        branch for branch in kind.types if isinstance(strip_metadata(branch), choices)
    ]
    if not branches:
        expected = [_get_branch_type_name(branch) for branch in kind.types]
        yield Fault(render_pointer(path), describe_wrong_type(value, expected), "WRONG_TYPE")
    elif len(branches) == 1:
        yield from _walk(value, branches[0], path)
    else:
        yield from _walk_tagged(value, [strip_metadata(branch) for branch in branches], path)


def _get_branch_type_name(kind: inspect.Type) -> str:
    stripped = strip_metadata(kind)
    if isinstance(stripped, inspect.LiteralType | inspect.EnumType):
        return get_type_name(_list_choices(stripped)[0])
    return JSON_TYPES[type(stripped)]


def _walk_tagged(value: Any, structs: list[Any], path: _Path) -> Iterator[Fault]:
    """Compare an object with a union, whose types msgspec distinguishes only by their tag."""
    by_tag = {each.tag: each for each in structs}
    tag_field = structs[0].tag_field
    place = render_pointer([*path, tag_field])
    if tag_field not in value:
        kinds = ", ".join(map(str, by_tag))
        yield Fault(place, f'"{tag_field}" is required: one of {kinds}.', "REQUIRED")
        return
    tag = value[tag_field]
    if not isinstance(tag, str) or tag not in by_tag:
        message = (
            f"{describe_value(tag)} is not known here. {suggest_known(str(tag), list(by_tag))}"
        )
        yield Fault(place, message, "NOT_ALLOWED")
        return
    yield from _walk(value, by_tag[tag], path)


def _walk_struct(
    value: dict[str, Any], kind: inspect.StructType, path: _Path, _: str
) -> Iterator[Fault]:
    if len(value) > _MAX_KEYS:
        message = f"The object has {len(value)} fields, which is too many."
        yield Fault(render_pointer(path), message, "TOO_MANY")
        return
    known = [field.encode_name for field in kind.fields]
    required = [field.encode_name for field in kind.fields if field.required]
    if kind.tag_field is not None:
        known.insert(0, kind.tag_field)
        required.insert(0, kind.tag_field)
        if kind.tag_field in value:
            yield from _check_choice(value[kind.tag_field], [kind.tag], (*path, kind.tag_field))
    for field in kind.fields:
        name = field.encode_name
        if name in value:
            yield from _walk(value[name], field.type, (*path, name))
    for name in required:
        if name not in value:
            yield Fault(render_pointer([*path, name]), f'"{name}" is required.', "REQUIRED")
    if kind.forbid_unknown_fields:
        yield from _find_unknown(value, known, path)


def _find_unknown(value: dict[str, Any], known: list[str], path: _Path) -> Iterator[Fault]:
    for name in value:
        if name not in known:
            message = f'"{shorten(name)}" is not known here. {suggest_known(name, known)}'
            yield Fault(render_pointer([*path, name]), message, "UNKNOWN_FIELD")


def _walk_dict(
    value: dict[str, Any], kind: inspect.DictType, path: _Path, _: str
) -> Iterator[Fault]:
    yield from _check_length(value, kind, path, "entries")
    for name, inner in islice(value.items(), kind.max_length):
        for fault in _walk(name, kind.key_type, (*path, name)):
            message = f'"{shorten(name)}" is not a valid name here. {fault.message}'
            yield Fault(fault.path, message, "UNKNOWN_FIELD")
        yield from _walk(inner, kind.value_type, (*path, name))


def _walk_list(value: list[Any], kind: Any, path: _Path, _: str) -> Iterator[Fault]:
    yield from _check_length(value, kind, path, "entries")
    for index, inner in enumerate(islice(value, kind.max_length)):
        yield from _walk(inner, kind.item_type, (*path, index))


def _check_length(value: Collection[Any], kind: Any, path: _Path, of: str) -> Iterator[Fault]:
    if kind.min_length is not None and len(value) < kind.min_length:
        yield _build_limit_fault(path, f"least {of}", kind.min_length)
    if kind.max_length is not None and len(value) > kind.max_length:
        yield _build_limit_fault(path, f"most {of}", kind.max_length)


def _build_limit_fault(path: _Path, limit: str, number: float) -> Fault:
    """Return the fault for the limit named `limit`, whose value is `number`."""
    code, message = LIMITS[limit]
    return Fault(render_pointer(path), message.format(number), code)


def _check_text(
    value: str, kind: inspect.StrType, path: _Path, description: str
) -> Iterator[Fault]:
    yield from _check_length(value, kind, path, "characters")
    max_searched = None if kind.max_length is None else max(kind.max_length, _MAX_SEARCHED)
    pattern = kind.pattern
    is_searched = pattern is not None and (max_searched is None or len(value) <= max_searched)
    if is_searched and not re.search(str(pattern), value):
        expected = DESCRIPTIONS.get(str(pattern)) or description or f"pattern {pattern}"
        code = "CONTROL_CHARACTER" if pattern in DESCRIPTIONS else "WRONG_FORMAT"
        yield Fault(render_pointer(path), f"Expected {expected.rstrip('.')}.", code)


def _check_number(value: float, kind: Any, path: _Path, _: str) -> Iterator[Fault]:
    if kind.ge is not None and value < kind.ge:
        yield _build_limit_fault(path, "least", kind.ge)
    if kind.gt is not None and value <= kind.gt:
        yield _build_limit_fault(path, "more than", kind.gt)
    if kind.le is not None and value > kind.le:
        yield _build_limit_fault(path, "most", kind.le)
    if kind.lt is not None and value >= kind.lt:
        yield _build_limit_fault(path, "less than", kind.lt)


def _check_day(value: str, _: Any, path: _Path, description: str) -> Iterator[Fault]:
    try:
        msgspec.convert(value, date)
    except msgspec.ValidationError:
        expected = description.rstrip(".") or "an existing date, written as YYYY-MM-DD"
        yield Fault(render_pointer(path), f"Expected {expected}.", "WRONG_FORMAT")


def _list_choices(kind: inspect.LiteralType | inspect.EnumType) -> list[Any]:
    if isinstance(kind, inspect.LiteralType):
        return list(kind.values)
    return [each.value for each in kind.cls]


def _check_choice(value: object, choices: list[Any], path: _Path) -> Iterator[Fault]:
    if any(type(value) is type(each) and value == each for each in choices):
        return
    known = [str(each) for each in choices]
    nearest = suggest_known(shorten(str(value)), known)
    if not nearest.startswith("Known"):
        nearest = f"{nearest} Known: {', '.join(known)}."
    yield Fault(
        render_pointer(path), f"{describe_value(value)} is not allowed. {nearest}", "NOT_ALLOWED"
    )


# The check for each class of types. Its value already has the right JSON type.
_CHECKS: dict[type, Callable[[Any, Any, _Path, str], Iterator[Fault]]] = {
    inspect.StructType: _walk_struct,
    inspect.DictType: _walk_dict,
    inspect.ListType: _walk_list,
    inspect.VarTupleType: _walk_list,
    inspect.StrType: _check_text,
    inspect.IntType: _check_number,
    inspect.FloatType: _check_number,
    inspect.DateType: _check_day,
}
