"""A response reports every fault of a body, and the largest bodies full of faults do not delay
other requests."""

import asyncio
import gc
import time
from typing import Any

import msgspec
import pytest

from tests.support.api import Api
from tests.support.claims import a_claim

_LONG = "x" * 2_001
_SWAPPED = {"itemDate": "2026-01-02", "dueDate": "2026-01-01"}


def list_faults(answer: Any) -> list[tuple[str, str]]:
    error = answer.json()["error"]
    return sorted((each["path"], each["code"]) for each in error["details"]["errors"])


async def test_a_wrong_type_does_not_hide_other_faults(api: Api) -> None:
    claim = a_claim(
        currency="ABC", language="qqq", mobileNumber="+9991234567", address={"country": "XX"},
        customerNumber=7,
    )  # fmt: skip
    claim["items"][0]["dueDate"] = "2026-01-01"

    answer = await api.nordwind.post("/claims", [claim, a_claim("INV-2")])

    first, second = answer.json()["result"]
    assert sorted(each["path"] for each in first["error"]["details"]["errors"]) == [
        "/address/country", "/currency", "/customerNumber", "/items/0/dueDate", "/language",
        "/mobileNumber",
    ]  # fmt: skip
    assert second["error"] is None


@pytest.mark.parametrize(
    ("path", "body", "faults"),
    [
        ("/claims/{}/items", {"reference": 5, "type": "FEE", "value": "0", **_SWAPPED},
         [("/dueDate", "WRONG_ORDER"), ("/reference", "WRONG_TYPE"), ("/type", "NOT_ALLOWED"),
          ("/value", "WRONG_FORMAT")]),
        ("/claims/{}/fees", {"value": 5, "itemId": 1.5, "itemDate": "today", "name": "x"},
         [("/itemDate", "WRONG_FORMAT"), ("/itemId", "WRONG_TYPE"), ("/name", "UNKNOWN_FIELD"),
          ("/type", "REQUIRED"), ("/value", "WRONG_TYPE")]),
        ("/claims/{}/payments", {"amount": 0, "transactionId": "a\x85", "paidAt": "yesterday"},
         [("/amount", "TOO_SMALL"), ("/currency", "REQUIRED"), ("/paidAt", "WRONG_FORMAT"),
          ("/transactionId", "CONTROL_CHARACTER")]),
        ("/claims/{}/disputes", {"type": "NO_REASON", "message": _LONG},
         [("/message", "TOO_LONG"), ("/type", "NOT_ALLOWED")]),
        ("/claims/{}/disputes", {"type": "OTHER", "reason": "x"},
         [("/message", "REQUIRED"), ("/reason", "UNKNOWN_FIELD")]),
        ("/claims/{}/disputes", {"type": "OTHER", "message": 5},
         [("/message", "WRONG_TYPE")]),
        ("/claims/{}/pause", {"until": "tomorrow", "reason": "a\nb"},
         [("/reason", "CONTROL_CHARACTER"), ("/until", "WRONG_FORMAT")]),
        ("/claims/{}/attachments", {"sourceType": "URL", "sources": "x"},
         [("/source", "REQUIRED"), ("/sourceType", "NOT_ALLOWED"), ("/sources", "UNKNOWN_FIELD")]),
        ("/events/replay",
         {"since": "2026-03-02T09:00:00Z", "until": "2026-03-01T09:00:00Z", "types": ["X"],
          "endpointId": "0195547A"},
         [("/endpointId", "WRONG_FORMAT"), ("/types/0", "NOT_ALLOWED"), ("/until", "WRONG_ORDER")]),
        ("/events/replay", {"since": "today", "until": "tomorrow", "types": []},
         [("/since", "WRONG_FORMAT"), ("/types", "TOO_FEW"), ("/until", "WRONG_FORMAT")]),
        ("/test-clock", {"advanceTo": "tomorrow", "by": 1},
         [("/advanceTo", "WRONG_FORMAT"), ("/by", "UNKNOWN_FIELD")]),
        ("/assignments/workflows/0195547a-1f40-7c3e-9a41-6f1f0c2f9d11", [0, "1", {"claimId": 1.5}],
         [("/0", "TOO_SMALL"), ("/1", "WRONG_TYPE"), ("/2/claimId", "WRONG_TYPE")]),
    ],
)  # fmt: skip
async def test_every_fault_of_a_body_is_reported_at_once(
    api: Api, path: str, body: Any, faults: list[tuple[str, str]]
) -> None:
    [claim_id] = await api.nordwind.create()

    answer = await api.nordwind.post(path.format(claim_id), body)

    assert answer.status_code == 422
    assert list_faults(answer) == faults


