"""The data that the examples in the API reference use: claims that are ten days old, each with a
fee, a file and a message. Every operation gets its own claim, so that no operation sees the effects
of another.

The examples use fixed ids; `Scene.real` maps them to the ids in the test.
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
from dunwell.core.events.webhooks.endpoints import NewEndpoint
from dunwell.core.events.webhooks.endpoints import add_endpoint as save_endpoint
from dunwell.interfaces.api.operation import Operation, RequestBody
from dunwell.interfaces.api.routes import parameters
from dunwell.interfaces.api.routes.attachments import UPLOAD_FILE
from dunwell.interfaces.api.routes.claim_changes import PAUSE_CLAIM
from dunwell.interfaces.api.routes.claims import CREATE_CLAIMS
from dunwell.interfaces.api.routes.disputes import LIST_DISPUTES, OPEN_DISPUTE
from dunwell.interfaces.api.routes.payments import RECORD_PAYMENT
from dunwell.interfaces.api.token import OBTAIN_TOKEN
from tests.support.api import Api, Client, form_of
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
INSERT INTO payment_requests (merchant_id, request_id, claim_id, provider, amount_cents, currency,
                              reference, state, created_at, sent_on)
VALUES ($1, $3, $2, 'BANK_TRANSFER', 10490, 'EUR', 'x',
        'PENDING', '2026-03-12T18:20:00Z', '2026-03-12')
RETURNING request_id
"""
# All these claims have the same debtor, who may be contacted about each of them.
CONFIGURATION = msgspec.structs.replace(
    OFFERING, guards=Guards(max_contacts_per_day=1000, max_contacts_per_week=1000)
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
    scene: ExampleClaim
    # Unused claims: id and reference, with the newest last.
    unused: list[tuple[int, str]] = field(default_factory=list)

    async def prepare(self, operation_id: str) -> ExampleClaim:
        """Return a scene with two new claims and the data that this operation's example needs."""
        (claim_id, reference), (other_id, _) = self.unused.pop(0), self.unused.pop(0)
        own = {
            REFERENCE_NUMBER: reference,
            parameters.CLAIM_ID.example: claim_id,
            _OTHER_CLAIM_ID: other_id,
        }
        scene = ExampleClaim(self.scene.api, {**self.scene.real, **own})
        await _look_at_claim(scene)
        if operation_id in _BEFORE:
            await _BEFORE[operation_id](scene)
        return scene


async def create_example_data(api: Api, *, claims: int = 2) -> ExampleData:
    """Return the data. `api` belongs to a sandbox merchant with this module's configuration."""
    credential = form_of(api.nordwind.credential)
    assert OBTAIN_TOKEN.body is not None
    shown = OBTAIN_TOKEN.body.example
    scene = ExampleClaim(
        api, {shown[name]: credential[name] for name in ("client_id", "client_secret")}
    )
    uploaded = await scene.send(UPLOAD_FILE)
    scene.real[parameters.TICKET_EXAMPLE] = uploaded.json()["result"]["ticketId"]
    if api.harness.merchant.switched_to_workflows:
        await _publish(scene)
    else:
        async with api.harness.work() as work:
            await save_scenario(work, "Standard", a_definition(), "One reminder, then a fee.")
    return ExampleData(scene, await _add_claims(scene, claims))


async def _publish(scene: ExampleClaim) -> None:
    """Publish the process, and a rule that the claims do not match."""
    harness = scene.api.harness
    version = await harness.publish(_PROCESS, "Standard dunning")
    large = a_rule("Large claims", scene.api.version.workflow_id, outstanding={"min": "100000"})
    async with harness.work() as work:
        await publish_rules(work, RuleSet(default=version.workflow_id, rules=(large,)))
    scene.real[parameters.WORKFLOW_ID.example] = str(version.workflow_id)


async def _add_claims(scene: ExampleClaim, count: int) -> list[tuple[int, str]]:
    """Add copies of the example's claim and move the clock to _NOW."""
    assert CREATE_CLAIMS.body is not None
    references = [f"INV-{number:04}" for number in range(count)]
    claims = [
        ExampleClaim(scene.api, {**scene.real, REFERENCE_NUMBER: each}).translate(
            CREATE_CLAIMS.body.example[0]
        )
        for each in references
    ]
    created = (await scene.client.post("/claims", claims)).json()["result"]
    await scene.client.post("/test-clock", {"advanceTo": _NOW})
    return [(each["id"], each["referenceNumber"]) for each in created]


async def _look_at_claim(scene: ExampleClaim) -> None:
    path = f"/claims/{scene.claim_id}"
    claim = (await scene.client.get(path)).json()["result"]
    sent = (await scene.client.get(f"{path}/communications")).json()["result"]["items"]
    scene.real[_FIRST_ITEM_ID] = claim["items"][0]["id"]
    scene.real[parameters.ITEM_ID.example] = claim["items"][-1]["id"]
    scene.real[parameters.ATTACHMENT_ID.example] = claim["attachments"][0]["id"]
    scene.real[parameters.REFERENCE.example] = sent[0]["reference"]
    if "scenarioId" in claim["assignment"]:
        scene.real[parameters.SCENARIO_ID.example] = claim["assignment"]["scenarioId"]


async def _open_dispute(scene: ExampleClaim) -> None:
    answer = await scene.send(OPEN_DISPUTE)
    scene.real[parameters.DISPUTE_ID.example] = answer.json()["result"]["id"]


async def _add_evidence(scene: ExampleClaim) -> None:
    await _open_dispute(scene)
    dispute_id = UUID(scene.real[parameters.DISPUTE_ID.example])
    uploaded = await scene.send(UPLOAD_FILE)
    ticket_id = UUID(uploaded.json()["result"]["ticketId"])
    async with scene.api.harness.work() as work:
        await add_evidence(work, scene.claim_id, dispute_id, [ticket_id])
    listed = await scene.send(LIST_DISPUTES)
    [file] = listed.json()["result"]["items"][0]["files"]
    scene.real[parameters.FILE_ID.example] = file["id"]


async def _ask_for_plan(scene: ExampleClaim) -> Modality:
    asked = await Arrangement(scene.api.harness, scene.claim_id).ask(
        PlanTerms(3, date(2026, 3, 16))
    )
    scene.real[parameters.MODALITY_ID.example] = str(asked.modality_id)
    return asked


async def _agree_on_plan(scene: ExampleClaim) -> None:
    asked = await _ask_for_plan(scene)
    await Arrangement(scene.api.harness, scene.claim_id).approve(asked.modality_id)


async def _record_payment(scene: ExampleClaim) -> None:
    answer = await scene.send(RECORD_PAYMENT)
    scene.real[parameters.PAYMENT_ID.example] = answer.json()["result"]["id"]


async def _pause(scene: ExampleClaim) -> None:
    await scene.send(PAUSE_CLAIM)


async def _add_endpoint(scene: ExampleClaim) -> None:
    harness = scene.api.harness
    # The first endpoint gets the address from the example; a merchant can have only one endpoint at
    # each address.
    has_some = await harness.rows("SELECT FROM webhook_endpoints WHERE merchant_id = $1")
    url = "http://127.0.0.1:8099/webhooks" + (f"/{scene.claim_id}" if has_some else "")
    wanted = NewEndpoint(url, ("*",), None)
    async with harness.work() as work:
        await save_endpoint(work, harness.resources.keys, wanted, is_development=True)


async def _make_unknown(scene: ExampleClaim) -> None:
    await scene.api.harness.rows(_UNKNOWN, scene.claim_id)


async def _ask_to_pay(scene: ExampleClaim) -> None:
    resources = scene.api.harness.resources
    request_id = resources.ids.new(resources.clock.now())
    await scene.api.harness.rows(_REQUEST, scene.claim_id, request_id)
    scene.real[parameters.PAYMENT_REQUEST_ID.example] = str(request_id)


async def _find_event(scene: ExampleClaim) -> None:
    wanted = {"claimId": scene.claim_id, "type": "ESCALATED"}
    found = (await scene.client.get("/events", params=wanted)).json()["result"]["items"]
    scene.real[parameters.EVENT_ID.example] = found[0]["eventId"]


async def _suppress(scene: ExampleClaim) -> None:
    harness = scene.api.harness
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
    "listPaymentRequests": _ask_to_pay,
    "readPaymentRequest": _ask_to_pay,
    "readEvent": _find_event,
    "findDisputes": _open_dispute,
    "findPaymentModalities": _ask_for_plan,
    "findPayments": _record_payment,
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
