"""What a JSON Schema does not do for a value: cut short what holds far more than allowed before it
is looked at, and say in words of ours what the parser alone found. Pure."""

import re
from collections.abc import Mapping
from functools import cache
from itertools import islice

import msgspec

from dunwell.errors import Fault

# Of one object: more are not looked at one by one.
MOST_KEYS = 200


def cut_excess(value: object, shape: type) -> tuple[object, Mapping[str, int]]:
    """The value, its fields no longer than the msgspec type allows, and how many each that was cut
    may hold. What lies deeper is left as it is."""
    if not isinstance(value, dict):
        return value, {}
    cut, excess = dict(value), {}
    for name, most in _find_limits(shape).items():
        inner = value.get(name)
        if not isinstance(inner, list | dict) or len(inner) <= most:
            continue
        excess[name] = most
        cut[name] = inner[:most] if isinstance(inner, list) else _cut(inner, most)
    return cut, excess


def _cut(inner: dict[str, object], most: int) -> dict[str, object]:
    return dict(islice(inner.items(), most))


@cache
def _find_limits(shape: type) -> Mapping[str, int]:
    """How many each field of the shape may hold, where that has a limit."""
    schema = msgspec.json.schema(shape)
    place = str(schema.get("$ref", "")).rpartition("/")[2]
    properties = schema.get("$defs", {}).get(place, schema).get("properties", {})
    limits = {}
    for name, field in properties.items():
        for branch in (field, *field.get("anyOf", ())):
            most = branch.get("maxItems", branch.get("maxProperties"))
            if most is not None:
                limits[name] = most
    return limits


_PYTHON_IN_WORDS = {
    "str": "a string",
    "int": "an integer, without point or exponent",
    "float": "a number with a point or an exponent",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}


def find_conversion_fault(value: object, shape: type) -> list[Fault]:
    """What a schema lets pass and msgspec does not: a key of a fixed set, a day in odd letters."""
    try:
        msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        words, _, place = str(error).partition(" - at ")
        return [Fault(_pointer_of_msgspec(place), _in_our_words(words), "WRONG_FORMAT")]
    return []


def _in_our_words(words: str) -> str:
    """The parser speaks of Python's types."""
    expected = re.fullmatch(r"Expected `([^`]+)`, got `([^`]+)`", words)
    if expected is None:
        return f"{words}."
    wanted, given = [
        " or ".join(_PYTHON_IN_WORDS.get(each, each) for each in words.split(" | "))
        for words in expected.groups()
    ]
    return f"Expected {wanted}, not {given}."


def _pointer_of_msgspec(place: str) -> str:
    """`$.items[0].value`, as msgspec writes it, as a JSON pointer; up to an unnamed key `[...]`."""
    path = place.rpartition("`$")[2].rstrip("`").partition("[...]")[0]
    return path.replace("[", "/").replace("]", "").replace(".", "/")
