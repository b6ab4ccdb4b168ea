"""The OpenAPI document contains nothing that breaks generated clients."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from dunwell.interfaces.api.operation import Parameter
from dunwell.interfaces.api.reference.document import build_document
from dunwell.interfaces.api.reference.generator_rules import (
    CHOICES,
    get_choice_name,
    prepare_for_generators,
)
from tests.support.openapi_faults import find_generator_faults

Schema = dict[str, Any]
Change = Callable[[Schema], Any]

DOCUMENT = build_document()


def schema_of(document: Schema, name: str) -> Schema:
    found: Schema = document["components"]["schemas"][name]["properties"]
    return found


def operation_of(document: Schema, path: str, method: str) -> Schema:
    found: Schema = document["paths"][f"/merchants/{{merchant_id}}{path}"][method]
    return found


def share_tag(document: Schema) -> None:
    document["webhooks"]["event"]["post"]["tags"] = ["Events"]


def answer_range(document: Schema) -> None:
    answers = document["webhooks"]["event"]["post"]["responses"]
    answers["2XX"] = answers.pop("200")


def inline_enum(document: Schema) -> None:
    schema_of(document, "Claim")["status"] = {"type": "string", "enum": ["CREATED", "ARCHIVED"]}


def inline_nullable_enum(document: Schema) -> None:
    branches = [{"type": "string", "enum": ["MR", "MS"]}, {"type": "null"}]
    schema_of(document, "Claim")["salutation"] = {"anyOf": branches}


def inline_parameter_enum(document: Schema) -> None:
    [state] = [
        each
        for each in operation_of(document, "/disputes", "get")["parameters"]
        if each["name"] == "state"
    ]
    state["schema"] = {"type": "string", "enum": ["OPEN", "REJECTED"]}


def boolean_as_text(document: Schema) -> None:
    document["components"]["schemas"]["Flag"] = {"type": "string", "enum": ["true", "false"]}


def anonymous_null(document: Schema) -> None:
    schema_of(document, "ClaimEnvelope")["error"] = {"type": "null"}


def drop_format(document: Schema) -> None:
    del schema_of(document, "Claim")["id"]["format"]


def drop_parameter_format(document: Schema) -> None:
    del operation_of(document, "/claims", "get")["parameters"][0]["schema"]["format"]


def array_in_union(document: Schema) -> None:
    body = operation_of(document, "/assignments/workflows/{workflow_id}", "post")["requestBody"]
    content = body["content"]["application/json"]
    ids = {"type": "array", "items": {"type": "integer", "format": "int64"}}
    content["schema"] = {"anyOf": [content["schema"], ids]}


def drop_limit(document: Schema) -> None:
    content = operation_of(document, "/claims", "post")["requestBody"]["content"]
    del content["application/json"]["schema"]["maxItems"]


def patch_as_json(document: Schema) -> None:
    content = operation_of(document, "/claims/{claim_id}", "patch")["requestBody"]["content"]
    content["application/json"] = content.pop("application/merge-patch+json")


def two_media_types(document: Schema) -> None:
    content = operation_of(document, "/claims/{claim_id}", "patch")["requestBody"]["content"]
    content["application/merge-patch2+json"] = content["application/merge-patch+json"]


def drop_deprecation(document: Schema) -> None:
    del schema_of(document, "EventClaim")["executedAt"]["deprecated"]


def drop_link(document: Schema) -> None:
    del operation_of(document, "/claims", "post")["responses"]["200"]["links"]


def take_name(document: Schema) -> None:
    schemas = document["components"]["schemas"]
    schemas["ValidationError"] = schemas["ValidationFailure"]


FAULTS: dict[Change, str] = {
    share_tag: "webhook event: shares the tag Events with operations",
    answer_range: "event: status 2XX",
    inline_enum: "/components/schemas/Claim/properties/status: an enum without a name",
    inline_nullable_enum: "/components/schemas/Claim/properties/salutation: a branch of a union "
    "without a name",
    inline_parameter_enum: "/paths//merchants/{merchant_id}/disputes/get/parameters/1/schema: an "
    "enum without a name",
    boolean_as_text: "/components/schemas/Flag: a boolean as text",
    anonymous_null: "/components/schemas/ClaimEnvelope/properties/error: a null type without a "
    "name",
    drop_format: "/components/schemas/Claim/properties/id: an integer without a format",
    drop_parameter_format: "/paths//merchants/{merchant_id}/claims/get/parameters/0/schema: an "
    "integer without a format",
    array_in_union: "assignToWorkflow: a union as body",
    drop_limit: "createClaims: an array without limits as body",
    patch_as_json: "changeClaim: a merge patch as application/json",
    two_media_types: "changeClaim: several media types of one body",
    drop_deprecation: "EventClaim.executedAt: deprecated in words alone",
    drop_link: "createClaims: no link to readClaim",
    take_name: "ValidationError: taken name",
}


def test_the_document_has_nothing_that_breaks_generated_clients() -> None:
    assert find_generator_faults(DOCUMENT) == []


@pytest.mark.parametrize("plant", FAULTS, ids=lambda each: each.__name__)
def test_each_kind_of_fault_is_found(plant: Change) -> None:
    document = copy.deepcopy(DOCUMENT)

    plant(document)

    assert FAULTS[plant] in find_generator_faults(document)


def test_a_new_enum_without_a_name_is_refused() -> None:
    schema = {"type": "string", "enum": ["RED", "GREEN"]}
    parameter = Parameter(name="colour", place="query", description="", schema=schema)
    with pytest.raises(LookupError, match="The choice between RED, GREEN has no name"):
        prepare_for_generators({"schema": parameter.schema, "components": {"schemas": {}}})


def test_an_enum_has_one_name_in_any_order() -> None:
    assert get_choice_name(["SMS", "LETTER", "EMAIL"]) == "Channel"
    assert all(get_choice_name(values) == name for name, values in CHOICES.items())


def test_small_integers_have_32_bits_and_the_others_64() -> None:
    found = {each["name"]: each for each in operation_of(DOCUMENT, "/claims", "get")["parameters"]}
    assert found["limit"]["schema"]["format"] == "int32"
    assert found["merchant_id"]["schema"]["format"] == "int64"
    assert schema_of(DOCUMENT, "FeeRequest")["itemId"]["format"] == "int64"


def test_a_creation_result_is_a_created_claim_or_a_failed_one() -> None:
    union = DOCUMENT["components"]["schemas"]["ClaimCreationResult"]["oneOf"]
    assert [each["$ref"].rpartition("/")[2] for each in union] == ["FailedClaim", "CreatedClaim"]
    null = {"$ref": "#/components/schemas/AlwaysNull"}
    assert schema_of(DOCUMENT, "FailedClaim")["id"] == null
    assert schema_of(DOCUMENT, "CreatedClaim")["error"] == null
    assert schema_of(DOCUMENT, "CreatedClaim")["id"] == {"type": "integer", "format": "int64"}
