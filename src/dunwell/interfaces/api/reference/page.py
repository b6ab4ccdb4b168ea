"""Render the reference page from the same data as the OpenAPI document."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from dunwell.interfaces.api.catalogue import OPERATIONS, TAGS
from dunwell.interfaces.api.failures import FAULT_CODES, KINDS, FailureKind
from dunwell.interfaces.api.operation import Operation
from dunwell.interfaces.api.reference.document import INTRODUCTION, build_document
from dunwell.interfaces.api.reference.fields import (
    ReferenceField,
    describe_kind,
    list_fields,
    resolve,
)
from dunwell.interfaces.api.reference.guides import load_template
from dunwell.interfaces.api.reference.refusals import build_failure_example, list_kinds

STYLE_PATH = "/docs/style.css"
_BREAK = " \\\n  "


@dataclass(frozen=True, slots=True)
class OperationView:
    """An operation as the page shows it. `request` and `result` are the fields of the request body
    and of the result, and `kinds` the error types that the operation can respond with.
    `response_example` is an example of the whole response."""

    operation: Operation
    parameters: list[ReferenceField]
    request: list[ReferenceField]
    result: list[ReferenceField]
    result_kind: str
    curl: str
    response_example: str
    kinds: list[FailureKind]


@dataclass(frozen=True, slots=True)
class Chapter:
    name: str
    introduction: str
    operations: list[OperationView]


def render_page(public_url: str) -> str:
    document = build_document()
    named = document["components"]["schemas"]
    return load_template("docs.html").render(
        base_url=f"{public_url}/api",
        style_path=STYLE_PATH,
        introduction=INTRODUCTION,
        chapters=list(_list_chapters(document)),
        webhook=document["webhooks"]["event"]["post"],
        event_fields=list(list_fields(named["Event"], named)),
        kinds=KINDS,
        fault_codes=FAULT_CODES,
        fields_of=partial(_list_detail_fields, named),
        sample_error=render_json(build_failure_example("NotFound")),
    )


def _list_chapters(document: dict[str, Any]) -> Iterator[Chapter]:
    for name, words in TAGS.items():
        operations = [each for each in OPERATIONS if each.tag == name]
        yield Chapter(name, words, [_build_operation_view(each, document) for each in operations])


def _build_operation_view(operation: Operation, document: dict[str, Any]) -> OperationView:
    described = document["paths"][operation.path][operation.method.lower()]
    named = document["components"]["schemas"]
    result, response_example = _render_response(
        operation, described["responses"]["200"]["content"], named
    )
    request: list[ReferenceField] = []
    if operation.body is not None:
        content = described["requestBody"]["content"][operation.body.media_type]
        request = list(list_fields(content["schema"], named))
    return OperationView(
        operation=operation,
        parameters=[
            _build_parameter_field(each, named) for each in described.get("parameters", ())
        ],
        request=request,
        result=list(list_fields(result, named)),
        result_kind=describe_kind(result, named),
        curl=render_curl(operation),
        response_example=response_example,
        kinds=list_kinds(operation) if operation.has_envelope else [],
    )


def _render_response(
    operation: Operation, content: dict[str, Any], named: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """Return the schema of the result, and an example of the whole response."""
    if operation.file_types:
        return {"type": "file"}, str(operation.example)
    schema = content["application/json"]["schema"]
    if operation.has_envelope:
        schema = resolve(schema, named)["properties"]["result"]
    return schema, render_json(content["application/json"]["example"])


def _build_parameter_field(parameter: dict[str, Any], named: dict[str, Any]) -> ReferenceField:
    schema = resolve(parameter["schema"], named)
    description = parameter["description"]
    if "enum" in schema:
        description += " One of " + ", ".join(f"`{each}`" for each in schema["enum"]) + "."
    if "maximum" in schema:
        description += f" At most {schema['maximum']:,}."
    return ReferenceField(
        name=parameter["name"],
        kind=f"{describe_kind(schema, named)} in {parameter['in']}",
        description=description,
        is_required=parameter["required"],
        depth=0,
    )


def _list_detail_fields(named: dict[str, Any], kind: FailureKind) -> list[ReferenceField]:
    return list(list_fields(named[kind.details.__name__], named))


def render_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def render_curl(operation: Operation) -> str:
    """Render the operation's example as a curl command that uses $BASE and $TOKEN."""
    method = "" if operation.method == "GET" else f"-X {operation.method} "
    parts = [f'curl {method}"$BASE{_render_path(operation)}"']
    if operation.needs_token:
        parts.append('-H "Authorization: Bearer $TOKEN"')
    if operation.accepts_idempotency_key:
        parts.append('-H "Idempotency-Key: hand-over-1"')
    parts += _render_body(operation)
    return _BREAK.join(parts)


def _render_path(operation: Operation) -> str:
    path = operation.path
    for parameter in operation.parameters:
        if parameter.place == "path":
            path = path.replace(f"{{{parameter.name}}}", str(parameter.example))
    query_parts = [
        f"{each.name}={quote(str(each.example), safe='')}"
        for each in operation.parameters
        if each.place == "query" and each.example is not None and each.name in ("limit", "type")
    ]
    return path + ("?" + "&".join(query_parts) if query_parts else "")


def _render_body(operation: Operation) -> list[str]:
    body = operation.body
    if body is None:
        return []
    if body.media_type.endswith("json"):
        return [f'-H "Content-Type: {body.media_type}"', f"-d '{render_json(body.example)}'"]
    flag = "-F" if body.media_type.startswith("multipart") else "-d"
    return [f"{flag} '{name}={value}'" for name, value in body.example.items()]
