"""Two requests with the same Idempotency-Key are equal if method, path and body are equal."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from starlette.requests import Request

from dunwell.interfaces.api.idempotency import hash_request
from dunwell.platform.http.multipart import FormPart

USUAL: Mapping[str, Any] = {"method": "POST", "path": "/merchants/1/claims/7/fees", "body": b"{}"}


def digest(method: str, path: str, body: bytes, parts: Sequence[tuple[str, bytes]] = ()) -> bytes:
    request = Request({"type": "http", "method": method, "path": path, "headers": []})
    made = [FormPart(name, None, content) for name, content in parts]
    return hash_request(request, body, made)


def test_the_same_request_has_the_same_hash() -> None:
    assert digest(**USUAL) == digest(**USUAL)


@pytest.mark.parametrize(
    "changed",
    [
        {"method": "PUT"},
        {"path": "/merchants/1/claims/8/fees"},
        {"path": "/merchants/2/claims/7/fees"},
        {"body": b"{} "},
        {"path": "/merchants/1/claims/7/fees{", "body": b"}"},
        {"parts": [("a", b"1")]},
    ],
    ids=" ".join,
)
def test_every_part_of_a_request_changes_its_hash(changed: Mapping[str, Any]) -> None:
    assert digest(**{**USUAL, **changed}) != digest(**USUAL)


@pytest.mark.parametrize("other", [[("b", b"1")], [("a", b"2")], [("a1", b"")], []])
def test_the_names_and_contents_of_form_parts_change_the_hash(
    other: Sequence[tuple[str, bytes]],
) -> None:
    assert digest(**USUAL, parts=other) != digest(**USUAL, parts=[("a", b"1")])
