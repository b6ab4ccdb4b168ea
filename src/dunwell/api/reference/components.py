"""The document's shapes: msgspec's own JSON Schemas of the wire types, and one per error type."""

from typing import Any

import msgspec

from dunwell.api.failures import KINDS, FailureKind
from dunwell.api.fault_codes import FAULT_CODES
from dunwell.api.operation import Operation
from dunwell.api.schemas.claims import SUBMISSION_WORDS
from dunwell.api.schemas.failures import Failure
from dunwell.api.schemas.token import TokenFailure
from dunwell.claims.fields import FIELDS
from dunwell.events.body import Event

Schema = dict[str, Any]

_REFERENCE = "#/components/schemas/{name}"

# What the contract does not name, marked as ours, by shape and field.
_ADDITIONS = {
    "ClaimSubmission": tuple(each.wire_name for each in FIELDS if not each.about.in_contract),
    "EventClaim": ("customerNumber",),
}


class Components:
    """Schemas by type, and the named ones they refer to."""

    def __init__(self, operations: tuple[Operation, ...]) -> None:
        shapes = [operation.result for operation in operations]
        shapes += [
            operation.body.shape
            for operation in operations
            if operation.body and not is_schema(operation.body.shape)
        ]
        shapes += [Failure, TokenFailure, Event, *{kind.details for kind in KINDS}]
        schemas, named = msgspec.json.schema_components(shapes, ref_template=_REFERENCE)
        self._schemas = list(zip(shapes, schemas, strict=True))
        self.named: dict[str, Schema] = {name: _clean(each) for name, each in named.items()}
        for kind in KINDS:
            self.named[kind.name] = _error_schema(kind)
        self.named["Failure"] = {
            "description": "Any error, told apart by its type.",
            "oneOf": [refer_to(kind.name) for kind in KINDS],
            "discriminator": {
                "propertyName": "type",
                "mapping": {kind.name: _REFERENCE.format(name=kind.name) for kind in KINDS},
            },
        }
        self.named["ValidationError"]["description"] += _render_codes()
        _mark_additions(self.named)
        _describe_submission(self.named)

    def schema_of(self, shape: Any) -> Schema:
        if is_schema(shape):
            return dict(shape)
        return next(_clean(schema) for given, schema in self._schemas if given == shape)


def is_schema(shape: Any) -> bool:
    return isinstance(shape, dict)


def refer_to(name: str) -> Schema:
    return {"$ref": _REFERENCE.format(name=name)}


def _error_schema(kind: FailureKind) -> Schema:
    return {
        "type": "object",
        "title": kind.name,
        "description": f"{kind.cause}\n\n**What to do:** {kind.remedy}",
        "required": ["type", "message", "details"],
        "properties": {
            "type": {"const": kind.name},
            "message": {"type": "string", "description": "What happened and what to do next."},
            "details": refer_to(kind.details.__name__),
        },
        "x-status": kind.status,
    }


def _render_codes() -> str:
    """The table of codes, in Markdown."""
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


def _clean(schema: Any) -> Any:
    """Without what says nothing to a reader: nulls as defaults, Python's anchors in patterns."""
    if isinstance(schema, list):
        return [_clean(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        name: _clean(value)
        for name, value in schema.items()
        if not (name == "default" and value is None)
    }
    if isinstance(kept.get("pattern"), str):
        kept["pattern"] = kept["pattern"].replace("(?!\\n)", "")
    return kept
