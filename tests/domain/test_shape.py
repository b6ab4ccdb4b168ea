"""Faults of a JSON value: all at once, each with its path and a helpful message."""

from datetime import date
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import find_faults, render_pointer, suggest_known

Digits = Annotated[str, msgspec.Meta(pattern="^[0-9]+$", description="a string of digits")]


class Walk(msgspec.Struct, tag_field="kind", tag="WALK", forbid_unknown_fields=True):
    steps: int


class Ride(msgspec.Struct, tag_field="kind", tag="RIDE", forbid_unknown_fields=True):
    line: str


class Trip(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    first_name: Annotated[str, msgspec.Meta(max_length=5)]
    price: Digits
    start_on: date | None = None
    channel: Literal["EMAIL", "SMS"] = "EMAIL"
    country: str | list[str] | None = None
    parts: Annotated[list[Walk | Ride], msgspec.Meta(max_length=3)] = []
    extra: dict[Literal["EMAIL", "SMS"], int] = {}
    sizes: dict[Digits, int] = {}


GOOD = {"firstName": "Ada", "price": "100"}


def faults_of(**changes: object) -> list[Fault]:
    return find_faults({**GOOD, **changes}, Trip)


def the_fault(**changes: object) -> Fault:
    faults = faults_of(**changes)
    assert len(faults) == 1
    return faults[0]


def test_a_valid_value_has_no_fault() -> None:
    assert faults_of(startOn="2026-03-01", country=["DE"], extra={"SMS": 1}) == []


def test_every_fault_is_reported_at_once() -> None:
    faults = find_faults({"price": 1, "firstnam": "Ada", "parts": [{"kind": "WALK"}]}, Trip)
    assert {fault.path for fault in faults} == {
        "/firstName", "/price", "/firstnam", "/parts/0/steps",
    }  # fmt: skip


def test_a_missing_field_is_pointed_at() -> None:
    assert find_faults({"price": "1"}, Trip) == [
        Fault("/firstName", '"firstName" is required.', "REQUIRED")
    ]


def test_several_missing_fields_are_named_once_each() -> None:
    assert [fault.path for fault in find_faults({}, Trip)] == ["/firstName", "/price"]


def test_an_unknown_field_names_the_nearest() -> None:
    fault = the_fault(chanel="SMS")
    assert fault.code == "UNKNOWN_FIELD"
    assert fault.message == '"chanel" is not known here. Did you mean "channel"?'


def test_an_unknown_field_without_a_near_one_lists_all() -> None:
    assert "Known: firstName, price, startOn" in the_fault(zzz=1).message


@pytest.mark.parametrize(
    ("changes", "path", "code", "message"),
    [
        ({"firstName": 3}, "/firstName", "WRONG_TYPE", "Expected a string, not an integer."),
        ({"firstName": None}, "/firstName", "WRONG_TYPE", "Expected a string, not null."),
        ({"firstName": "Adelheid"}, "/firstName", "TOO_LONG", "Use at most 5 characters."),
        ({"price": "1.5"}, "/price", "WRONG_FORMAT", "Expected a string of digits."),
        ({"startOn": 5}, "/startOn", "WRONG_TYPE", "Expected a string, not an integer."),
        ({"country": 5}, "/country", "WRONG_TYPE",
         "Expected a string or an array, not an integer."),
        ({"country": [5]}, "/country/0", "WRONG_TYPE", "Expected a string, not an integer."),
        ({"parts": {}}, "/parts", "WRONG_TYPE", "Expected an array, not an object."),
        ({"parts": [1]}, "/parts/0", "WRONG_TYPE", "Expected an object, not an integer."),
        ({"channel": "email"}, "/channel", "NOT_ALLOWED",
         '"email" is not allowed. Did you mean "EMAIL"? Known: EMAIL, SMS.'),
        ({"extra": {"FAX": 1}}, "/extra/FAX", "UNKNOWN_FIELD",
         '"FAX" is not a valid name here. "FAX" is not allowed. Known: EMAIL, SMS.'),
        ({"sizes": {"XL": 1}}, "/sizes/XL", "UNKNOWN_FIELD",
         '"XL" is not a valid name here. Expected a string of digits.'),
    ],
)  # fmt: skip
def test_each_kind_of_fault_has_its_message(
    changes: dict[str, object], path: str, code: str, message: str
) -> None:
    assert the_fault(**changes) == Fault(path, message, code)


def test_a_tagged_union_reports_only_the_branch_that_is_named() -> None:
    faults = faults_of(parts=[{"kind": "RIDE", "steps": 3}])
    assert faults == [
        Fault("/parts/0/line", '"line" is required.', "REQUIRED"),
        Fault("/parts/0/steps", '"steps" is not known here. Known: kind, line.', "UNKNOWN_FIELD"),
    ]


def test_a_tagged_union_without_its_tag_names_the_possible_tags() -> None:
    fault = the_fault(parts=[{"steps": 3}])
    assert fault == Fault("/parts/0/kind", '"kind" is required: one of WALK, RIDE.', "REQUIRED")


def test_an_unknown_tag_names_the_nearest_kind() -> None:
    fault = the_fault(parts=[{"kind": "WALKS", "steps": 3}])
    assert fault.path == "/parts/0/kind"
    assert fault.message == '"WALKS" is not known here. Did you mean "WALK"?'


@pytest.mark.parametrize("day", ["2026-02-30", "20260201", "yesterday"])
def test_an_invalid_day_is_refused(day: str) -> None:
    fault = the_fault(startOn=day)
    assert (fault.path, fault.code) == ("/startOn", "WRONG_FORMAT")


def test_a_value_of_another_type_is_a_fault_of_the_root() -> None:
    assert find_faults(["Ada"], Trip) == [
        Fault("", "Expected an object, not an array.", "WRONG_TYPE")
    ]


def test_pointers_escape_slash_and_tilde() -> None:
    assert render_pointer(["a/b", "c~d", 0]) == "/a~1b/c~0d/0"
    assert the_fault(**{"pri/ce": 1}).path == "/pri~1ce"


def test_an_object_without_known_fields_is_reported_plainly() -> None:
    assert suggest_known("x", []) == "None is known here."


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "firstName": json_values | st.just("Ada"),
            "price": json_values | st.just("100"),
            "startOn": json_values | st.dates().map(str),
            "country": json_values,
            "parts": json_values | st.just([{"kind": "WALK", "steps": 1}]),
        },
    )
)
def test_a_value_has_no_fault_exactly_when_it_converts(value: object) -> None:
    try:
        msgspec.convert(value, Trip)
    except msgspec.ValidationError:
        assert find_faults(value, Trip) != []
    else:
        assert find_faults(value, Trip) == []
