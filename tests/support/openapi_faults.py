"""Properties of an OpenAPI document that break generated clients. Each was found in our document by
generating, compiling and running clients (`make clients`)."""

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

_METHODS = ("get", "put", "post", "patch", "delete")
_NULL = {"type": "null"}
# Names that the Python modules of openapi-generator import in addition to a component's own name.
_TAKEN_NAMES = {"Annotated", "Any", "BaseModel", "ClassVar", "ConfigDict", "Dict", "Field"} | {
    "List", "Literal", "Optional", "Self", "Set", "StrictBool", "StrictBytes", "StrictFloat",
    "StrictInt", "StrictStr", "Union", "ValidationError",
}  # fmt: skip


def find_generator_faults(document: Schema) -> list[str]:
    """Return a description of each fault with its place."""
    return [
        *_find_shared_tags(document),
        *_find_status_ranges(document),
        *_find_body_faults(document),
        *_find_missing_links(document),
        *_find_deprecations(document),
        *_find_schema_faults(document),
        *(
            f"{name}: taken name"
            for name in document["components"]["schemas"]
            if name in _TAKEN_NAMES
        ),
    ]


def _list_operations(paths: Schema) -> Iterator[tuple[str, Schema]]:
    for path, methods in paths.items():
        for method in _METHODS:
            if method in methods:
                yield path, methods[method]


def _find_shared_tags(document: Schema) -> Iterator[str]:
    tags = {tag for _, each in _list_operations(document["paths"]) for tag in each["tags"]}
    for name, operation in _list_operations(document["webhooks"]):
        for tag in tags.intersection(operation["tags"]):
            yield f"webhook {name}: shares the tag {tag} with operations"


def _find_status_ranges(document: Schema) -> Iterator[str]:
    for place in ("paths", "webhooks"):
        for path, operation in _list_operations(document[place]):
            for status in operation["responses"]:
                if not status.isdecimal():
                    yield f"{path}: status {status}"


def _find_body_faults(document: Schema) -> Iterator[str]:
    for path, operation in _list_operations(document["paths"]):
        for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
            schema = content["schema"]
            name = operation["operationId"]
            if "anyOf" in schema or "oneOf" in schema:
                yield f"{name}: a union as body"
            if schema.get("type") == "array" and not {"minItems", "maxItems"} <= schema.keys():
                yield f"{name}: an array without limits as body"
            if operation is document["paths"][path].get("patch") and "merge" not in media_type:
                yield f"{name}: a merge patch as {media_type}"
        if len(operation.get("requestBody", {}).get("content", {})) > 1:
            yield f"{operation['operationId']}: several media types of one body"


def _find_missing_links(document: Schema) -> Iterator[str]:
    """Find created objects without a link: creating at /things must link to reading at
    /things/{id}."""
    paths = document["paths"]
    for path, operation in _list_operations(paths):
        if operation is not paths[path].get("post"):
            continue
        for other, methods in paths.items():
            parent, _, last = other.rpartition("/")
            if parent == path and last.startswith("{") and "get" in methods:
                reading = methods["get"]["operationId"]
                if reading not in operation["responses"]["200"].get("links", {}):
                    yield f"{operation['operationId']}: no link to {reading}"


def _find_deprecations(document: Schema) -> Iterator[str]:
    for name, schema in document["components"]["schemas"].items():
        for field, described in schema.get("properties", {}).items():
            is_said = str(described.get("description", "")).startswith("Deprecated")
            if is_said and described.get("deprecated") is not True:
                yield f"{name}.{field}: deprecated in words alone"


def _find_schema_faults(document: Schema) -> Iterator[str]:
    for where, schema in _list_schemas(document, ""):
        kinds = schema.get("type", ())
        kinds = kinds if isinstance(kinds, list) else [kinds]
        parent = where.rpartition("/")[0]
        if "enum" in schema and parent != "/components/schemas":
            yield f"{where}: an enum without a name"
        if {"true", "false"} & set(map(str, schema.get("enum", ()))):
            yield f"{where}: a boolean as text"
        if "integer" in kinds and schema.get("format") not in ("int32", "int64"):
            yield f"{where}: an integer without a format"
        if schema == _NULL and "/anyOf/" not in f"{where}/":
            yield f"{where}: a null type without a name"
        for union in ("anyOf", "oneOf"):
            yield from _find_union_faults(where, schema.get(union, []))


def _find_union_faults(where: str, branches: list[Schema]) -> Iterator[str]:
    for each in branches:
        if "$ref" not in each and each != _NULL:
            yield f"{where}: a branch of a union without a name"


def _list_schemas(part: Any, where: str) -> Iterator[tuple[str, Schema]]:
    """List every schema with its path. Examples and links contain no schemas."""
    if isinstance(part, list):
        for place, each in enumerate(part):
            yield from _list_schemas(each, f"{where}/{place}")
    elif isinstance(part, dict):
        if not where.endswith("/properties"):
            yield where, part
        for name, each in part.items():
            if name not in ("example", "examples", "links") or where.endswith("/properties"):
                yield from _list_schemas(each, f"{where}/{name}")
