"""What is looked at in the text of a JSON body itself, beside its values: how much there is in it,
how it is encoded, and keys that stand twice in one object, of which a parser keeps the last.

Counting bytes takes a millisecond for ten million of them; parsing what nobody can mean took
minutes. Pure.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from dunwell.errors import Fault, InvalidRequest, ValidationError
from dunwell.kit.shape import render_pointer

# Smaller texts cannot hold more than is parsed and described in a few milliseconds.
_SMALL = 16 * 1024
# Whatever white space may stand between a key and its colon.
_SPACED = (b" :", b"\n:", b"\t:", b"\r:")
_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\xef\xbb\xbf": "UTF-8 with a mark"}


class _Doubled(dict[str, Any]):
    """An object of a text that has these keys more than once."""

    names: tuple[str, ...] = ()


def check_encoding(text: bytes) -> None:
    """Raises InvalidRequest for a text that begins as UTF-16, UTF-32 or with a byte order mark."""
    found = next((name for mark, name in _ENCODINGS.items() if text.startswith(mark)), None)
    if found is None and b"\x00" in text[:4]:
        found = "UTF-16 or UTF-32"
    if found is not None:
        raise InvalidRequest(f"The body is {found}. Send it as plain UTF-8, without a mark.")


def check_amount(text: bytes, *, containers: int, separators: int) -> None:
    """Raises ValidationError when there are more objects and lists, or more commas, than any body
    of the kind can need; what stands within texts counts too."""
    if len(text) <= _SMALL:
        return
    if text.count(b"{") + text.count(b"[") > containers or text.count(b",") > separators:
        message = (
            f"The body holds more than {containers} objects and lists, or more than {separators} "
            "commas, which no such request needs. Send less at once."
        )
        raise ValidationError([Fault("", message, "TOO_MANY")], message)


def count_keys(text: bytes) -> int | None:
    """How many keys its objects have, if that shows without parsing; texts may add to it."""
    keys = text.count(b'":')
    # Where each colon follows a quote there is no white space to look for, which takes longer.
    if text.count(b":") != keys and any(each in text for each in _SPACED):
        return None
    return keys


def has_all_keys(value: object, text: bytes) -> bool:
    """Whether the parsed value has as many keys as its text: then none stood twice."""
    return count_keys(text) == _count(value)


def _count(value: object) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_count, value.values()))
    if isinstance(value, list):
        return sum(map(_count, value))
    return 0


def find_repeated(text: bytes | msgspec.Raw) -> Iterator[Fault]:
    """A fault for each key that stands more than once in its object. `text` is JSON."""
    yield from _walk(json.loads(bytes(text), object_pairs_hook=_take_pairs), ())


def _take_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    taken = dict(pairs)
    if len(taken) == len(pairs):
        return taken
    names = [name for name, _ in pairs]
    doubled = _Doubled(taken)
    doubled.names = tuple(name for name in taken if names.count(name) > 1)
    return doubled


def _walk(value: object, path: tuple[str | int, ...]) -> Iterator[Fault]:
    if isinstance(value, _Doubled):
        for name in value.names:
            message = f'"{name[:60]}" stands more than once in this object; give it once.'
            yield Fault(render_pointer((*path, name)), message, "REPEATED")
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _walk(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walk(inner, (*path, index))
