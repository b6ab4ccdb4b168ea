"""Build the document's schemas: msgspec's JSON Schemas of the wire types, one for each error type,
and one for each envelope.

Every schema from which client generators make a type has a name here.
"""

from collections.abc import Sequence
from typing import Any, get_args, get_origin

import msgspec

from dunwell.core.claims.fields import FIELDS
from dunwell.core.events.body import Event, EventClaim
from dunwell.interfaces.api.failures import FAULT_CODES, KINDS, FailureKind
from dunwell.interfaces.api.operation import Operation
from dunwell.interfaces.api.schemas.claims import (
    SUBMISSION_WORDS,
    ClaimCreationResult,
    CreatedClaim,
    FailedClaim,
)
from dunwell.interfaces.api.schemas.failures import Failure
from dunwell.interfaces.api.schemas.service import TokenFailure

Schema = dict[str, Any]

_REFERENCE = "#/components/schemas/{name}"

# openapi-generator's Python client cannot catch pydantic's ValidationError if a component has the
# same name. The type on the wire keeps its name.
_VALIDATION = "ValidationFailure"
_RENAMED = {"ValidationError": _VALIDATION}
_EVENT_CLAIMS: list[type[EventClaim]] = [EventClaim, *EventClaim.__subclasses__()]
# The fields that the contract does not name, by schema. They are marked `x-addition`.
_ADDITIONS = {
    "ClaimSubmission": tuple(each.wire_name for each in FIELDS if not each.about.in_contract),
    **{each.__name__: ("customerNumber",) for each in _EVENT_CLAIMS},
}
# The order matters: clients made by openapi-python-client take the first schema that they can read.
# These clients check that an error is an object, but not that an id is an integer.
_CREATION_RESULTS: tuple[type[ClaimCreationResult], ...] = (FailedClaim, CreatedClaim)


class Components:
    """The schemas of the wire types, and the named schemas to which they refer."""

    def __init__(self, operations: tuple[Operation, ...]) -> None:
        shapes = [operation.result for operation in operations]
        shapes += [
            operation.body.shape
            for operation in operations
            if operation.body and not is_schema(operation.body.shape)
        ]
        shapes += [Failure, TokenFailure, Event, *{kind.details for kind in KINDS}]
        shapes += _CREATION_RESULTS
        schemas, named = msgspec.json.schema_components(shapes, ref_template=_REFERENCE)
        self._schemas = list(zip(shapes, schemas, strict=True))
        self.named: dict[str, Schema] = {
            name: _simplify_schema(each) for name, each in named.items()
        }
        for kind in KINDS:
            self.named[get_failure_name(kind)] = _build_error_schema(kind)
        self._name_failures("Failure", KINDS)
        self.named["Failure"]["description"] = "Any error; `type` says which."
        self._name_events()
        self._name_creation_results()
        self.named[_VALIDATION]["description"] += _render_codes()
        _mark_additions(self.named)
        _describe_submission(self.named)

    def get_schema(self, shape: Any) -> Schema:
        if is_schema(shape):
            return dict(shape)
        return next(
            _simplify_schema(schema)
            for described_shape, schema in self._schemas
            if described_shape == shape
        )

    def wrap_result(self, shape: Any) -> Schema:
        """Return the schema of the envelope of a result of this type."""
        if shape == Event:  # a union, which has no name
            return self._wrap("Event", {"type": "null"}, refer_to("Event"))
        [element] = get_args(shape) if get_origin(shape) is list else [shape]
        name = f"{element.__name__}List" if element is not shape else element.__name__
        return self._wrap(name, {"type": "null"}, self.get_schema(shape))

    def wrap_failures(self, kinds: Sequence[FailureKind]) -> Schema:
        """Return the schema of the envelope of an error of one of these types."""
        name = "Or".join(map(get_failure_name, kinds))
        if name not in self.named:
            self._name_failures(name, kinds)
        return self._wrap(name, refer_to(name), {"type": "null"})

    def _wrap(self, name: str, error: Schema, result: Schema) -> Schema:
        envelope = {
            "title": f"{name}Envelope",
            "type": "object",
            "required": ["error", "result"],
            "properties": {"error": error, "result": result},
        }
        named = self.named.setdefault(f"{name}Envelope", envelope)
        assert named == envelope, name
        return refer_to(f"{name}Envelope")

    def _name_failures(self, name: str, kinds: Sequence[FailureKind]) -> None:
        self.named[name] = {
            "title": name,
            "oneOf": [refer_to(get_failure_name(kind)) for kind in kinds],
            "discriminator": {
                "propertyName": "type",
                "mapping": {
                    kind.name: _REFERENCE.format(name=get_failure_name(kind)) for kind in kinds
                },
            },
        }

    def _name_events(self) -> None:
        """Make the union of events a named component. msgspec repeats a union wherever it is used,
        but client generators need one type."""
        union = self.get_schema(Event)
        self.named["Event"] = {
            "title": "Event",
            "description": "An event with the body of its webhook; `type` says which.",
            "oneOf": union["anyOf"],
            "discriminator": union["discriminator"],
        }
        listed = self.named["EventList"]["properties"]["items"]
        assert listed["items"] == union
        listed["items"] = refer_to("Event")

    def _name_creation_results(self) -> None:
        """Describe a creation result as a union. msgspec supports no union without a tag; `error`
        distinguishes the two."""
        union = self.named[ClaimCreationResult.__name__]
        self.named[ClaimCreationResult.__name__] = {
            "title": union["title"],
            "description": union["description"],
            "oneOf": [refer_to(each.__name__) for each in _CREATION_RESULTS],
        }


