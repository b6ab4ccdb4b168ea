"""How JSON values and their types are called in the words of a fault. Pure."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import inspect

_TYPES_IN_WORDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}
# The JSON type that each kind of declared type is written as.
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
# By the limit that is not kept: the code and the words.
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


def tell_wrong_type(value: object, wanted: Sequence[str]) -> str:
    """`wanted`: names of JSON types."""
    known = [_TYPES_IN_WORDS[each] for each in dict.fromkeys(wanted) if each != "null"]
    given = name_type(value)
    return f"Expected {' or '.join(known)}, not {_TYPES_IN_WORDS.get(given, f'a {given}')}."


def name_type(value: object) -> str:
    """The JSON type of a parsed value; of what a YAML document can hold besides, Python's name."""
    if value is None:
        return "null"
    return _NAMES.get(type(value)) or type(value).__name__


_NAMES = {
    bool: "boolean", str: "string", int: "integer", float: "number", dict: "object", list: "array",
}  # fmt: skip


def show(value: object) -> str:
    """A given value, cut short. What it holds is not written out."""
    if isinstance(value, str):
        return f'"{shorten(value)}"'
    if isinstance(value, dict | list):
        return "This object" if isinstance(value, dict) else "This array"
    return shorten(msgspec.json.encode(value).decode())


def shorten(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
