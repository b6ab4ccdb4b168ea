"""Build the OpenAPI 3.1 document from the operations' data and their wire types."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dunwell.accounts.merchants.rights import SCOPE_RIGHTS
from dunwell.interfaces.api.catalogue import OPERATIONS, TAGS
from dunwell.interfaces.api.failures import KINDS, FailureKind
from dunwell.interfaces.api.operation import Operation, Parameter, RequestBody
from dunwell.interfaces.api.reference.components import Components, Schema, refer_to
from dunwell.interfaces.api.reference.generator_rules import prepare_for_generators
from dunwell.interfaces.api.reference.refusals import (
    TOKEN_FAILURES,
    build_failure_example,
    list_statuses,
)
from dunwell.interfaces.api.routes.events import LIST_EVENTS
from dunwell.interfaces.api.routes.parameters import IDEMPOTENCY_KEY

_READ_CLAIM = "readClaim"
_CLAIM_ID = "claim_id"

Link = dict[str, Any]


def list_links(operation: Operation, operations: Sequence[Operation]) -> dict[str, Link]:
    """Return the links of the operation's successful response, by the id of the linked
    operation."""
    if not operation.has_envelope or operation.file_types:
        return {}
    links = dict(_list_read_links(operation, operations))
    if _READ_CLAIM not in links and isinstance(_look_up(operation.example, "claimId"), int):
        parameters = {
            "merchant_id": _refer_to_path("merchant_id"),
            _CLAIM_ID: _refer_to_result("/claimId"),
        }
        links[_READ_CLAIM] = _build_link("The claim.", _READ_CLAIM, parameters)
    return links


def _list_read_links(
    operation: Operation, operations: Sequence[Operation]
) -> Iterator[tuple[str, Link]]:
    pointer = _find_id(operation.example)
    if operation.method not in ("GET", "POST") or pointer is None:
        return
    shared = [each.name for each in operation.parameters if each.place == "path"]
    for each in operations:
        parameter = _find_member_parameter(operation.path, each)
        if parameter is not None:
            parameters = {name: _refer_to_path(name) for name in shared} | {
                parameter: _refer_to_result(pointer)
            }
            description = f"{each.summary} with the first id of this response."
            yield each.operation_id, _build_link(description, each.operation_id, parameters)


def _find_member_parameter(collection: str, operation: Operation) -> str | None:
    """Return the name of the path parameter that identifies a member of the collection if the
    operation returns such a member, otherwise None."""
    parent, _, last = operation.path.rpartition("/")
    is_member = parent == collection and last.startswith("{") and operation.method == "GET"
    return last.strip("{}") if is_member else None


def _find_id(example: Any) -> str | None:
    """Return the JSON pointer to the first id in a result, which may be an object, a list, or a
    wrapper of either."""
    for pointer in ("/id", "/0/id", "/items/0/id", "/item/id"):
        if _look_up(example, *pointer.split("/")[1:]) is not None:
            return pointer
    return None


def _look_up(value: Any, *names: str) -> Any:
    for name in names:
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _refer_to_path(name: str) -> str:
    return f"$request.path.{name}"


def _refer_to_result(pointer: str) -> str:
    return f"$response.body#/result{pointer}"


def _build_link(description: str, operation_id: str, parameters: dict[str, str]) -> Link:
    return {"description": description, "operationId": operation_id, "parameters": parameters}


_TOKEN_STATUSES = {
    400: "The form is malformed, or the grant type is not supported.",
    401: "The client id or secret is wrong or was revoked.",
    413: "The form is too large.",
    500: "An internal error occurred.",
    503: "The database is unavailable. Retry after the time in Retry-After.",
}
_HEADERS: dict[str, Schema] = {
    "X-Request-Id": {
        "description": "The id of this request, for support questions to the operator.",
        "schema": {"type": "string"},
    },
    "Retry-After": {
        "description": "The number of seconds after which to repeat the request.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": {
        "description": "The authentication scheme to use.",
        "schema": {"type": "string"},
    },
}
# The schema by which client generators recognise a file.
_FILE: Schema = {"type": "string", "format": "binary"}
_HEADERS_BY_STATUS = {401: ("WWW-Authenticate",), 429: ("Retry-After",), 503: ("Retry-After",)}
INTRODUCTION = (
    "Create unpaid claims, follow their status, and receive events about them. Every JSON response "
    "is an envelope with `error` and `result`, one of which is null."
)
# Only in the document. The reference page, which is built from it, does not show x-addition.
_ADDITIONS_NOTE = "Operations, parameters and fields that are additions are marked `x-addition`."
_INFO = {
    "title": "Dunwell merchant API",
    "version": "1",
    "description": f"{INTRODUCTION} {_ADDITIONS_NOTE}",
    "contact": {"name": "The operator who gave you your client id"},
    "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
}
# Generators make one class per tag. The class of a webhook would replace that of the operations
# with the same tag, so the webhook has its own tag.
_WEBHOOK_TAG = "Webhooks"
_WEBHOOK_TAG_WORDS = "The events that the service sends to your endpoints."
_WEBHOOK = (
    "Each endpoint is sent the events of its types as JSON in a POST request, signed according to "
    "Standard Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`). The number of the "
    "event among those of its claim is in `Dunwell-Sequence`, except for additional types, which "
    "only endpoints that name them are sent. Any 2xx response is a success; "
    "otherwise delivery is retried for about three days. An event may arrive more than once, "
    "always with the same id. Events may arrive out of order; sort them by the sequence number. "
    "The operator sets up endpoints."
)


def build_document() -> dict[str, Any]:
    """Build the whole document. It does not depend on the settings."""
    components = Components(OPERATIONS)
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        described = _describe_operation(operation, components)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    document = {
        "openapi": "3.1.0",
        "info": _INFO,
        "servers": [{"url": "/api"}],
        "security": [{"accessToken": []}],
        "tags": [
            {"name": name, "description": description}
            for name, description in {**TAGS, _WEBHOOK_TAG: _WEBHOOK_TAG_WORDS}.items()
        ],
        "paths": paths,
        "webhooks": {"event": {"post": _describe_webhook()}},
        "components": {
            "securitySchemes": {
                "accessToken": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An access token from POST /token.",
                }
            },
            "headers": _HEADERS,
            "examples": {
                name: {"value": build_failure_example(name)} for name in _list_operation_errors()
            },
            "schemas": components.named,
        },
    }
    return prepare_for_generators(document)


def _list_operation_errors() -> list[str]:
    """Return the error types that operations respond with. The others occur before a request
    reaches an operation."""
    statuses = [list_statuses(each) for each in OPERATIONS if each.has_envelope]
    kinds_in_use = {kind for each in statuses for kinds in each.values() for kind in kinds}
    return [kind.name for kind in KINDS if kind in kinds_in_use]


def _render_scopes(operation: Operation) -> str:
    if not operation.needs_token:
        return ""
    scopes = [scope for scope, rights in SCOPE_RIGHTS.items() if operation.right in rights]
    return f"\n\nScopes: {', '.join(f'`{each}`' for each in scopes)}."


def _describe_operation(operation: Operation, components: Components) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.operation_id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": operation.description + _render_scopes(operation),
    }
    if operation.is_addition:
        described["x-addition"] = True
    parameters = list(operation.parameters) + (
        [IDEMPOTENCY_KEY] if operation.accepts_idempotency_key else []
    )
    if parameters:
        described["parameters"] = [_describe_parameter(each) for each in parameters]
    if operation.body is not None:
        content: dict[str, Any] = {
            "schema": components.get_schema(operation.body.shape),
            "example": operation.body.example,
        }
        if operation.body.encoding:
            content["encoding"] = operation.body.encoding
        described["requestBody"] = {
            "required": operation.body.is_required,
            "content": {operation.body.media_type: content},
        }
        description = _describe_body(operation.body)
        if description:
            described["requestBody"]["description"] = description
    if not operation.needs_token:
        described["security"] = []
    described["responses"] = _describe_responses(operation, components)
    return described


def _describe_body(body: RequestBody) -> str:
    """Describe what the schema does not. Further media types are named in the description, because
    openapi-python-client generates code that does not compile for an operation with two."""
    sentences = [body.description] if body.description else []
    if body.further_media_types:
        others = ", ".join(f"`{each}`" for each in body.further_media_types)
        sentences.append(f"{others} is also accepted.")
    return " ".join(sentences)


def _describe_parameter(parameter: Parameter) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.is_required,
        "description": parameter.description,
        "schema": parameter.schema,
    }
    if parameter.example is not None:
        described["example"] = parameter.example
    if parameter.is_addition:
        described["x-addition"] = True
    return described


def _describe_responses(operation: Operation, components: Components) -> dict[str, Any]:
    responses = {"200": _describe_success(operation, components)}
    links = list_links(operation, OPERATIONS)
    if links:
        responses["200"]["links"] = links
    if not operation.has_envelope:
        for status, description in _TOKEN_STATUSES.items():
            responses[str(status)] = _describe_response(
                status, description, refer_to("TokenFailure"), TOKEN_FAILURES[status]
            )
        return responses
    for status, kinds in list_statuses(operation).items():
        failure = components.wrap_failures(kinds)
        described = _describe_response(status, _describe_kinds(kinds), failure)
        described["content"]["application/json"]["examples"] = {
            kind.name: {"$ref": f"#/components/examples/{kind.name}"} for kind in kinds
        }
        responses[str(status)] = described
    return responses


def _describe_success(operation: Operation, components: Components) -> dict[str, Any]:
    if operation.file_types:
        return _describe_file(operation)
    if not operation.has_envelope:
        schema = components.get_schema(operation.result)
        return _describe_response(200, "Success.", schema, operation.example)
    body = {"error": None, "result": operation.example}
    return _describe_response(200, "Success.", components.wrap_result(operation.result), body)


def _describe_kinds(kinds: list[FailureKind]) -> str:
    return "\n\n".join(f"**{kind.name}** {kind.cause}" for kind in kinds)


def _describe_response(
    status: int, description: str, schema: Schema, example: Any = None
) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": schema}
    if example is not None:
        content["example"] = example
    names = ("X-Request-Id", *_HEADERS_BY_STATUS.get(status, ()))
    return {
        "description": description,
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
        "content": {"application/json": content},
    }


def _describe_file(operation: Operation) -> dict[str, Any]:
    described = _describe_response(200, "The file, without an envelope.", {})
    described["headers"]["Content-Disposition"] = {
        "description": "`attachment`, with the file name that debtors see.",
        "schema": {"type": "string"},
    }
    described["content"] = {each: {"schema": _FILE} for each in operation.file_types}
    return described


def _describe_webhook() -> dict[str, Any]:
    return {
        "operationId": "receiveEvent",
        "tags": [_WEBHOOK_TAG],
        "summary": "Receive an event",
        "description": _WEBHOOK,
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": refer_to("Event"),
                    "example": LIST_EVENTS.example["items"][0],
                }
            },
        },
        "responses": {
            "200": {"description": "The event was received. Any other 2xx response means the same."}
        },
        "security": [],
    }
