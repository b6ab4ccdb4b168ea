"""One rule for control characters in every text.

No control character is accepted, including U+0080 to U+009F; line breaks and tabs only in multiline
texts.
"""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from dunwell.cases.disputes.reasons import DisputeType, OfferedReason
from dunwell.interfaces.api.catalogue import OPERATIONS
from dunwell.interfaces.api.reference.document import build_document
from dunwell.interfaces.api.schemas.events import ReplayRequest
from dunwell.interfaces.api.schemas.payments import PaymentRequest
from dunwell.interfaces.landing.disputes.dispute_form import extract_fields
from dunwell.platform.errors import ValidationError
from dunwell.platform.text.shape import find_faults
from dunwell.platform.text.texts import check_printable, find_unprintable, is_line, is_printable
from dunwell.platform.text.wire import LINE, LINES

_CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
_BREAKS = "\n\r\t"
_BODIES = {
    each.operation_id: each
    for each in OPERATIONS
    if each.body is not None and each.body.media_type == "application/json"
}
_DOCUMENT = build_document()


@pytest.mark.parametrize("control", _CONTROLS, ids=ascii)
def test_a_control_character_is_refused_in_every_kind_of_request(control: str) -> None:
    text, may_stay = f"a{control}b", control in _BREAKS
    assert not re.search(LINE, text)
    assert not re.search(LINE, control)
    assert not is_line(text)
    assert bool(re.search(LINES, text)) is may_stay
    assert is_printable(text) is may_stay
    assert (list(find_unprintable({"a": [text]})) == []) is may_stay
    if not may_stay:
        with pytest.raises(ValidationError):
            check_printable(text, "text")


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_every_other_character_is_accepted(text: str) -> None:
    assert re.search(LINE, text)
    assert re.search(LINES, text)
    assert is_printable(text)


def _list_texts(kind: Any, path: str, seen: tuple[type, ...] = ()) -> Iterator[tuple[str, Any]]:
    if isinstance(kind, inspect.Metadata):
        yield from _list_texts(kind.type, path, seen)
    elif isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _list_texts(each, path, seen)
    elif isinstance(kind, inspect.StructType) and kind.cls not in seen:
        for field in kind.fields:
            yield from _list_texts(field.type, f"{path}/{field.encode_name}", (*seen, kind.cls))
    elif isinstance(kind, inspect.DictType):
        yield from _list_texts(kind.key_type, f"{path}/(name)", seen)
        yield from _list_texts(kind.value_type, f"{path}/*", seen)
    elif isinstance(kind, inspect.ListType):
        yield from _list_texts(kind.item_type, f"{path}/*", seen)
    elif isinstance(kind, inspect.StrType):
        yield path, kind


def _is_taken(kind: inspect.StrType, text: str) -> bool:
    return kind.pattern is None or re.search(kind.pattern, text) is not None


@pytest.mark.parametrize("operation_id", _BODIES)
def test_no_text_of_a_request_accepts_a_control_character(operation_id: str) -> None:
    body = _BODIES[operation_id].body
    assert body is not None
    for path, kind in _list_texts(inspect.type_info(body.shape), ""):
        taken = [each for each in _CONTROLS if _is_taken(kind, each) or _is_taken(kind, f"a{each}")]
        assert set(taken) <= set(_BREAKS), path


def _list_patterns(schema: Any) -> Iterator[Any]:
    if isinstance(schema, dict):
        if schema.get("type") == "string" or "string" in (schema.get("type") or ()):
            yield schema
        for inner in schema.values():
            yield from _list_patterns(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _list_patterns(inner)


@pytest.mark.parametrize("name", ["ClaimSubmission", "ContactPatch", "DisputeRequest", "Rejection"])
def test_the_openapi_document_has_the_rule(name: str) -> None:
    texts = [
        each
        for each in _list_patterns(_DOCUMENT["components"]["schemas"][name])
        if not {"enum", "const", "format"} & each.keys()
    ]
    assert texts
    for schema in texts:
        only = {"type": "string", "pattern": schema["pattern"]}
        for control in set(_CONTROLS) - set(_BREAKS):
            assert not jsonschema.Draft202012Validator(only).is_valid(f"a{control}")


def test_control_characters_are_removed_from_a_debtors_answer() -> None:
    reason = OfferedReason(DisputeType.OTHER, DisputeType.OTHER, {}, is_hidden=False)
    assert extract_fields(reason, {"message": "a\x85b\x9f\x00c\nd"}) == {"message": "abc\nd"}


def test_a_line_break_after_a_code_or_id_is_refused() -> None:
    payment = {"amount": 1, "currency": "EUR\n", "transactionId": "x"}
    replay = {"since": "2026-03-02T09:00:00Z", "endpointId": f"{UUID(int=1)}\n"}
    assert [each.path for each in find_faults(payment, PaymentRequest)] == ["/currency"]
    assert [each.path for each in find_faults(replay, ReplayRequest)] == ["/endpointId"]
