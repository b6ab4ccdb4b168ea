"""What msgspec says of a value it does not take, in the words of those who sent it. Pure."""

import re

import msgspec

from dunwell.errors import Fault

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
