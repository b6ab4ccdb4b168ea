"""The lists of one claim: payments, payment requests and disputes."""

from typing import Any

import pytest

from dunwell.cases.payments.record_payment import NewPayment, record_payment
from tests.support.api import Api
from tests.support.disputes import dispute
from tests.support.harness import ERP

_REQUESTS = """
INSERT INTO payment_requests (merchant_id, request_id, claim_id, provider, provider_name,
                              amount_cents, currency, reference, state, created_at,
                              settled_at)
VALUES ($1, gen_random_uuid(), $2, 'sandbox', 'sandbox', 100, 'EUR', 'x', 'FAILED', now(), now())
RETURNING request_id
"""


async def pay(api: Api, claim_id: int, number: int) -> str:
    async with api.harness.work() as work:
        recorded = await record_payment(work, claim_id, NewPayment(100, "EUR", f"t-{number}"))
    return str(recorded.payment.payment_id)


async def dispute_claim(api: Api, claim_id: int, _number: int) -> str:
    return str((await dispute(api.harness, claim_id, actor=ERP)).dispute_id)


async def begin(api: Api, claim_id: int, _number: int) -> str:
    [row] = await api.harness.rows(_REQUESTS, claim_id)
    return str(row["request_id"])


async def read_pages(api: Api, path: str, limit: int) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = []
    params: dict[str, Any] = {"limit": limit}
    while True:
        answer = await api.nordwind.get(path, params=params)
        assert answer.status_code == 200, answer.text
        page = answer.json()["result"]
        assert 1 <= len(page["items"]) <= limit
        read += page["items"]
        if page["nextCursor"] is None:
            return read
        params["cursor"] = page["nextCursor"]


@pytest.mark.parametrize(
    ("part", "add"), [("payments", pay), ("payment-requests", begin), ("disputes", dispute_claim)]
)
@pytest.mark.parametrize("limit", [2, 200])
async def test_pages_contain_the_claims_entries_once_newest_first(
    api: Api, part: str, add: Any, limit: int
) -> None:
    own, other = await api.nordwind.create("A-1", "A-2")
    added = [await add(api, (own, other)[number % 2], number) for number in range(10)]
    listed = await read_pages(api, f"/claims/{own}/{part}", limit)
    assert [each["id"] for each in listed] == added[::2][::-1]
    over_all = await read_pages(api, f"/{part}", 200)
    for each in listed:
        [found] = [one for one in over_all if one["id"] == each["id"]]
        assert found.items() >= each.items()
    for each in listed:
        answer = await api.nordwind.get(f"/claims/{own}/{part}/{each['id']}")
        assert answer.json()["result"] == each
        answer = await api.nordwind.get(f"/claims/{other}/{part}/{each['id']}")
        assert answer.status_code == 404


async def test_a_cursor_of_another_claim_or_list_is_refused(api: Api) -> None:
    own, other = await api.nordwind.create("A-1", "A-2")
    for claim_id in (own, other):
        for number in range(2):
            await pay(api, claim_id, number)
            await begin(api, claim_id, number)
    page = (await api.nordwind.get(f"/claims/{own}/payments?limit=1")).json()["result"]
    for path in (f"/claims/{other}/payments", f"/claims/{own}/payment-requests", "/payments"):
        answer = await api.nordwind.get(path, params={"cursor": page["nextCursor"]})
        assert answer.status_code == 422, path


async def test_a_reversed_payment_is_listed_with_its_reversal(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    payment_id = await pay(api, claim_id, 1)
    await api.nordwind.post(f"/claims/{claim_id}/payments/{payment_id}/reverse")
    [listed] = await read_pages(api, f"/claims/{claim_id}/payments", 50)
    assert (listed["id"], listed["reversedAt"]) == (payment_id, "2026-03-02T09:00:00.000Z")


@pytest.mark.parametrize("part", ["payments", "payment-requests", "disputes", "payment-modalities"])
async def test_an_unknown_claim_is_reported_before_its_unknown_parts(api: Api, part: str) -> None:
    for address in (part, f"{part}/01955a1c-0c00-7e55-b1a4-0d6c1e1f2a33"):
        answer = await api.nordwind.get(f"/claims/999999/{address}")
        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == "There is no claim 999999."
