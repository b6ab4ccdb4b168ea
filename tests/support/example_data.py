"""The data that the examples in the API reference use: claims that are ten days old, each with a
fee, a file and a message. Every operation gets its own claim, so that no operation sees the effects
of another.

The examples use fixed ids; `ExampleClaim.real` maps them to the ids in the test.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

import httpx
import msgspec

from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.configuration import Guards
from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.rules_draft import publish_rules
from dunwell.cases.disputes.answer_dispute import add_evidence
from dunwell.cases.modalities.limits import PlanTerms
from dunwell.cases.modalities.modality import Modality
from dunwell.cases.rollout.scenarios.save_scenario import save_scenario
from dunwell.contact.messages.suppression import suppress
from dunwell.core.events.webhooks.endpoint import NewEndpoint
from dunwell.core.events.webhooks.endpoints import add_endpoint as save_endpoint
from dunwell.interfaces.api.operation import Operation, RequestBody
from dunwell.interfaces.api.routes import parameters
from dunwell.interfaces.api.routes.attachments import UPLOAD_FILE
from dunwell.interfaces.api.routes.claim_changes import PAUSE_CLAIM
from dunwell.interfaces.api.routes.claims import CREATE_CLAIMS
from dunwell.interfaces.api.routes.disputes import LIST_DISPUTES, OPEN_DISPUTE
from dunwell.interfaces.api.routes.payments import RECORD_PAYMENT
from dunwell.interfaces.api.routes.refunds import REFUND_PAYMENT
from dunwell.interfaces.api.token import OBTAIN_TOKEN
from tests.support.api import Api, Client, form_of
from tests.support.debit_plans import DEBIT, Debits
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.files import a_pdf
from tests.support.modalities import OFFERING, Arrangement
from tests.support.rules import a_rule

_UNKNOWN = """
UPDATE communications SET state = 'UNKNOWN', settled_at = NULL
WHERE merchant_id = $1 AND claim_id = $2
RETURNING communication_id
"""
_REQUEST = """
INSERT INTO payment_requests (merchant_id, request_id, claim_id, provider, provider_name,
                              amount_cents, currency, reference, state, created_at, sent_on)
VALUES ($1, $3, $2, 'BANK_TRANSFER', 'BANK_TRANSFER', 10490, 'EUR', 'x',
        'PENDING', '2026-03-12T18:20:00Z', '2026-03-12')
RETURNING request_id
"""
_MOVEMENT = """
WITH completed AS (
    UPDATE payments SET request_id = $5 WHERE merchant_id = $1 AND payment_id = $4
)
INSERT INTO payment_movements (merchant_id, record_id, provider, movement_id, kind, claim_id,
                               request_id, payment_id, amount_cents, currency, booked_cents,
                               moved_at, recorded_at)
SELECT merchant_id, $2::uuid, $6, $2::uuid || ':1', 'PAID', $3, $5, payment_id, amount_cents,
       currency, amount_cents, paid_at, recorded_at
FROM payments
WHERE merchant_id = $1 AND payment_id = $4
RETURNING record_id
"""
_PAYOUT = """
INSERT INTO provider_payouts (merchant_id, record_id, provider, payout_id, amount_cents, fees_cents,
                     currency, paid_at, movements, recorded_at)
SELECT $1, $2, $3, 'po_1PqK2y', 10340, 150, 'EUR', '2026-03-13',
       jsonb_build_array(jsonb_build_array(movement_id, amount_cents)), '2026-03-12T10:15:04Z'
FROM payment_movements
WHERE merchant_id = $1 AND provider = $3
RETURNING record_id
"""
_DELETE_PAYOUTS = """
DELETE FROM provider_payouts WHERE merchant_id = $1 AND provider = $2 RETURNING record_id
"""
_DELETE_MOVEMENTS = """
DELETE FROM payment_movements WHERE merchant_id = $1 AND provider = $2 RETURNING record_id
"""
_BOOKED = """
UPDATE payment_refunds SET state = 'BOOKED', provider_refund_id = 're_3PqK1x'
WHERE merchant_id = $1 AND claim_id = $2
RETURNING refund_id
"""
_COLLECTION = """
INSERT INTO debit_collections (merchant_id, collection_id, mandate_id, claim_id, modality_id,
                               instalment, due_on, collected_on, amount_cents, currency, state,
                               end_to_end_id, changed_at)
SELECT $1, id, $3, $2, $4, 1, due_on + 14, due_on + 14, amount_cents, 'EUR', 'PLANNED',
       upper(replace(id::text, '-', '')), now()
FROM instalments
CROSS JOIN LATERAL (
    SELECT overlay(gen_random_uuid()::text PLACING '7' FROM 15)::uuid AS id) new