def is_schema(shape: Any) -> bool:
    return isinstance(shape, dict)


def refer_to(name: str) -> Schema:
    return {"$ref": _REFERENCE.format(name=name)}


def get_failure_name(kind: FailureKind) -> str:
    """Return the name of the component that describes this type of error."""
    return _RENAMED.get(kind.name, kind.name)


def _build_error_schema(kind: FailureKind) -> Schema:
    return {
        "type": "object",
        "title": get_failure_name(kind),
        "description": f"{kind.cause}\n\n**What to do:** {kind.remedy}",
        "required": ["type", "message", "details"],
        "properties": {
            "type": {"type": "string", "const": kind.name},
            "message": {"type": "string", "description": "What happened and what to do next."},
            "details": refer_to(kind.details.__name__),
        },
        "x-status": kind.status,
    }


def _render_codes() -> str:
    """Return the table of fault codes in Markdown."""
    rows = "".join(f"\n| `{code}` | {words} |" for code, words in FAULT_CODES.items())
    return f"\n\n| code | meaning |\n|---|---|{rows}"


def _mark_additions(named: dict[str, Schema]) -> None:
    for name, fields in _ADDITIONS.items():
        for field in fields:
            named[name]["properties"][field]["x-addition"] = True


def _describe_submission(named: dict[str, Schema]) -> None:
    for name, words in SUBMISSION_WORDS.items():
        for field, sentence in words.items():
            named[name]["properties"][field]["description"] = sentence


def _simplify_schema(schema: Any) -> Any:
    """Return the schema without Python's anchors in patterns, which mean nothing to a reader, and
    without defaults, from which generators conclude that a field must be sent. Enums of strings get
    `type: string`."""
    if isinstance(schema, list):
        return [_simplify_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _simplify_schema(value) for name, value in schema.items() if name != "default"}
    if "properties" in schema:
        kept["properties"] = {
            name: _simplify_schema(each) for name, each in schema["properties"].items()
        }
    kept = _merge_null(kept)
    if isinstance(kept.get("pattern"), str):
        kept["pattern"] = kept["pattern"].replace("(?!\\n)", "")
    choices = kept.get("enum", ())
    if choices and all(isinstance(each, str) for each in choices):
        kept["type"] = "string"
    if len(choices) == 1:
        [kept["const"]] = kept.pop("enum")
    return kept


def _merge_null(schema: Schema) -> Schema:
    """Merge a plain type and null into one schema with two types, so that generators make no
    separate type of it. The limits of a string do not apply to null."""
    branches = schema.get("anyOf", ())
    plain = [each for each in branches if "type" in each and not {"enum", "const"} & each.keys()]
    if len(branches) != 2 or branches[1:] != [{"type": "null"}] or len(plain) != 2:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**branches[0], **rest, "type": [branches[0]["type"], "null"]}
