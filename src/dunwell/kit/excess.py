"""Cuts short what holds more than its shape allows, before anything in it is looked at. Pure."""

from collections.abc import Mapping
from functools import cache
from itertools import islice

import msgspec

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