async def test_every_fault_of_an_answer_to_a_dispute_is_reported_at_once(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    opened = await api.nordwind.post(f"/claims/{claim_id}/disputes", {"type": "AMOUNT_WRONG"})
    path = f"/claims/{claim_id}/disputes/{opened.json()['result']['id']}/resolve"

    answer = await api.nordwind.post(
        path, {"outcome": "REJECTED", "endClaim": True, "message": "a\x80"}
    )

    assert answer.status_code == 422
    assert list_faults(answer) == [("/endClaim", "NOT_ALLOWED"), ("/message", "CONTROL_CHARACTER")]


async def test_a_change_reports_wrong_types_broken_rules_and_repeated_keys_at_once(
    api: Api,
) -> None:
    [claim_id] = await api.nordwind.create()
    body = (
        b'{"debtorName": 7, "language": "qqq", "address": {"country": "XX", "town": "x"},'
        b' "debtorLastName": null, "email": "a@example.org", "email": "b@example.org"}'
    )

    answer = await api.nordwind.send(
        "PATCH", f"/merchants/{api.nordwind.merchant_id}/claims/{claim_id}",
        content=body, headers={"Content-Type": "application/json"},
    )  # fmt: skip

    assert answer.status_code == 422
    assert list_faults(answer) == [
        ("/address/country", "UNKNOWN_COUNTRY"), ("/address/town", "UNKNOWN_FIELD"),
        ("/debtorLastName", "REQUIRED"), ("/debtorName", "WRONG_TYPE"), ("/email", "REPEATED"),
        ("/language", "UNKNOWN_LANGUAGE"),
    ]  # fmt: skip


async def test_a_claim_with_a_stored_control_character_can_be_changed_in_other_fields(
    api: Api,
) -> None:
    [claim_id] = await api.nordwind.create()
    async with api.resources.database.connection() as connection:
        await connection.execute("UPDATE debtors SET first_name = $1", "Eri\x85ka")
    path = f"/merchants/{api.nordwind.merchant_id}/claims/{claim_id}"

    answer = await api.nordwind.send("PATCH", path, json={"email": "new@example.org"})

    assert answer.status_code == 200
    assert answer.json()["result"]["email"] == "new@example.org"


async def test_an_integer_with_an_exponent_or_a_zero_fraction_is_accepted(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    payment = b'{"amount": 2.97e2, "currency": "EUR", "transactionId": "bank-1"}'
    workflow = f"/assignments/workflows/{api.version.workflow_id}"

    paid = await api.nordwind.post(
        f"/claims/{claim_id}/payments", content=payment,
        headers={"Content-Type": "application/json"},
    )  # fmt: skip
    assigned = await api.nordwind.post(
        workflow, content=b"[%d.0]" % claim_id, headers={"Content-Type": "application/json"}
    )

    assert paid.json()["result"]["amount"] == 297
    assert assigned.json()["result"][0]["claimId"] == claim_id


_ITEM = {"reference": "\x85", "type": "X", "value": "0", "itemDate": "x", "dueDate": 5}
# The claim, and how often a body of at most 10 MiB or 1,000 claims contains it.
_HOSTILE = {
    "faults of shape": (a_claim(items=[_ITEM] * 100), 1_000),
    "faults of rules": (
        a_claim(items=[{"reference": "a", "type": "DUNNING_FEE", "value": "1", **_SWAPPED}] * 100),
        1_000,
    ),
    "ten faults in each claim": (
        {**a_claim(currency="ABC", email=1, language="qqq"), **{f"x{n}": 1 for n in range(7)}},
        1_000,
    ),
    "very many fields": ({f"k{n}": 1 for n in range(19_000)}, 45),
}


@pytest.fixture
def collector() -> None:
    """Exclude existing objects from garbage collection, as a serving process does. In a process
    with many tests, collecting them takes longer than the work itself. They stay excluded, because
    gc.unfreeze would slow down all later tests."""
    gc.collect()
    gc.freeze()


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("kind", _HOSTILE)
async def test_a_body_full_of_faults_does_not_block_the_event_loop(api: Api, kind: str) -> None:
    claim, count = _HOSTILE[kind]
    body = msgspec.json.encode([claim] * count)
    assert len(body) < 10 * 1024 * 1024
    path = f"/api/merchants/{api.nordwind.merchant_id}/claims"
    headers = {
        "Authorization": f"Bearer {api.nordwind.token}", "Content-Type": "application/json",
    }  # fmt: skip
    longest, is_over = 0.0, asyncio.Event()

    async def watch() -> None:
        """Measure the processor time between two turns of this task in the event loop."""
        nonlocal longest
        while not is_over.is_set():
            began = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - began)

    watching = asyncio.create_task(watch())
    answer = await api.nordwind.http.post(path, content=body, headers=headers)
    is_over.set()
    await watching

    results = answer.json()["result"]
    assert len(results) == count
    assert all(each["error"]["details"]["errors"] for each in results)
    assert longest < 0.1
