"""The positions of a request that can contain an id, read from the OpenAPI document so that none is
missed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from dunwell.interfaces.api.reference.document import build_document

Schema = dict[str, Any]


@dataclass(frozen=True)
class Position:
    """`place` is path, query, header or body. `name` is the parameter, or the place in the body
    with * for each element of a list: "/claimIds/*"."""

    place: str
    name: str


@cache
def positions_of(operation_id: str) -> tuple[Position, ...]:
    """Return every position that contains a single value, in the order of the document."""
    operation = _operations()[operation_id]
    found = [Position(each["in"], each["name"]) for each in operation.get("parameters", ())]
    for content in operation.get("requestBody", {}).get("content", {}).values():
        found += [Position("body", name) for name in _values(content["schema"])]
    return tuple(dict.fromkeys(found))


_load_document = cache(build_document)


@cache
def _operations() -> dict[str, Any]:
    document = _load_document()
    return {
        operation["operationId"]: operation
        for operations in document["paths"].values()
        for operation in operations.values()
    }


def _values(schema: Schema, name: str = "") -> Iterator[str]:
    if "$ref" in schema:
        named = schema["$ref"].rpartition("/")[2]
        yield from _values(_load_document()["components"]["schemas"][named], name)
        return
    further = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    for each in further:
        yield from _values(each, name)
    if isinstance(schema.get("items"), dict):
        yield from _values(schema["items"], f"{name}/*")
    for field, each in schema.get("properties", {}).items():
        yield from _values(each, f"{name}/{field}")
    if not further and not schema.get("properties") and "items" not in schema:
        yield name


def put_at(body: Any, name: str, value: object) -> Any:
    """Return the body with this value at the position. Missing parts on the path are created."""
    head, _, rest = name.removeprefix("/").partition("/")
    below = f"/{rest}" if rest else ""
    if not name:
        return value
    if head == "*":
        first, *others = body if isinstance(body, list) and body else [None]
        return [put_at(first, below, value), *others]
    fields: Schema = body if isinstance(body, dict) else {}
    return {**fields, head: put_at(fields.get(head), below, value)}
