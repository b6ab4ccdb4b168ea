"""The limits of CONTRACT 1: a value at the limit is accepted, one above it is refused."""

import zlib
from typing import Any

import httpx
import pytest

from dunwell.interfaces.api.catalogue import ENDPOINTS
from tests.api.test_api_lists import make_mandate
from tests.support.api import Api
from tests.support.claims import DOCUMENT, a_claim
from tests.support.files import a_pdf, an_image

MIB = 1024 * 1024
JSON = {"Content-Type": "application/json"}
ITEM = DOCUMENT["items"][0]
TEXTS = (
    "referenceNumber", "debtorName", "debtorLastName", "companyName", "customerNumber",
    "contractNumber",
)  # fmt: skip
LISTS = [
    each.operation
    for each in ENDPOINTS
    if any(parameter.name == "limit" for parameter in each.operation.parameters)
]


def refusal_of(answer: httpx.Response) -> tuple[int, str, list[tuple[str, str, str]]]:
    """Return the status, type and faults of a refused request."""
    error = answer.json()["error"]
    return answer.status_code, error["type"], faults_of(error)


def faults_of(error: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(each["path"], each["code"], each["message"]) for each in error["details"]["errors"]]


def padded(claim: dict[str, Any], size: int) -> bytes:
    """Return a list of this claim as JSON of exactly `size` bytes."""
    content = httpx.Request("POST", "http://x", json=[claim]).content
    return content[:-1] + b" " * (size - len(content)) + b"]"


def a_picture(size: int) -> bytes:
    """Return a PNG of exactly `size` bytes, most of them in a chunk that readers ignore."""
    picture = an_image("PNG")
    body = bytes(size - len(picture) - 12)
    chunk = len(body).to_bytes(4) + b"duNw" + body + zlib.crc32(b"duNw" + body).to_bytes(4)
    end = picture.rindex(b"IEND") - 4
    return picture[:end] + chunk + picture[end:]


async def test_a_thousand_claims_are_accepted(api: Api) -> None:
    answer = await api.nordwind.post("/claims", [a_claim(f"A-{n}") for n in range(1000)])

    assert answer.status_code == 200
    assert [each["error"] for each in answer.json()["result"]] == [None] * 1000
    assert await api.count("claims") == 1000


async def test_a_thousand_and_one_claims_are_refused_as_a_whole(api: Api) -> None:
    answer = await api.nordwind.post("/claims", [a_claim(f"A-{n}") for n in range(1001)])

    message = "The array has 1001 claims; send at most 1000 per request."
    assert refusal_of(answer) == (422, "ValidationError", [("", "TOO_MANY", message)])
    assert await api.count("claims") == 0


async def test_ten_mebibytes_of_json_are_accepted(api: Api) -> None:
    answer = await api.nordwind.post("/claims", content=padded(a_claim(), 10 * MIB), headers=JSON)

    assert (answer.status_code, answer.json()["result"][0]["error"]) == (200, None)


async def test_json_of_one_byte_more_is_refused(api: Api) -> None:
    content = padded(a_claim(), 10 * MIB + 1)

    answer = await api.nordwind.post("/claims", content=content, headers=JSON)

    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (413, "PayloadTooLarge")
    assert error["details"] == {"limit": 10 * MIB}
    assert await api.count("claims") == 0


async def test_a_claim_has_at_most_a_hundred_items(api: Api) -> None:
    items = [{**ITEM, "reference": f"I-{n}"} for n in range(101)]
    claims = [a_claim("A-1", items=items[:100]), a_claim("A-2", items=items)]

    answer = await api.nordwind.post("/claims", claims)

    taken, refused = answer.json()["result"]
    assert (answer.status_code, taken["error"]) == (200, None)
    assert faults_of(refused["error"]) == [("/items", "TOO_MANY", "Give at most 100 of these.")]
    assert await api.count("items") == 100