WHERE merchant_id = $1 AND modality_id = $4 AND number = 1
RETURNING collection_id
"""
# All these claims have the same debtor, who may be contacted about each of them.
CONFIGURATION = msgspec.structs.replace(
    OFFERING,
    guards=Guards(max_contacts_per_day=1000, max_contacts_per_week=1000),
    payment=msgspec.structs.replace(OFFERING.payment, direct_debit=DEBIT),
)
REFERENCE_NUMBER = "INV-2026-0815"
_FILE = a_pdf()
_PROCESS = a_definition(
    steps=[*DOCUMENT["steps"], {**DOCUMENT["steps"][0], "id": 6, "name": "Last reminder"}]
)
_NOW = "2026-03-13T09:00:00Z"
_OTHER_CLAIM_ID = 4712
_FIRST_ITEM_ID = 9001


@dataclass(frozen=True, slots=True)
class ExampleClaim:
    """The claim of one operation."""

    api: Api
    # Value in an example -> value in the test.
    real: dict[Any, Any] = field(default_factory=dict)

    @property
    def client(self) -> Client:
        return self.api.nordwind

    @property
    def claim_id(self) -> int:
        found: int = self.real[parameters.CLAIM_ID.example]
        return found

    def list_ids(self) -> dict[str, Any]:
        """Return the value of each path parameter, by name."""
        shared = [each for each in vars(parameters).values() if hasattr(each, "place")]
        found = {each.name: self.real[each.example] for each in shared if each.example in self.real}
        return {**found, "merchant_id": self.client.merchant_id}

    async def send(self, operation: Operation) -> httpx.Response:
        """Send the operation's example as the reference shows it."""
        path = operation.path
        for name, value in self.list_ids().items():
            path = path.replace(f"{{{name}}}", str(value))
        query = {
            each.name: self.translate(each.example)
            for each in operation.parameters
            if each.place == "query" and each.example is not None and each.name != "cursor"
        }
        given = self._send_body(operation.body) if operation.body else {}
        token = None if operation.needs_token else ""
        return await self.client.send(operation.method, path, token=token, params=query, **given)

    def translate(self, value: Any) -> Any:
        """Return an example's value with the ids of the test in it."""
        if isinstance(value, dict):
            return {name: self.translate(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self.translate(each) for each in value]
        return self.real.get(value, value)

    def _send_body(self, body: RequestBody) -> dict[str, Any]:
        example = self.translate(body.example)
        if body.media_type.endswith("json"):
            return {"json": example, "headers": {"Content-Type": body.media_type}}
        if not body.media_type.startswith("multipart"):
            return {"data": example}
        name = example.pop("fileName").removeprefix("@")
        parts = {each: (None, value) for each, value in example.items()}
        return {"files": {**parts, "fileName": (name, _FILE)}}


@dataclass
class ExampleData:
    example_claim: ExampleClaim
    # Unused claims: id and reference, with the newest last.
    unused: list[tuple[int, str]] = field(default_factory=list)

    async def prepare(self, operation_id: str) -> ExampleClaim:
        """Return an unused claim with everything that this operation's example needs, and the id
        of a second one."""
        (claim_id, reference), (other_id, _) = self.unused.pop(0), self.unused.pop(0)
        own = {
            REFERENCE_NUMBER: reference,
            parameters.CLAIM_ID.example: claim_id,
            _OTHER_CLAIM_ID: other_id,
        }
        example_claim = ExampleClaim(self.example_claim.api, {**self.example_claim.real, **own})
        await _look_at_claim(example_claim)
        if operation_id in _BEFORE:
            await _BEFORE[operation_id](example_claim)
        return example_claim


async def create_example_data(api: Api, *, claims: int = 2) -> ExampleData:
    """Return the data. `api` belongs to a sandbox merchant with this module's configuration."""
    credential = form_of(api.nordwind.credential)
    assert OBTAIN_TOKEN.body is not None
    shown = OBTAIN_TOKEN.body.example
    example_claim = ExampleClaim(
        api, {shown[name]: credential[name] for name in ("client_id", "client_secret")}
    )
    uploaded = await example_claim.send(UPLOAD_FILE)
    example_claim.real[parameters.TICKET_EXAMPLE] = uploaded.json()["result"]["ticketId"]
    if api.harness.merchant.switched_to_workflows:
        await _publish(example_claim)
    else:
        async with api.harness.work() as work:
            await save_scenario(work, "Standard", a_definition(), "One reminder, then a fee.")
    return ExampleData(example_claim, await _add_claims(example_claim, claims))


async def _publish(example_claim: ExampleClaim) -> None:
    """Publish the workflow, and a rule that the claims do not match."""
    harness = example_claim.api.harness
    version = await harness.publish(_PROCESS, "Standard dunning")
    large = a_rule(
        "Large claims", example_claim.api.version.workflow_id, outstanding={"min": "100000"}
    )
    async with harness.work() as work:
        await publish_rules(work, RuleSet(default=version.workflow_id, rules=(large,)))
    example_claim.real[parameters.WORKFLOW_ID.example] = str(version.workflow_id)


async def _add_claims(example_claim: ExampleClaim, count: int) -> list[tuple[int, str]]:
    """Add copies of the example's claim and move the clock to _NOW."""
    assert CREATE_CLAIMS.body is not None
    references = [f"INV-{number:04}" for number in range(count)]
    claims = [
        ExampleClaim(example_claim.api, {**example_claim.real, REFERENCE_NUMBER: each}).translate(
            CREATE_CLAIMS.body.example[0]
        )
        for each in references
    ]
    created = (await example_claim.client.post("/claims", claims)).json()["result"]
    await example_claim.client.post("/test-clock", {"advanceTo": _NOW})
    return [(each["id"], each["referenceNumber"]) for each in created]


async def _look_at_claim(example_claim: ExampleClaim) -> None:
    path = f"/claims/{example_claim.claim_id}"
    claim = (await example_claim.client.get(path)).json()["result"]
    sent = (await example_claim.client.get(f"{path}/communications")).json()["result"]["items"]
    example_claim.real[_FIRST_ITEM_ID] = claim["items"][0]["id"]
    example_claim.real[parameters.ITEM_ID.example] = claim["items"][-1]["id"]
    example_claim.real[parameters.ATTACHMENT_ID.example] = claim["attachments"][0]["id"]
    example_claim.real[parameters.REFERENCE.example] = sent[0]["reference"]
    if "scenarioId" in claim["assignment"]:
        example_claim.real[parameters.SCENARIO_ID.example] = claim["assignment"]["scenarioId"]


async def _open_dispute(example_claim: ExampleClaim) -> None:
    answer = await example_claim.send(OPEN_DISPUTE)
    example_claim.real[parameters.DISPUTE_ID.example] = answer.json()["result"]["id"]


async def _add_evidence(example_claim: ExampleClaim) -> None:
    await _open_dispute(example_claim)
    dispute_id = UUID(example_claim.real[parameters.DISPUTE_ID.example])
    uploaded = await example_claim.send(UPLOAD_FILE)
    ticket_id = UUID(uploaded.json()["result"]["ticketId"])
    async with example_claim.api.harness.work() as work:
        await add_evidence(work, example_claim.claim_id, dispute_id, [ticket_id])
    listed = await example_claim.send(LIST_DISPUTES)
    [file] = listed.json()["result"]["items"][0]["files"]
    example_claim.real[parameters.FILE_ID.example] = file["id"]


async def _ask_for_plan(example_claim: ExampleClaim) -> Modality:
    asked = await Arrangement(example_claim.api.harness, example_claim.claim_id).ask(
        PlanTerms(3, date(2026, 3, 16))
    )
    example_claim.real[parameters.MODALITY_ID.example] = str(asked.modality_id)
    return asked


async def _agree_on_plan(example_claim: ExampleClaim) -> None:
    asked = await _ask_for_plan(example_claim)
    await Arrangement(example_claim.api.harness, example_claim.claim_id).approve(asked.modality_id)


async def _sign_mandate(example_claim: ExampleClaim) -> UUID:
    """Agree on a plan, and give a mandate for it."""
    await _agree_on_plan(example_claim)
    modality_id = UUID(example_claim.real[parameters.MODALITY_ID.example])
    arrangement = Arrangement(example_claim.api.harness, example_claim.claim_id)
    mandate = await Debits(arrangement, modality_id).sign()
    example_claim.real[parameters.MANDATE_ID.example] = str(mandate.mandate_id)
    return mandate.mandate_id


async def _plan_debit(example_claim: ExampleClaim) -> None:
    mandate_id = await _sign_mandate(example_claim)
    harness = example_claim.api.harness
    modality_id = UUID(example_claim.real[parameters.MODALITY_ID.example])
    await harness.rows(_COLLECTION, example_claim.claim_id, mandate_id, modality_id)


async def _record_payment(example_claim: ExampleClaim) -> None:
    answer = await example_claim.send(RECORD_PAYMENT)
    example_claim.real[parameters.PAYMENT_ID.example] = answer.json()["result"]["id"]


async def _move_money(
    example_claim: ExampleClaim, account: str = parameters.ACCOUNT.example,
    request_id: UUID | None = None,
) -> None:  # fmt: skip
    """Record a payment, with the movement by which it was received. It is the only one of this
    account, as in the examples."""
    await _record_payment(example_claim)
    harness = example_claim.api.harness
    await harness.rows(_DELETE_MOVEMENTS, account)
    record_id = harness.resources.ids.new(harness.resources.clock.now())
    payment_id = example_claim.real[parameters.PAYMENT_ID.example]
    await harness.rows(
        _MOVEMENT, record_id, example_claim.claim_id, payment_id, request_id, account
    )


async def _pay_out(example_claim: ExampleClaim) -> None:
    """Let a provider transfer the payment. It is the only payout of this account."""
    await _move_money(example_claim)
    harness = example_claim.api.harness
    record_id = harness.resources.ids.new(harness.resources.clock.now())
    account = parameters.ACCOUNT.example
    await harness.rows(_DELETE_PAYOUTS, account)
    await harness.rows(_PAYOUT, record_id, account)
    example_claim.real[parameters.PAYOUT_ID.example] = str(record_id)


async def _receive_payment(example_claim: ExampleClaim) -> None:
    """Record a payment that a provider has received."""
    await _ask_to_pay(example_claim)
    request_id = UUID(example_claim.real[parameters.PAYMENT_REQUEST_ID.example])
    await _move_money(example_claim, f"sandbox-{example_claim.claim_id}", request_id)


async def _refund_payment(example_claim: ExampleClaim) -> None:
    await _receive_payment(example_claim)
    await example_claim.send(REFUND_PAYMENT)
    await example_claim.api.harness.rows(_BOOKED, example_claim.claim_id)


async def _pause(example_claim: ExampleClaim) -> None:
    await example_claim.send(PAUSE_CLAIM)


async def _add_endpoint(example_claim: ExampleClaim) -> None:
    harness = example_claim.api.harness
    # The first endpoint gets the address from the example; a merchant can have only one endpoint at
    # each address.
    has_some = await harness.rows("SELECT FROM webhook_endpoints WHERE merchant_id = $1")
    url = "http://127.0.0.1:8099/webhooks" + (f"/{example_claim.claim_id}" if has_some else "")
    wanted = NewEndpoint(url, ("*",), None)
    async with harness.work() as work:
        await save_endpoint(work, harness.resources.keys, wanted, is_development=True)


async def _make_unknown(example_claim: ExampleClaim) -> None:
    await example_claim.api.harness.rows(_UNKNOWN, example_claim.claim_id)


async def _ask_to_pay(example_claim: ExampleClaim) -> None:
    resources = example_claim.api.harness.resources
    request_id = resources.ids.new(resources.clock.now())
    await example_claim.api.harness.rows(_REQUEST, example_claim.claim_id, request_id)
    example_claim.real[parameters.PAYMENT_REQUEST_ID.example] = str(request_id)


async def _find_event(example_claim: ExampleClaim) -> None:
    wanted = {"claimId": example_claim.claim_id, "type": "ESCALATED"}
    found = (await example_claim.client.get("/events", params=wanted)).json()["result"]["items"]
    example_claim.real[parameters.EVENT_ID.example] = found[0]["eventId"]


async def _suppress(example_claim: ExampleClaim) -> None:
    harness = example_claim.api.harness
    async with harness.work(SYSTEM) as work:
        await suppress(work, harness.resources.keys, "EMAIL", "erika.old@example.org", "BOUNCE")


# Prepares what an operation's example needs besides the claim.
_BEFORE: dict[str, Callable[[ExampleClaim], Awaitable[object]]] = {
    "resumeClaim": _pause,
    "reversePayment": _record_payment,
    "listDisputes": _open_dispute,
    "readDispute": _open_dispute,
    "readPaymentModality": _agree_on_plan,
    "listPayments": _record_payment,
    "readPayment": _record_payment,
    "refundPayment": _receive_payment,
    "listRefunds": _refund_payment,
    "findMovements": _move_money,
    "findMandates": _sign_mandate,
    "listMandates": _sign_mandate,
    "readMandate": _sign_mandate,
    "findCollections": _plan_debit,
    "listCollections": _plan_debit,
    "listMovements": _move_money,
    "listPaymentRequests": _ask_to_pay,
    "readPaymentRequest": _ask_to_pay,
    "readEvent": _find_event,
    "findDisputes": _open_dispute,
    "findPaymentModalities": _ask_for_plan,
    "findPayments": _move_money,
    "findPayouts": _pay_out,
    "readPayout": _pay_out,
    "findPaymentRequests": _ask_to_pay,
    "findCommunications": _make_unknown,
    "findSuppressions": _suppress,
    "findWebhookEndpoints": _add_endpoint,
    "resolveDispute": _open_dispute,
    "downloadDisputeFile": _add_evidence,
    "listPaymentModalities": _agree_on_plan,
    "approvePaymentModality": _ask_for_plan,
    "rejectPaymentModality": _ask_for_plan,
    "replayEvents": _add_endpoint,
}
