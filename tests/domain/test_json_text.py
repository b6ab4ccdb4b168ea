"""Bodies that are valid JSON and still refused, and how many faults are reported."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.intake.check_claims import (
    RejectedSubmission,
    check_claims,
    has_each_key_once,
    parse_claims,
)
from dunwell.cases.intake.submission import ClaimSubmission
from dunwell.interfaces.api.address import Query
from dunwell.interfaces.api.reading import parse_body
from dunwell.interfaces.api.schemas.claims import FeeRequest
from dunwell.interfaces.api.schemas.workflows import AnyAssignmentRequest
from dunwell.platform.errors import Fault, InvalidRequest, ValidationError
from dunwell.platform.text.json_text import check_encoding, find_repeated_keys, has_no_repeated_keys
from dunwell.platform.text.shape import MAX_FAULTS, MORE_FAULTS, find_faults
from tests.support.claims import a_claim

_FULL: dict[str, Any] = {
    "companyName": "Hafen GmbH",
    "address": {"street": "Kai 1", "city": "Hamburg", "country": "DE"},
    "customFields": {"a": "1", "b": "2"},
    "attachments": [{"sourceType": "TICKET", "source": "x"}],
    "dateOfBirth": "1990-05-04",
}


def _text(value: Any) -> str:
    return json.dumps(value)


def _faults(body: str | bytes) -> list[list[Fault]]:
    read = check_claims(body if isinstance(body, bytes) else body.encode())
    return [each.error.faults if isinstance(each, RejectedSubmission) else [] for each in read]


def _codes(body: str | bytes) -> list[list[tuple[str, str]]]:
    return [[(fault.path, fault.code) for fault in each] for each in _faults(body)]


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ('"currency"', '"currency": "USD", "currency"', "/currency"),
        ('"value"', '"value": "99999", "value"', "/items/0/value"),
        ('"city"', '"city": "Bremen", "city"', "/address/city"),
        ('"a": "1"', '"a": "1", "a": "1"', "/customFields/a"),
        ('"sourceType"', '"sourceType": "TICKET", "sourceType"', "/attachments/0/sourceType"),
        ('"items": [', '"items": [], "items": [', "/items"),
        ('"currency":', '"currency" : "USD", "currency":', "/currency"),
        ('"email"', '"email": null, "email"', "/email"),
    ],
)
def test_a_repeated_key_is_refused_with_its_path(old: str, new: str, path: str) -> None:
    once = _text(a_claim(**_FULL, email="a@example.org"))
    assert old in once
    assert _codes(f"[{once}]") == [[]]
    twice = once.replace(old, new, 1)
    assert _codes(f"[{once}, {twice}]") == [[], [(path, "REPEATED")]]


def test_a_repeated_key_is_reported_together_with_other_faults() -> None:
    wrong = _text(a_claim(mail="x")).replace('"currency"', '"currency": "EUR", "currency"', 1)
    assert [each for each in _codes(f"[{wrong}]")[0] if each[1] == "REPEATED"] == [
        ("/currency", "REPEATED")
    ]
    assert ("/mail", "UNKNOWN_FIELD") in _codes(f"[{wrong}]")[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"email": None, "address": None},
        {"debtorName": 'He said "a": b'},
        {"debtorName": 'ends with a quote": '},
        {"debtorName": "colon : and more"},
        {"attachments": []},
        {"customFields": {'x"': "1"}},
    ],
)
def test_texts_that_look_like_keys_are_not_counted(changes: dict[str, Any]) -> None:
    assert _codes(f"[{_text(a_claim(**changes))}]") == [[]]


def test_the_quick_check_is_enough_for_an_ordinary_claim() -> None:
    text = _text(a_claim(**_FULL)).encode()
    claim = msgspec.json.decode(text, type=ClaimSubmission)
    assert has_each_key_once([claim], text)
    assert not has_each_key_once(
        [claim], text.replace(b'"currency"', b'"currency": "X", "currency"')
    )


def test_other_bodies_refuse_repeated_keys() -> None:
    body = b'{"type": "DUNNING_FEE", "value": "1", "value": "99999"}'
    with pytest.raises(ValidationError) as refused:
        parse_body(body, FeeRequest)
    assert [(each.path, each.code) for each in refused.value.faults] == [("/value", "REPEATED")]


# Texts without the characters that surround a key.
_PLAIN = st.text(st.characters(exclude_characters='":', exclude_categories=["Cs"]))


def _values(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        st.none() | st.booleans() | st.integers() | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=8,
    )


@given(_values(st.text(st.characters(exclude_categories=["Cs"]))))
def test_encoded_json_has_no_repeated_keys(value: Any) -> None:
    assert list(find_repeated_keys(msgspec.json.encode(value))) == []


@given(_values(_PLAIN))
def test_the_quick_check_counts_every_key_of_plain_texts(value: Any) -> None:
    assert has_no_repeated_keys(value, msgspec.json.encode(value))


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("[]".encode("utf-16"), "UTF-16"),
        ("[]".encode("utf-16-be"), "UTF-16"),
        ("[]".encode("utf-16-le"), "UTF-16"),
        ("[]".encode("utf-32-le"), "UTF-16"),
        ("[]".encode("utf-8-sig"), "mark"),
    ],
)
def test_another_encoding_is_named(body: bytes, word: str) -> None:
    with pytest.raises(InvalidRequest, match=word):
        check_encoding(body)


def test_utf_8_is_accepted() -> None:
    check_encoding("[ü]".encode())
    check_encoding(b"")


def test_the_faults_of_a_claim_are_limited_with_a_note_that_there_may_be_more() -> None:
    [faults] = _faults(_text([a_claim(items=[{}] * 100)]))
    assert len(faults) == MAX_FAULTS
    assert faults[-1] == MORE_FAULTS
    assert MORE_FAULTS not in faults[:-1]


def test_all_faults_up_to_the_limit_are_reported() -> None:
    names: dict[str, Any] = {f"x{n}": 1 for n in range(MAX_FAULTS)}
    faults = find_faults(a_claim(**names), ClaimSubmission)
    assert (len(faults), MORE_FAULTS in faults) == (MAX_FAULTS, False)
    more = find_faults(a_claim(**names, y=1), ClaimSubmission)
    assert (len(more), more[-1]) == (MAX_FAULTS, MORE_FAULTS)


def test_at_most_ten_thousand_faults_of_a_request_are_reported() -> None:
    faults = _faults(_text([a_claim(items=[{}] * 100)] * 130))
    assert [len(each) for each in faults] == [100] * 100 + [1] * 30
    assert all(each == [MORE_FAULTS] for each in faults[100:])


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"items": [{}] * 25_000}, ""),
        ({"items": [{}] * 2_000}, "/items"),
        ({"items": [a_claim()["items"][0]] * 101}, "/items"),
        ({"customFields": {f"k{n}": "v" for n in range(51)}}, "/customFields"),
        ({"attachments": _FULL["attachments"] * 21}, "/attachments"),
        ({f"k{n}": 1 for n in range(5_000)}, ""),
    ],
)
def test_a_value_that_is_too_large_is_refused_before_its_faults_are_listed(
    changes: dict[str, Any], path: str
) -> None:
    [faults] = _codes(_text([a_claim(**changes)]))
    assert faults[0] == (path, "TOO_MANY")
    assert len(faults) <= MAX_FAULTS


@pytest.mark.parametrize("element", [b"{},", b"[],", b"1,"])
def test_megabytes_of_white_space_are_not_parsed(element: bytes) -> None:
    with pytest.raises(ValidationError) as refused:
        next(parse_claims(b"[" + element * 3_000_000 + b"1]"))
    assert "commas" in refused.value.message


def test_a_claim_larger_than_all_its_fields_is_not_parsed() -> None:
    [large, other] = check_claims(_text([a_claim(debtorName="a" * 1_100_000), a_claim()]).encode())
    assert isinstance(large, RejectedSubmission)
    assert [fault.code for fault in large.error.faults] == ["TOO_LONG"]
    assert "1048576" in large.error.faults[0].message
    assert not isinstance(other, RejectedSubmission)


def test_other_bodies_have_a_size_limit() -> None:
    for body in (b"[" * 100_000, b"[" + b"1," * 6_000_000 + b"1]"):
        with pytest.raises(ValidationError) as refused:
            parse_body(body, FeeRequest)
        assert [each.code for each in refused.value.faults] == ["TOO_MANY"]
        assert "commas" in refused.value.message


def test_the_largest_allowed_request_is_parsed() -> None:
    item = {"reference": "a", "type": "PRIMARY", "value": "1"}
    claims = [a_claim(referenceNumber=f"R{n}", items=[item] * 100) for n in range(1_000)]
    assert not any(
        isinstance(each, RejectedSubmission) for each in parse_claims(msgspec.json.encode(claims))
    )


def test_references_are_compared_in_their_normalised_form() -> None:
    [trimmed, composed] = check_claims(
        msgspec.json.encode([
            a_claim(referenceNumber="  A-1 "),
            a_claim(referenceNumber="Mu\u0308ller"),
        ])
    )  # fmt: skip
    assert (trimmed.reference_number, composed.reference_number) == ("A-1", "Müller")


def _read_item_id(number: str) -> int | None:
    body = f'{{"type": "DUNNING_FEE", "value": "1", "itemId": {number}}}'.encode()
    return parse_body(body, FeeRequest).item_id


@pytest.mark.parametrize(
    ("number", "item_id"),
    [
        ("297", 297),
        ("297.0", 297),
        ("2.97e2", 297),
        ("29700E-2", 297),
        # Beyond the precision of a floating-point number.
        ("9007199254740993.0", 9_007_199_254_740_993),
        ("9.223372036854775807e18", 2**63 - 1),
        ("1." + "0" * 10_000, 1),
    ],
)
def test_a_number_is_an_integer_however_it_is_spelled(number: str, item_id: int) -> None:
    assert _read_item_id(number) == item_id


@pytest.mark.parametrize(
    ("number", "code"),
    [
        ("7.5", "WRONG_TYPE"),
        ("9007199254740993.5", "WRONG_TYPE"),
        ("1e-999999999999999999999", "WRONG_TYPE"),
        ("1e999999999", "WRONG_TYPE"),
        ("9.223372036854775808e18", "TOO_LARGE"),
        ("0.0", "TOO_SMALL"),
        ("-1e3", "TOO_SMALL"),
        ("true", "WRONG_TYPE"),
        ('"297"', "WRONG_TYPE"),
    ],
)
def test_an_invalid_integer_is_refused(number: str, code: str) -> None:
    with pytest.raises(ValidationError) as refused:
        _read_item_id(number)
    assert [(each.path, each.code) for each in refused.value.faults] == [("/itemId", code)]


def test_a_list_of_integers_accepts_each_spelling() -> None:
    shape: Any = AnyAssignmentRequest
    assert parse_body(b"[1.0, 2e0]", shape) == [1, 2]
    assert parse_body(b'{"claimIds": [1.0, 2e0]}', shape).claim_ids == [1, 2]
    assert parse_body(b'[{"claimId": 3.0}]', shape)[0].claim_id == 3


def test_an_unencoded_plus_in_a_query_is_explained() -> None:
    query = Query(b"since=2026-03-02T09:00:00+01:00")
    query.instant("since")
    with pytest.raises(ValidationError) as refused:
        query.check()
    assert "%2B" in refused.value.faults[0].message