async def test_the_hundred_and_first_item_is_refused(api: Api) -> None:
    [claim_id] = await api.nordwind.create(
        items=[{**ITEM, "reference": f"I-{n}"} for n in range(100)]
    )

    answer = await api.nordwind.post(
        f"/claims/{claim_id}/fees", {"type": "DUNNING_FEE", "value": "250"}
    )

    message = "The claim has 100 items; the maximum is 100."
    assert refusal_of(answer) == (422, "ValidationError", [("", "TOO_MANY", message)])
    assert await api.count("items") == 100


async def test_a_claim_is_created_with_at_most_twenty_files(api: Api) -> None:
    uploads = [await api.nordwind.upload("a.pdf", a_pdf()) for _ in range(21)]
    tickets = [each.json()["result"]["ticketId"] for each in uploads]
    named = [{"sourceType": "TICKET", "source": each} for each in tickets]
    claims = [a_claim("A-1", attachments=named[:20]), a_claim("A-2", attachments=named)]

    answer = await api.nordwind.post("/claims", claims)

    taken, refused = answer.json()["result"]
    fault = ("/attachments", "TOO_MANY", "Give at most 20 of these.")
    assert (answer.status_code, taken["error"]) == (200, None)
    assert faults_of(refused["error"]) == [fault]
    assert await api.count("attachments") == 20


async def test_a_file_of_ten_mebibytes_is_accepted(api: Api) -> None:
    picture = a_picture(10 * MIB)
    assert len(picture) == 10 * MIB

    answer = await api.nordwind.upload("a.png", picture)

    assert (answer.status_code, answer.json()["error"]) == (200, None)
    assert await api.count("uploads") == 1


async def test_a_file_of_one_byte_more_is_refused(api: Api) -> None:
    answer = await api.nordwind.upload("a.png", a_picture(10 * MIB + 1))

    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (413, "PayloadTooLarge")
    assert error["details"] == {"limit": 10 * MIB}
    assert await api.count("uploads") == 0


async def test_a_body_with_too_many_objects_gets_one_fault(api: Api) -> None:
    content = b'{"types":[' + b"{}," * 6_000 + b"{}]}"

    answer = await api.nordwind.post("/events/replay", content=content, headers=JSON)

    [(path, code, message)] = refusal_of(answer)[2]
    assert (answer.status_code, path, code) == (422, "", "TOO_MANY")
    assert message.startswith("The body has more than 3000 objects and lists")


@pytest.mark.parametrize("operation", LISTS, ids=lambda each: each.operation_id)
async def test_a_page_has_one_to_two_hundred_entries(api: Api, operation: Any) -> None:
    [claim_id] = await api.nordwind.create()
    mandate_id = await make_mandate(api, claim_id)
    path = operation.path.format(
        merchant_id=api.nordwind.merchant_id, claim_id=claim_id, mandate_id=mandate_id
    )
    fault = ("/limit", "WRONG_FORMAT", "Use an integer from 1 to 200.")

    for limit in ("1", "200"):
        answer = await api.nordwind.send("GET", path, params={"limit": limit})
        assert (answer.status_code, answer.json()["error"]) == (200, None)
    for limit in ("0", "201", "-1", "1.0", ""):
        answer = await api.nordwind.send("GET", path, params={"limit": limit})
        assert answer.status_code == 422
        assert refusal_of(answer)[2][0][0] == "/limit"
        assert limit == "" or refusal_of(answer) == (422, "ValidationError", [fault])


@pytest.mark.parametrize(("size", "status"), [(1, 200), (255, 200), (0, 400), (256, 400)])
async def test_a_key_has_one_to_255_characters(api: Api, size: int, status: int) -> None:
    answer = await api.nordwind.post("/claims", [a_claim()], key="k" * size)

    assert answer.status_code == status
    assert await api.count("claims") == await api.count("idempotency_keys") == (status == 200)
    if status == 400:
        assert answer.json()["error"] == {
            "type": "InvalidRequest",
            "message": "Idempotency-Key must have 1 to 255 printable ASCII characters. Use a UUID.",
            "details": {},
        }


