"""Concurrent requests share statements, and each gets its own response."""

import asyncio
from collections.abc import Sequence

import httpx

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Api, Client, a_client
from tests.support.claims import a_claim
from tests.support.harness import a_harness
from tests.support.recorded_statements import a_counted_api
from tests.support.web_processes import Web

_REFERENCES = "SELECT merchant_id, claim_id, reference_number FROM claims WHERE merchant_id = $1"


async def test_concurrent_requests_of_many_merchants_create_their_own_claims(
    api: Api, resources: Resources, clock: MovableClock
) -> None:
    harnesses = [await a_harness(resources, clock, key=f"shop-{n}") for n in range(8)]
    clients = [await a_client(api.nordwind.http, harness) for harness in harnesses]
    strangers = [
        api.nordwind.http.post(f"/api/merchants/{harness.merchant.merchant_id}/claims", json=[])
        for harness in harnesses
    ]

    async def post(client: Client, n: int) -> tuple[str, int]:
        answer = await client.post("/claims", [a_claim(f"A-{n}")])
        [result] = answer.json()["result"]
        assert result["error"] is None
        return result["referenceNumber"], result["id"]

    async def post_all(client: Client) -> dict[str, int]:
        return dict(await asyncio.gather(*(post(client, n) for n in range(12))))

    refused = asyncio.gather(*strangers)
    answers = await asyncio.gather(*map(post_all, clients))

    assert [each.status_code for each in await refused] == [401] * 8
    for harness, created in zip(harnesses, answers, strict=True):
        rows = await harness.rows(_REFERENCES)
        assert {row["reference_number"]: row["claim_id"] for row in rows} == created


async def test_a_token_gives_no_access_to_another_merchant_in_the_same_lookup(api: Api) -> None:
    own, other = api.nordwind, api.hansen
    paths = [own.merchant_id, other.merchant_id, 999_999] * 5
    answers = await asyncio.gather(
        *(own.send("GET", f"/merchants/{each}/events") for each in paths),
        *(own.send("GET", f"/merchants/{each}/events", token="dwt_x") for each in paths),
    )
    assert [each.status_code for each in answers] == [200, 404, 404] * 5 + [401] * 15


async def test_tokens_of_concurrent_requests_are_checked_in_one_statement(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_counted_api(resources, clock) as (api, statements):
        await api.nordwind.get("/test-clock")
        await statements.take()
        await asyncio.gather(*(api.nordwind.get("/test-clock") for _ in range(20)))
        sent = await statements.take()
    # The first request arrives while no other one waits, so it may have its own statement.
    assert len(sent) <= 2, sent


async def test_a_token_is_checked_after_its_request_arrived(
    api: Api, resources: Resources, clock: MovableClock
) -> None:
    """This holds for any number of lookups in progress when the credential is revoked."""
    for n in range(5):
        client = await a_client(api.nordwind.http, await a_harness(resources, clock, key=f"x-{n}"))
        under_way = [asyncio.create_task(api.nordwind.get("/events")) for _ in range(10)]
        under_way += [asyncio.create_task(client.get("/events")) for _ in range(10)]
        async with resources.database.transaction() as tx:
            await tx.execute(
                "UPDATE credentials SET revoked_at = now() WHERE client_id = $1",
                client.credential.client_id,
            )
        assert (await client.get("/events")).status_code == 401
        await asyncio.gather(*under_way)


async def test_concurrent_requests_with_and_without_a_key_each_have_an_effect(api: Api) -> None:
    async def post(n: int, key: str | None) -> int:
        answer = await api.nordwind.post("/claims", [a_claim(f"A-{n}")], key=key)
        [result] = answer.json()["result"]
        assert result["error"] is None
        created: int = result["id"]
        return created

    ids = await asyncio.gather(*(post(n, f"k-{n}" if n % 2 else None) for n in range(20)))

    assert len(set(ids)) == await api.count("claims") == 20
    assert await api.count("idempotency_keys") == 10
    assert await api.count("audit_log WHERE action = 'claims.create'") == 20


async def test_two_processes_create_each_claim_once(api: Api, webs: Sequence[Web]) -> None:
    path = f"/api/merchants/{api.nordwind.merchant_id}/claims"
    token = webs[0].token_of(api.nordwind.credential)
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http:
        answers = await asyncio.gather(
            *(
                http.post(f"{web.origin}{path}", json=[a_claim(f"A-{n}")])
                for n in range(60)
                for web in webs
            )
        )

    results = [each.json()["result"][0] for each in answers]
    created = {each["referenceNumber"]: each["id"] for each in results if each["error"] is None}
    assert len(created) == len(set(created.values())) == await api.count("claims") == 60
    for each in results:
        if each["error"] is not None:
            assert each["error"]["type"] == "DuplicateReferenceNumber"
            assert each["error"]["details"]["claimId"] == created[each["referenceNumber"]]
