"""The number of statements of an operation does not depend on the number of rows: each operation is
tried with few rows and with many."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from dunwell.interfaces.api.catalogue import ENDPOINTS
from dunwell.interfaces.api.operation import Operation
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Api, an_api
from tests.support.claims import a_claim
from tests.support.crowded_claim import CrowdedClaim, a_crowded_claim, find_id
from tests.support.disputes import dispute, give_evidence
from tests.support.files import a_pdf
from tests.support.harness import ERP
from tests.support.modalities import OFFERING, Arrangement
from tests.support.recorded_statements import Statements, a_counted_api, a_counted_database

FEW, MANY = 1, 12
_ITEM = {"reference": "x", "type": "PRIMARY", "value": "1"}
_ATTACHMENT = "SELECT attachment_id FROM attachments WHERE merchant_id = $1 AND claim_id = $2"
_SENT = "SELECT communication_id FROM communications WHERE merchant_id = $1 AND claim_id = $2"
_PAYMENT = "SELECT payment_id FROM payments WHERE merchant_id = $1 AND claim_id = $2"
_REQUEST = """
INSERT INTO payment_requests (merchant_id, request_id, claim_id, provider, provider_name,
                              amount_cents, currency, reference, state, created_at, settled_at)
SELECT $1, gen_random_uuid(), $2, 'sandbox', 'sandbox', 1, 'EUR', 'x', 'FAILED', now(), now()
RETURNING request_id
"""
# The payout has all movements of the claim. $2 is the claim.
_PAYOUT = """
INSERT INTO provider_payouts (merchant_id, record_id, provider, payout_id, amount_cents, fees_cents,
                     currency, paid_at, movements, recorded_at)
SELECT $1, gen_random_uuid(), min(provider), 'po-' || $2::bigint, 1, 0, 'EUR', now(),
       jsonb_agg(jsonb_build_array(movement_id, amount_cents)), now()
