"""Flatten a JSON Schema into a list of fields for the reference, with nested fields indented.
Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]

_MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class ReferenceField:
    """One field. `kind` is a readable name of its type, `depth` its level of nesting."""

    name: str
    kind: str
    description: str
    is_required: bool
    depth: int


def list_fields(
    schema: Schema, named: Mapping[str, Schema], depth: int = 0
) -> Iterator[ReferenceField]:
    """List the fields of an object, or of the first object in an array or union."""
    object_schema = _find_object(schema, named)
    if object_schema is None or depth > _MAX_DEPTH:
        return
    required = object_schema.get("required", ())
    for name, field in object_schema.get("properties", {}).items():
        resolved = resolve(field, named)
        yield ReferenceField(
            name=name,
            kind=describe_kind(field, named),
            description=_describe(field, resolved, named),
            is_required=name in required,
            depth=depth,
        )
        yield from list_fields(field, named, depth + 1)


def describe_kind(schema: Schema, named: Mapping[str, Schema]) -> str:
    """Return a readable name of the type, for example "array of objects" or "string or null"."""
    schema = resolve(schema, named)
    if "discriminator" in schema:
        return "object" if _is_union_with_fields(schema, named) else "error object"
    for union in ("anyOf", "oneOf"):
        if union in schema:
            kinds = [describe_kind(each, named) for each in schema[union]]
            return " or ".join(dict.fromkeys(kinds))
    if "enum" in schema or "const" in schema:
        return "null" if schema.get("const", ...) is None else "string"
    if isinstance(schema.get("type"), list):
        kinds = [describe_kind({**schema, "type": each}, named) for each in schema["type"]]
        return " or ".join(kinds)
    if schema.get("type") == "array":
        return f"array of {_pluralise(describe_kind(schema.get('items', {}), named))}"
    kind = schema.get("type", "any")
    formats = {"date-time": "timestamp", "date": "date", "uuid": "UUID"}
    return formats.get(schema.get("format", ""), str(kind)) if kind != "null" else "null"


def _pluralise(kind: str) -> str:
    return " or ".join(f"{each}s" for each in kind.split(" or "))


def _describe(field: Schema, resolved: Schema, named: Mapping[str, Schema]) -> str:
    """Return the field's description and its limits."""
    without_null = resolve(_drop_null(resolved), named)
    sentences = [str(field.get("description") or resolved.get("description") or "")]
    if "oneOf" in without_null or "properties" in without_null:
        sentences = [str(field.get("description") or "")]
    if not sentences[0]:
        sentences[0] = (
            str(without_null.get("description", "")) if "properties" not in without_null else ""
        )
    if "enum" in without_null:
        sentences.append("One of " + ", ".join(f"`{each}`" for each in without_null["enum"]) + ".")
    if "const" in without_null:
        sentences.append(f"Always `{without_null['const']}`.")
    sentences += _describe_limits(without_null)
    return " ".join(each for each in sentences if each)


def _describe_limits(schema: Schema) -> Iterator[str]:
    if "maxLength" in schema and "enum" not in schema:
        yield f"At most {schema['maxLength']:,} characters."
    if "maxItems" in schema:
        yield f"At most {schema['maxItems']:,}."
    if "maxProperties" in schema:
        yield f"At most {schema['maxProperties']:,}."


def _drop_null(schema: Schema) -> Schema:
    branches = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    return branches[0] if len(branches) == 1 else schema


def _find_object(schema: Schema, named: Mapping[str, Schema]) -> Schema | None:
    schema = resolve(schema, named)
    if "properties" in schema:
        return schema
    if _is_union_with_fields(schema, named):
        mapping = schema["discriminator"]["mapping"]
        return _merge({value: {"$ref": each} for value, each in mapping.items()}, named)
    if schema.get("type") == "array":
        return _find_object(schema.get("items", {}), named)
    for branch in schema.get("anyOf", ()):
        object_schema = _find_object(branch, named)
        if object_schema is not None:
            return object_schema
    return None


def _is_union_with_fields(schema: Schema, named: Mapping[str, Schema]) -> bool:
    """Return whether the schema is a union whose fields are shown. Errors have their own
    chapter."""
    branches = [resolve(each, named) for each in schema.get("oneOf", ())]
    return "discriminator" in schema and not any("x-status" in each for each in branches)


def _merge(branches: Mapping[str, Schema], named: Mapping[str, Schema]) -> Schema:
    """Merge objects into one with the fields of all. `branches` maps the value of their type to
    their schema."""
    objects = {value: resolve(each, named) for value, each in branches.items()}
    fields = dict.fromkeys(name for each in objects.values() for name in each["properties"])
    merged: dict[str, Schema] = {}
    for name in fields:
        branches_with_field = {
            value: each["properties"][name]
            for value, each in objects.items()
            if name in each["properties"]
        }
        merged[name] = _merge_field(branches_with_field, named)
        if len(branches_with_field) < len(objects):
            words = merged[name].get("description", "")
            restriction = (
                "Only for " + ", ".join(f"`{value}`" for value in branches_with_field) + "."
            )
            merged[name] = {**merged[name], "description": f"{restriction} {words}".strip()}
    required = [
        name for name in fields if all(name in each["required"] for each in objects.values())
    ]
    return {"type": "object", "properties": merged, "required": required}


def _merge_field(branches_with_field: Mapping[str, Schema], named: Mapping[str, Schema]) -> Schema:
    first, *others = branches_with_field.values()
    if all(each == first for each in others):
        return first
    if "const" in first:
        return {"type": "string", "enum": [each["const"] for each in branches_with_field.values()]}
    return _merge(branches_with_field, named)


def resolve(schema: Schema, named: Mapping[str, Schema]) -> Schema:
    while "$ref" in schema:
        schema = named[schema["$ref"].rsplit("/", 1)[1]]
    return schema
