"""The reference as a page: rendered once, at the start, from the same data as the document."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from dunwell.api.catalogue import OPERATIONS, TAGS
from dunwell.api.failures import KINDS, FailureKind
from dunwell.api.fault_codes import FAULT_CODES
from dunwell.api.operation import Operation
from dunwell.api.reference.document import build_document
from dunwell.api.reference.failure_examples import show_failure
from dunwell.api.reference.fields import Field, describe_kind, list_fields, resolve
from dunwell.api.reference.layouts import load_template
from dunwell.api.reference.refusals import list_kinds
from dunwell.api.reference.samples import render_curl, render_json

STYLE_PATH = "/docs/style.css"


@dataclass(frozen=True, slots=True)
class OperationView:
    operation: Operation
    parameters: list[Field]
    request: list[Field]
    result: list[Field]
    result_kind: str
    curl: str
    answer: str
    kinds: list[FailureKind]


@dataclass(frozen=True, slots=True)
class Chapter:
    name: str
    words: str
    operations: list[OperationView]


def render_page(public_url: str) -> str:
    document = build_document()
    named = document["components"]["schemas"]
    return load_template("docs.html").render(
        base_url=f"{public_url}/api",
        style_path=STYLE_PATH,
        introduction=document["info"]["description"],
        chapters=list(_list_chapters(document)),
        webhook=document["webhooks"]["event"]["post"],
        event_fields=list(list_fields(named["Event"], named)),
        kinds=KINDS,
        fault_codes=FAULT_CODES,
        fields_of=partial(_list_detail_fields, named),
        sample_error=render_json(show_failure("NotFound")),
    )


def _list_chapters(document: dict[str, Any]) -> Iterator[Chapter]:
    for name, words in TAGS.items():
        operations = [each for each in OPERATIONS if each.tag == name]
        yield Chapter(name, words, [_view(each, document) for each in operations])


def _view(operation: Operation, document: dict[str, Any]) -> OperationView:
    described = document["paths"][operation.path][operation.method.lower()]
    named = document["components"]["schemas"]
    result, answer = _show_answer(operation, described["responses"]["200"]["content"], named)
    request: list[Field] = []
    if operation.body is not None:
        content = described["requestBody"]["content"][operation.body.media_type]
        request = list(list_fields(content["schema"], named))
    return OperationView(
        operation=operation,
        parameters=[_view_parameter(each) for each in described.get("parameters", ())],
        request=request,
        result=list(list_fields(result, named)),
        result_kind=describe_kind(result, named),
        curl=render_curl(operation),
        answer=answer,
        kinds=list_kinds(operation) if operation.has_envelope else [],
    )


def _show_answer(
    operation: Operation, content: dict[str, Any], named: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """The result's schema, and an example of the whole answer."""
    if operation.file_types:
        return {"type": "file"}, str(operation.example)
    schema = content["application/json"]["schema"]
    if operation.has_envelope:
        schema = resolve(schema, named)["properties"]["result"]
    return schema, render_json(content["application/json"]["example"])


def _view_parameter(parameter: dict[str, Any]) -> Field:
    schema = parameter["schema"]
    described = parameter["description"]
    if "enum" in schema:
        described += " One of " + ", ".join(f"`{each}`" for each in schema["enum"]) + "."
    if "maximum" in schema:
        described += f" At most {schema['maximum']:,}."
    return Field(
        name=parameter["name"],
        kind=f"{describe_kind(schema, {})} in {parameter['in']}",
        description=described,
        is_required=parameter["required"],
        is_addition=bool(parameter.get("x-addition")),
        depth=0,
    )


def _list_detail_fields(named: dict[str, Any], kind: FailureKind) -> list[Field]:
    return list(list_fields(named[kind.details.__name__], named))