FROM payment_movements
WHERE merchant_id = $1 AND claim_id = $2
RETURNING record_id
"""
# A provider has received one of the payments.
_RECEIVED = """
WITH asked AS (
    SELECT request_id FROM payment_requests WHERE merchant_id = $1 AND claim_id = $2 LIMIT 1
), moved AS (
    UPDATE payment_movements SET request_id = asked.request_id
    FROM asked
    WHERE merchant_id = $1 AND claim_id = $2 AND movement_id = (
        SELECT max(movement_id) FROM payment_movements WHERE merchant_id = $1 AND claim_id = $2)
    RETURNING payment_id
)
UPDATE payments SET request_id = asked.request_id
FROM moved, asked
WHERE merchant_id = $1 AND payments.payment_id = moved.payment_id
RETURNING payments.payment_id
"""
_DISPUTE = "SELECT dispute_id FROM disputes WHERE merchant_id = $1 AND claim_id = $2"
_MANDATE = (
    "SELECT mandate_id FROM mandates WHERE merchant_id = $1 AND claim_id = $2 ORDER BY reference"
)
_MODALITY = "SELECT modality_id FROM payment_modalities WHERE merchant_id = $1 AND claim_id = $2"
_EVENT = "SELECT event_id FROM events WHERE merchant_id = $1 AND claim_id = $2"
_PAYMENT_OF_ALL = """
WITH spread AS (SELECT item_id FROM items WHERE merchant_id = $1 AND claim_id = $2),
paid AS (
    INSERT INTO payments (merchant_id, payment_id, claim_id, amount_cents, currency,
                          transaction_id, paid_at, recorded_at)
    SELECT $1, gen_random_uuid(), $2, count(*), 'EUR', 'all', now(), now() FROM spread
    RETURNING payment_id
),
shared AS (
    INSERT INTO allocations (merchant_id, claim_id, payment_id, item_id, amount_cents)
    SELECT $1, $2, payment_id, item_id, 1 FROM paid, spread
)
SELECT payment_id FROM paid
"""
_FEES = """
WITH item AS (
    INSERT INTO items (merchant_id, claim_id, position, type, value_cents)
    VALUES ($1, $2, 500, 'PRIMARY', 500)
    RETURNING item_id
), fees AS (
    INSERT INTO items (merchant_id, claim_id, position, type, value_cents, fee_of)
    SELECT $1, $2, 500 + n, 'DUNNING_FEE', 5, item_id FROM item, generate_series(1, $3) n
)
SELECT item_id FROM item
"""
_UNASSIGN = """
UPDATE claims SET workflow_id = NULL, workflow_major = NULL, due_at = NULL, next_step_id = NULL,
    status = 'CREATED'
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[])
"""

# The parts of a request besides the claim's id: further ids in the path, and what the request
# carries.
Asked = dict[str, Any]
Case = Callable[[Api, CrowdedClaim], Awaitable[Asked]]


def plain(**asked: Any) -> Case:
    """Return a case with the same request for every claim."""

    async def ask(_api: Api, _crowded_claim: CrowdedClaim) -> Asked:
        return asked

    return ask


def by_id(name: str, statement: str, **asked: Any) -> Case:
    """Return a case for a part of the claim that a statement finds."""

    async def ask(api: Api, crowded_claim: CrowdedClaim) -> Asked:
        return {name: await find_id(api, statement, crowded_claim.claim_id), **asked}

    return ask


async def create(_api: Api, crowded_claim: CrowdedClaim) -> Asked:
    numbers = range(crowded_claim.size)
    return {
        "json": [
            a_claim(
                f"n{crowded_claim.claim_id}-{n}",
                items=[a_claim()["items"][0]] * crowded_claim.size,
                email=f"n{n}@example.org",
                attachments=[crowded_claim.ticket],
            )
            for n in numbers
        ]
    }  # fmt: skip


async def attach(api: Api, _crowded_claim: CrowdedClaim) -> Asked:
    uploaded = await api.nordwind.upload("a.pdf", a_pdf())
    ticket = {"sourceType": "TICKET", "source": uploaded.json()["result"]["ticketId"]}
    return {"json": ticket}


async def replace(api: Api, crowded_claim: CrowdedClaim) -> Asked:
    found = await find_id(api, _ATTACHMENT + " ORDER BY position LIMIT 1", crowded_claim.claim_id)
    return {"attachment_id": found, **await attach(api, crowded_claim)}


async def resume(api: Api, crowded_claim: CrowdedClaim) -> Asked:
    await api.nordwind.post(f"/claims/{crowded_claim.claim_id}/pause")
    return {}


async def delete_item(api: Api, crowded_claim: CrowdedClaim) -> Asked:
    [row] = await api.harness.rows(_FEES, crowded_claim.claim_id, crowded_claim.size)
    return {"item_id": row["item_id"]}


async def resolve(api: Api, crowded_claim: CrowdedClaim) -> Asked:
    opened = await dispute(api.harness, crowded_claim.claim_id, actor=ERP)
    return {"dispute_id": opened.dispute_id, "json": {"outcome": "ACCEPTED"}}


async def download_evidence(api: Api, crowded_claim: CrowdedClaim) -> Asked:
    opened = await dispute(api.harness, crowded_claim.claim_id, actor=ERP)
    for _ in range(min(crowded_claim.size, 5)):
        file_id = await give_evidence(api.harness, opened)
    return {"dispute_id": opened.dispute_id, "file_id": file_id}


async def read_event(api: Api, crowded_claim: CrowdedClaim) -> Asked:
    await dispute(api.harness, crowded_claim.claim_id, actor=ERP)
    return {"event_id": await find_id(api, f"{_EVENT} LIMIT 1", crowded_claim.claim_id)}


async def answer_modality(api: Api, crowded_claim: CrowdedClaim) -> Asked:
    asked = await Arrangement(api.harness, crowded_claim.claim_id).ask()
    return {"modality_id": asked.modality_id}


async def assign(api: Api, crowded_claim: CrowdedClaim) -> Asked:
    await api.harness.rows(_UNASSIGN, crowded_claim.claim_ids)
    workflow = "SELECT workflow_id FROM workflows WHERE merchant_id = $1 AND $2 > 0 LIMIT 1"
    found = await find_id(api, workflow, crowded_claim.claim_id)
    return {"workflow_id": found, "json": crowded_claim.claim_ids}


async def unassigned(api: Api, crowded_claim: CrowdedClaim) -> Asked:
    await api.harness.rows(_UNASSIGN, crowded_claim.claim_ids)
    return {}


async def assign_to_scenario(api: Api, crowded_claim: CrowdedClaim) -> Asked:
    await api.harness.rows(_UNASSIGN, crowded_claim.claim_ids)
    scenario = "SELECT min(scenario_id) FROM scenarios WHERE merchant_id = $1 AND $2 > 0"
    found = await find_id(api, scenario, crowded_claim.claim_id)
    return {"scenario_id": found, "json": crowded_claim.claim_ids}


async def advance(api: Api, _crowded_claim: CrowdedClaim) -> Asked:
    """Advance to an instant at which nothing is due. The work on due claims is done in sets and not
    counted here."""
    shown = (await api.nordwind.get("/test-clock")).json()["result"]["now"]
    later = datetime.fromisoformat(shown) + timedelta(seconds=1)
    return {"json": {"advanceTo": later.isoformat()}}


CASES: dict[str, Case] = {
    "uploadFile": plain(files={"friendlyName": (None, "A"), "fileName": ("a.pdf", a_pdf())}),
    "createClaims": create,
    "findClaims": plain(params={"limit": 200}),
    "readClaim": plain(),
    "changeClaim": plain(json={"email": "new@example.org", "customFields": {"a": "b"}}),
    "withdrawClaim": plain(),
    "archiveClaim": plain(),
    "pauseClaim": plain(json={"reason": "In talks"}),
    "resumeClaim": resume,
    "addFee": plain(json={"type": "DUNNING_FEE", "value": "250"}),
    "addItem": plain(json=_ITEM),
    "deleteItem": delete_item,
    "listAttachments": plain(),
    "attachFile": attach,
    "readAttachment": by_id("attachment_id", f"{_ATTACHMENT} LIMIT 1"),
    "replaceAttachment": replace,
    "deleteAttachment": by_id("attachment_id", f"{_ATTACHMENT} LIMIT 1"),
    "downloadAttachment": by_id("attachment_id", f"{_ATTACHMENT} LIMIT 1"),
    "explainClaim": plain(),
    "listCommunications": plain(),
    "readCommunication": by_id("reference", f"{_SENT} LIMIT 1"),
    "listPayments": plain(params={"limit": 200}),
    "readPayment": by_id("payment_id", f"{_PAYMENT} LIMIT 1"),
    "listPaymentRequests": plain(params={"limit": 200}),
    "readPaymentRequest": by_id("payment_request_id", _REQUEST),
    "recordPayment": plain(json={"amount": 20_000, "currency": "EUR", "transactionId": "t"}),
    "reversePayment": by_id("payment_id", _PAYMENT_OF_ALL),
    "refundPayment": by_id("payment_id", _RECEIVED, json={"amount": 1, "effect": "REOPEN"}),
    "listRefunds": plain(params={"limit": 200}),
    "listMovements": plain(params={"limit": 200}),
    "findMovements": plain(params={"limit": 200}),
    "findPayouts": plain(params={"limit": 200}),
    "readPayout": by_id("payout_id", _PAYOUT),
    "listDisputes": plain(),
    "readDispute": by_id("dispute_id", f"{_DISPUTE} LIMIT 1"),
    "findDisputes": plain(),
    "openDispute": plain(json={"type": "DEFECTIVE"}),
    "resolveDispute": resolve,
    "downloadDisputeFile": download_evidence,
    "findPaymentModalities": plain(params={"limit": 200}),
    "findPayments": plain(params={"limit": 200}),
    "findPaymentRequests": plain(params={"limit": 200}),
    "findCommunications": plain(params={"limit": 200}),
    "findSuppressions": plain(params={"limit": 200}),
    "findWebhookEndpoints": plain(params={"limit": 200}),
    "listPaymentModalities": plain(),
    "readPaymentModality": by_id("modality_id", f"{_MODALITY} LIMIT 1"),
    "approvePaymentModality": answer_modality,
    "rejectPaymentModality": answer_modality,
    "findMandates": plain(params={"limit": 200}),
    "listMandates": plain(params={"limit": 200}),
    "readMandate": by_id("mandate_id", f"{_MANDATE} LIMIT 1"),
    "findCollections": plain(params={"limit": 200}),
    "listCollections": by_id("mandate_id", f"{_MANDATE} LIMIT 1", params={"limit": 200}),
    "listWorkflows": plain(),
    "assignToWorkflow": assign,
    "startAssignment": unassigned,
    "listScenarios": plain(),
    "assignToScenario": assign_to_scenario,
    "listEvents": plain(params={"limit": 200, "since": "2026-03-01T00:00:00Z"}),
    "readEvent": read_event,
    "replayEvents": plain(json={"since": "2026-03-01T00:00:00Z"}),
    "readTestClock": plain(),
    "advanceTestClock": advance,
}
OPERATIONS = [endpoint.operation for endpoint in ENDPOINTS]


@pytest.fixture(scope="module")
async def recorded(
    lasting_resources: Resources, lasting_clock: MovableClock
) -> AsyncIterator[tuple[Resources, Statements]]:
    """Recorded connections that all tests use, because each connection plans its statements."""
    async with a_counted_database(lasting_resources, lasting_clock, connections=4) as recorded:
        yield recorded


@pytest.fixture
async def counted(
    resources: Resources, clock: MovableClock, recorded: tuple[Resources, Statements],
    request: pytest.FixtureRequest,
) -> AsyncIterator[tuple[Api, Statements]]:  # fmt: skip
    """Nordwind is a sandbox merchant that offers plans. It uses scenarios for the operations on
    scenarios."""
    operation: Operation = request.getfixturevalue("operation")
    over, statements = recorded
    async with an_api(
        over, clock, sandbox=True, configuration=OFFERING,
        switched_to_workflows=operation.tag != "Scenarios",
    ) as api:  # fmt: skip
        yield api, statements


# Statements that do not depend on rows: requests are counted in blocks for each minute, the ids of
# claims are reserved in blocks for the requests of a process, and asyncpg queries the types of
# arrays once for each connection, with JIT switched off.
_NOT_THE_OPERATIONS = (
    "request_quotas", "nextval('claims_claim_id_seq') AS claim_id", "typeinfo_tree", "'jit'",
)  # fmt: skip


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.operation_id)
async def test_many_rows_take_as_many_statements_as_few(
    counted: tuple[Api, Statements], operation: Operation
) -> None:
    api, statements = counted

    few = await count(api, statements, operation, FEW)
    many = await count(api, statements, operation, MANY)

    assert len(few) == len(many), (few, many)


async def count(api: Api, statements: Statements, operation: Operation, size: int) -> Sequence[str]:
    """Return the statements of the operation for a merchant with `size` rows of every kind."""
    crowded_claim = await a_crowded_claim(api, size)
    asked = await CASES[operation.operation_id](api, crowded_claim)
    ids = {name: asked.pop(name) for name in list(asked) if f"{{{name}}}" in operation.path}
    ids |= {"merchant_id": api.nordwind.merchant_id, "claim_id": crowded_claim.claim_id}
    await statements.take()

    answer = await api.nordwind.send(operation.method, operation.path.format(**ids), **asked)
    sent = await statements.take()

    assert answer.status_code == 200, answer.text
    return [each for each in sent if not any(words in each for words in _NOT_THE_OPERATIONS)]


async def test_creating_a_claim_takes_two_statements_and_reading_the_clock_one(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_counted_api(resources, clock) as (api, statements):
        await api.nordwind.post("/claims", [a_claim("A-1")])
        await statements.take()
        answer = await api.nordwind.post("/claims", [a_claim("A-2")])
        created = await statements.take()
        await api.nordwind.get("/test-clock")
        await statements.take()
        await api.nordwind.get("/test-clock")
        read = await statements.take()

    assert answer.json()["result"][0]["error"] is None
    assert len(created) == 2, created
    assert created[0].lstrip().startswith("SELECT tokens.n, token.merchant_id")
    assert "INSERT INTO claims" in created[1]
    assert len(read) == 1, read
