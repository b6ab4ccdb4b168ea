"""Parse the text of a JSON body, and check what the parsed value does not show: the encoding, the
number of parts, and repeated keys, of which a parser keeps only the last value.

Counting bytes takes a millisecond for ten million bytes. Parsing a body with a huge number of parts
can take minutes. Pure.
"""

import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, inspect

from dunwell.platform.errors import Fault, InvalidRequest, ValidationError
from dunwell.platform.text.shape import inspect_type, render_pointer, strip_metadata

# A text of this size is always parsed and described within a few milliseconds.
_UNCHECKED_BYTES = 16 * 1024
# White space between a key and its colon.
_SPACED = (b" :", b"\n:", b"\t:", b"\r:")
_ENCODINGS = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"\xef\xbb\xbf": "UTF-8 with a byte order mark",
}


# No permitted integer has as many digits. A number with a larger exponent is not converted to an
# integer.
_MAX_DIGITS = 25


class _ObjectWithRepeatedKeys(dict[str, Any]):
    """An object whose text has some keys more than once."""

    names: tuple[str, ...] = ()


def check_encoding(text: bytes) -> None:
    """Check that the text does not begin with a byte order mark and is not UTF-16 or UTF-32. Raises
    InvalidRequest."""
    encoding = next((name for mark, name in _ENCODINGS.items() if text.startswith(mark)), None)
    if encoding is None and b"\x00" in text[:4]:
        encoding = "UTF-16 or UTF-32"
    if encoding is not None:
        raise InvalidRequest(
            f"The body is {encoding}. Send it as plain UTF-8, without a byte order mark."
        )


def check_part_counts(text: bytes, *, containers: int, separators: int) -> None:
    """Check the numbers of objects and lists, and of commas. Raises ValidationError if there are
    more than any valid body needs. Characters within strings count, too."""
    if len(text) <= _UNCHECKED_BYTES:
        return
    if text.count(b"{") + text.count(b"[") > containers or text.count(b",") > separators:
        message = (
            f"The body has more than {containers} objects and lists, or more than {separators} "
            "commas, more than any request needs. Send less at once."
        )
        raise ValidationError([Fault("", message, "TOO_MANY")], message)


def count_keys(text: bytes) -> int | None:
    """Return the number of keys of all objects, or None if it cannot be determined without parsing.
    Text within strings may increase the number."""
    keys = text.count(b'":')
    # If each colon follows a quote, there is no need for the slower search for white space.
    if text.count(b":") != keys and any(each in text for each in _SPACED):
        return None
    return keys


def parse_json(text: bytes | msgspec.Raw) -> Any:
    """Return the value of a JSON text. As in JSON Schema, 297.0 and 2.97e2 are integers: the value
    of a number matters, not its notation. Raises msgspec.DecodeError and UnicodeDecodeError if it
    is not JSON, and RecursionError."""
    return _decoder.decode(text)


def _parse_number(text: str) -> int | float:
    """Return a number with a point or an exponent. An integer of any permitted size is read
    exactly."""
    try:
        number = Decimal(text)
    except InvalidOperation:  # The exponent is too large for a Decimal.
        return float(text)
    if number.adjusted() < _MAX_DIGITS and number == number.to_integral_value():
        return int(number)
    return float(text)


_decoder = msgspec.json.Decoder(float_hook=_parse_number)


def has_no_repeated_keys(value: object, text: bytes) -> bool:
    """Return whether the parsed value certainly has as many keys as its text, so that no key is
    repeated. False says nothing: `find_repeated_keys` then has to search."""
    return count_keys(text) == _count_all_keys(value)


def _count_all_keys(value: object) -> int:
    """Count the keys of all objects, without recursion, because a text may be nested as deeply as
    its parser permits."""
    count, uncounted = 0, [value]
    while uncounted:
        part = uncounted.pop()
        if isinstance(part, dict):
            count += len(part)
            uncounted += part.values()
        elif isinstance(part, list):
            uncounted += part
    return count


def find_repeated_keys(text: bytes | msgspec.Raw) -> Iterator[Fault]:
    """Yield a fault for each key that is repeated in its object. `text` is JSON. There may be very
    many faults, so consume only as many as are shown. Raises RecursionError."""
    unsearched: list[tuple[object, tuple[str | int, ...]]] = [
        (json.loads(bytes(text), object_pairs_hook=_build_object), ())
    ]
    while unsearched:
        value, path = unsearched.pop()
        if isinstance(value, _ObjectWithRepeatedKeys):
            for name in value.names:
                message = f'"{name[:60]}" appears more than once in this object; give it once.'
                yield Fault(render_pointer((*path, name)), message, "REPEATED")
        if isinstance(value, dict):
            unsearched += [(inner, (*path, name)) for name, inner in reversed(value.items())]
        elif isinstance(value, list):
            unsearched += [(value[n], (*path, n)) for n in reversed(range(len(value)))]


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) == len(pairs):
        return built
    counts = Counter(name for name, _ in pairs)
    repeated = _ObjectWithRepeatedKeys(built)
    repeated.names = tuple(name for name in built if counts[name] > 1)
    return repeated


Part = TypeVar("Part")


def convert_valid_fields(value: object, shape: type[Part]) -> Part | None:
    """Return the value as the struct `shape`, with every field that is missing or faulty set to
    UNSET. Objects and lists of objects are read field by field. Return None if the value is not an
    object.

    Rules that a type cannot express, such as an existing currency, are then checked on the fields
    that could be read, and their faults are reported together with those of `platform.text.shape`.
    UNSET is false, so a rule of the form `if field and ...` skips what could not be read.
    """
    if not isinstance(value, dict):
        return None
    fields = {}
    for field in msgspec.structs.fields(shape):  # type: ignore[arg-type]
        if field.encode_name in value:
            fields[field.name] = _convert_field(value[field.encode_name], field.type)
        elif field.required:
            fields[field.name] = UNSET
    return shape(**fields)


def _convert_field(value: object, shape: Any) -> object:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        return _convert_parts(value, inspect_type(shape))


def _convert_parts(value: object, kind: inspect.Type) -> object:
    for branch in map(strip_metadata, _list_branches(kind)):
        if isinstance(branch, inspect.StructType) and isinstance(value, dict):
            return convert_valid_fields(value, branch.cls)
        if isinstance(branch, inspect.ListType) and isinstance(value, list):
            item = strip_metadata(branch.item_type)
            if isinstance(item, inspect.StructType) and len(value) <= (branch.max_length or 0):
                return [convert_valid_fields(_as_object(each), item.cls) for each in value]
    return UNSET


def _as_object(value: object) -> object:
    return value if isinstance(value, dict) else {}


def _list_branches(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    stripped = strip_metadata(kind)
    return stripped.types if isinstance(stripped, inspect.UnionType) else (kind,)
