"""The OpenAPI document as client generators read it: names, unions, files, no defaults."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import jsonschema
import msgspec
import pytest

from dunwell.core.events.body import KNOWN_EVENT_TYPES, EventActionStep
from dunwell.core.events.payloads import (
    Event,
    EventFeeData,
    EventHead,
    EventMandateData,
    EventPaymentData,
    EventReturnData,
    archived,
    checkpoint_reached,
    details_accessed,
    disputed,
    escalated,
    fee_added,
    mandate_changed,
    payment_completed,
    payment_in_progress,
    payment_modality_state_change,
    payment_refunded,
    payment_reversed,
)
from dunwell.interfaces.api.reference.document import build_document
from dunwell.interfaces.api.reference.fields import list_fields

Schema = dict[str, Any]

DOCUMENT = build_document()
SCHEMAS: Schema = DOCUMENT["components"]["schemas"]
REFERENCE = UUID("0195f3a0-0000-7000-8000-000000000002")
HEAD = EventHead(REFERENCE, 7, 41, 3, datetime(2026, 3, 2, tzinfo=UTC), "INV-1", "C-1")
ADDITION = msgspec.structs.replace(HEAD, sequence=None)
RETURNED = EventReturnData(
    payment_id=REFERENCE,
    provider_name="MOLLIE",
    transaction_id="tr_1",
    request_id=REFERENCE,
    movement_id="re_1",
    amount_cents=240,
    currency="EUR",
)
MANDATE = EventMandateData(
    mandate_id=REFERENCE, reference="M-1", provider_name="DIRECT_DEBIT", modality_id=REFERENCE
)
STEP = EventActionStep(5, "First reminder")
PAYMENT = EventPaymentData("sandbox", 10240, "EUR", REFERENCE)
EVENTS = [
    escalated(HEAD, STEP, "EMAIL", REFERENCE),
    fee_added(HEAD, STEP, EventFeeData(9, "DUNNING_FEE", 250, "EUR")),
    checkpoint_reached(HEAD, STEP, 3, "Call the debtor."),
    archived(HEAD),
    payment_in_progress(HEAD, PAYMENT, "RF18"),
    payment_completed(HEAD, PAYMENT, "tx-1"),
    details_accessed(HEAD, REFERENCE, "LETTER"),
    details_accessed(HEAD, REFERENCE),
    disputed(HEAD, "OTHER", REFERENCE, "It is not mine."),
    disputed(HEAD, "DEBTOR_ALREADY_PAID", REFERENCE),
    payment_modality_state_change(HEAD, "PAYMENT_PLAN", "APPROVED", REFERENCE),
    payment_reversed(ADDITION, RETURNED, "CHARGED_BACK"),
    payment_refunded(ADDITION, RETURNED, "REFUNDED", (REFERENCE, "SURPLUS")),
    payment_refunded(ADDITION, RETURNED, "REFUND_FAILED", None),
    mandate_changed(ADDITION, MANDATE, "ACTIVE"),
]


def list_operations() -> Iterator[Schema]:
    for operations in DOCUMENT["paths"].values():
        yield from operations.values()


def list_parts(schema: Any, where: str) -> Iterator[tuple[str, Schema]]:
    """Yield every schema within this one, following references."""
    if isinstance(schema, list):
        for each in schema:
            yield from list_parts(each, where)
    elif isinstance(schema, dict):
        yield where, schema
        if "$ref" in schema:
            yield from list_parts(SCHEMAS[schema["$ref"].rpartition("/")[2]], where)
        for name, each in schema.get("properties", {}).items():
            yield from list_parts(each, f"{where}/{name}")
        for keyword in ("items", "additionalProperties", "anyOf", "oneOf", "allOf"):
            yield from list_parts(schema.get(keyword), where)


def test_no_request_has_defaults_that_generators_turn_into_required_fields() -> None:
    sent = [
        (operation["operationId"], content["schema"])
        for operation in list_operations()
        for content in (
            *operation.get("parameters", ()),
            *operation.get("requestBody", {}).get("content", {}).values(),
        )
    ]
    parts = [part for name, schema in sent for part in list_parts(schema, name)]
    assert [where for where, part in parts if "default" in part] == []
    assert "createClaims/attachments/source" in {where for where, _ in parts}


def test_every_json_response_is_a_named_schema() -> None:
    for operation in list_operations():
        for status, answer in operation["responses"].items():
            for media_type, content in answer["content"].items():
                if media_type == "application/json":
                    where = (operation["operationId"], status)
                    assert content["schema"].keys() == {"$ref"}, where


def test_an_envelope_is_named_after_its_content() -> None:
    names = {name for name in SCHEMAS if name.endswith("Envelope")}
    assert {"ClaimEnvelope", "WorkflowMetadataListEnvelope", "NotFoundEnvelope"} <= names
    for name in names:
        held = SCHEMAS[name]["properties"]
        assert SCHEMAS[name]["required"] == ["error", "result"]
        null = {"$ref": "#/components/schemas/AlwaysNull"}
        [inner] = [each for each in held.values() if each != null]
        is_list = inner.get("type") == "array"
        element = inner["items"] if is_list else inner
        suffix = "ListEnvelope" if is_list else "Envelope"
        assert name == element["$ref"].rpartition("/")[2] + suffix


@pytest.mark.parametrize(
    "name", [name for name, each in SCHEMAS.items() if "discriminator" in each]
)
def test_every_union_has_a_constant_discriminator_in_each_branch(name: str) -> None:
    union = SCHEMAS[name]
    told_by = union["discriminator"]["propertyName"]
    mapping = union["discriminator"]["mapping"]
    assert [{"$ref": each} for each in mapping.values()] == union["oneOf"]
    for value, reference in mapping.items():
        branch = SCHEMAS[reference.rpartition("/")[2]]
        assert branch["properties"][told_by] == {"type": "string", "const": value}
        assert told_by in branch["required"]


def test_the_unions_are_events_and_errors() -> None:
    assert set(SCHEMAS["Event"]["discriminator"]["mapping"]) == set(KNOWN_EVENT_TYPES)
    assert {each.type for each in EVENTS} == set(KNOWN_EVENT_TYPES)
    assert SCHEMAS["EventList"]["properties"]["items"]["items"] == {
        "$ref": "#/components/schemas/Event"
    }
    received = DOCUMENT["webhooks"]["event"]["post"]["requestBody"]["content"]
    assert received["application/json"]["schema"] == {"$ref": "#/components/schemas/Event"}


def close(part: Any) -> Any:
    """Return the schemas with every object closed."""
    if isinstance(part, list):
        return [close(each) for each in part]
    if not isinstance(part, dict):
        return part
    closed = {name: close(each) for name, each in part.items()}
    return {"additionalProperties": False, **closed} if "properties" in part else closed


@pytest.mark.parametrize("event", EVENTS, ids=lambda each: each.type)
def test_an_event_matches_only_the_schema_of_its_type(event: Event) -> None:
    body = msgspec.json.decode(event.body)
    components = {"schemas": close(SCHEMAS)}
    fitting = [
        value
        for value, reference in SCHEMAS["Event"]["discriminator"]["mapping"].items()
        if jsonschema.Draft202012Validator({"$ref": reference, "components": components}).is_valid(
            {**body, "type": value}
        )
    ]
    assert fitting == [event.type]


@pytest.mark.parametrize("operation_id", ["downloadAttachment", "downloadDisputeFile"])
def test_a_download_is_binary_in_each_of_its_types(operation_id: str) -> None:
    [download] = [each for each in list_operations() if each["operationId"] == operation_id]
    content = download["responses"]["200"]["content"]
    assert set(content) == {"application/pdf", "image/jpeg", "image/png", "image/webp"}
    for each in content.values():
        assert each == {"schema": {"type": "string", "format": "binary"}}


def test_each_operation_has_its_own_name_and_description() -> None:
    operations = list(list_operations())
    tags = {each["name"] for each in DOCUMENT["tags"]}
    for part in ("operationId", "summary", "description"):
        assert len({each[part] for each in operations}) == len(operations)
    assert all(len(each["tags"]) == 1 and each["tags"][0] in tags for each in operations)


def test_the_reference_says_which_types_of_events_have_a_field() -> None:
    # The first field with a name, where several have it.
    listed = reversed(list(list_fields(SCHEMAS["Event"], SCHEMAS)))
    fields = {(each.depth, each.name): each for each in listed}
    assert fields[0, "type"].description.startswith("One of `ESCALATED`, ")
    assert fields[0, "eventId"].is_required
    assert fields[1, "fee"].description == "Only for `FEE_ADDED`."
    assert not fields[1, "fee"].is_required
    assert fields[1, "refund"].description == "Only for `PAYMENT_REFUNDED`."
    assert fields[2, "transactionId"].description == (
        "Only for `PAYMENT_COMPLETED`. The provider's transaction id."
    )


def test_a_text_or_null_is_one_schema_with_its_limits() -> None:
    name = SCHEMAS["ClaimSubmission"]["properties"]["debtorName"]
    assert name["type"] == ["string", "null"]
    assert name["maxLength"] == 255
    shown = {each.name: each.kind for each in list_fields(SCHEMAS["ClaimSubmission"], SCHEMAS)}
    assert shown["debtorName"] == "string or null"
    assert shown["dateOfBirth"] == "date or null"