async def test_texts_of_a_claim_have_at_most_255_characters(api: Api) -> None:
    def texts(size: int) -> dict[str, Any]:
        long = dict.fromkeys(TEXTS, "ä" * size)
        address = {"street": "ä" * size, "city": "ä" * size}
        return {
            **a_claim(),
            **long,
            "address": address,
            "items": [{**ITEM, "reference": "ä" * size}],
        }

    answer = await api.nordwind.post("/claims", [texts(255), texts(256)])

    taken, refused = answer.json()["result"]
    assert taken["error"] is None
    paths = [f"/{name}" for name in (*TEXTS, "items/0/reference", "address/street", "address/city")]
    message = "Use at most 255 characters."
    assert sorted(faults_of(refused["error"])) == sorted((p, "TOO_LONG", message) for p in paths)
    assert await api.count("claims") == 1


@pytest.mark.parametrize(
    ("path", "name", "body", "most"),
    [
        ("/payments", "transactionId", {"amount": 1, "currency": "EUR"}, 255),
        (
            "/payments",
            "providerName",
            {"amount": 1, "currency": "EUR", "transactionId": "t"},
            255,
        ),
        ("/items", "reference", {"type": "PRIMARY", "value": "1"}, 255),
        ("/fees", "reference", {"type": "DUNNING_FEE", "value": "1"}, 255),
        ("/disputes", "message", {"type": "OTHER"}, 2000),
        ("/pause", "reason", {}, 255),
    ],
)
async def test_texts_have_at_most_255_characters_and_messages_2000(
    api: Api, path: str, name: str, body: dict[str, Any], most: int
) -> None:
    [claim_id] = await api.nordwind.create()

    refused = await api.nordwind.post(f"/claims/{claim_id}{path}", {**body, name: "x" * (most + 1)})
    taken = await api.nordwind.post(f"/claims/{claim_id}{path}", {**body, name: "x" * most})

    fault = (f"/{name}", "TOO_LONG", f"Use at most {most} characters.")
    assert refusal_of(refused) == (422, "ValidationError", [fault])
    assert taken.status_code == 200


async def test_an_answer_to_a_dispute_has_at_most_2000_characters(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    opened = await api.nordwind.post(f"/claims/{claim_id}/disputes", {"type": "DEFECTIVE"})
    path = f"/claims/{claim_id}/disputes/{opened.json()['result']['id']}/resolve"

    refused = await api.nordwind.post(path, {"outcome": "REJECTED", "message": "x" * 2001})
    taken = await api.nordwind.post(path, {"outcome": "REJECTED", "message": "x" * 2000})

    fault = ("/message", "TOO_LONG", "Use at most 2000 characters.")
    assert refusal_of(refused) == (422, "ValidationError", [fault])
    assert taken.status_code == 200


async def test_a_friendly_name_has_at_most_255_characters(api: Api) -> None:
    async def upload(name: str) -> httpx.Response:
        form = {"friendlyName": (None, name), "fileName": ("a.pdf", a_pdf())}
        return await api.nordwind.post("/uploads", files=form)

    refused, taken = await upload("x" * 256), await upload("x" * 255)

    fault = ("/friendlyName", "TOO_LONG", "Use at most 255 characters.")
    assert refusal_of(refused) == (422, "ValidationError", [fault])
    assert (taken.status_code, await api.count("uploads")) == (200, 1)


async def test_at_most_a_thousand_claims_are_assigned_at_once(api: Api) -> None:
    path = f"/assignments/workflows/{api.version.workflow_id}"
    ids = list(range(10**9, 10**9 + 1001))

    tried = await api.nordwind.post(path, {"claimIds": ids[:1000]})
    refused = await api.nordwind.post(path, {"claimIds": ids})

    error = tried.json()["error"]
    assert (tried.status_code, error["type"]) == (422, "WorkflowAssignmentError")
    assert [each["claimId"] for each in error["details"]["errors"]] == ids[:1000]
    fault = ("/claimIds", "TOO_MANY", "Give at most 1000 of these.")
    assert refusal_of(refused) == (422, "ValidationError", [fault])
