"""Every id in an event can be looked up: an event of each type is published, and an operation reads
the object of each id in its body."""

import re
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from dunwell.cases.payments.provider import MoneyMovement, MovementKind
from dunwell.cases.payments.refunds.refund_payment import RefundOrder, order_refund
from dunwell.cases.payments.refunds.store import RefundEffect
from dunwell.core.claims.publish_event import publish_event
from dunwell.core.events.body import EVENT_TYPES
from dunwell.core.events.payloads import details_accessed
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Api, an_api
from tests.support.debit_plans import DEBIT, Debits
from tests.support.disputes import dispute
from tests.support.harness import ERP
from tests.support.modalities import OFFERING, Arrangement
from tests.support.payments import PAYING, PaymentHarness, ScriptedPaymentProvider

_CONFIGURATION = msgspec.structs.replace(
    OFFERING, payment=msgspec.structs.replace(PAYING.payment, direct_debit=DEBIT)
)
_IS_ID = re.compile(r"(^|\.)(id|reference|\w+Id)$")
# The path that reads the object of an id, and the field of the response that has the id.
_READ_AT = {
    "eventId": ("/events/{value}", "eventId"),
    "claim.id": ("/claims/{value}", "id"),
    "claim.communication.reference": ("/communications/{value}", "reference"),
    "claim.fee.id": ("/claims/{claim_id}", "items.id"),
    "claim.payment.paymentRequestId": ("/claims/{claim_id}/payment-requests/{value}", "id"),
    "claim.payment.transactionId": ("/claims/{claim_id}/payments", "items.transactionId"),
    "claim.payment.reference": ("/claims?referenceNumber={value}", "items.referenceNumber"),
    "claim.reversal.paymentId": ("/claims/{claim_id}/payments/{value}", "id"),
    "claim.reversal.transactionId": ("/claims/{claim_id}/payments", "items.transactionId"),
    "claim.reversal.paymentRequestId": ("/claims/{claim_id}/payment-requests/{value}", "id"),
    "claim.reversal.movementId": ("/claims/{claim_id}/movements", "items.movementId"),
    "claim.refund.paymentId": ("/claims/{claim_id}/payments/{value}", "id"),
    "claim.refund.transactionId": ("/claims/{claim_id}/payments", "items.transactionId"),
    "claim.refund.paymentRequestId": ("/claims/{claim_id}/payment-requests/{value}", "id"),
    "claim.refund.movementId": ("/claims/{claim_id}/movements", "items.movementId"),
    "claim.refund.refundId": ("/claims/{claim_id}/refunds", "items.id"),
    "claim.disputeReason.disputeId": ("/claims/{claim_id}/disputes/{value}", "id"),
    "claim.mandate.mandateId": ("/claims/{claim_id}/mandates/{value}", "id"),
    "claim.mandate.modalityId": ("/claims/{claim_id}/payment-modalities/{value}", "id"),
    "claim.mandate.reference": ("/claims/{claim_id}/mandates", "items.reference"),
    "claim.paymentModality.modalityId": ("/claims/{claim_id}/payment-modalities/{value}", "id"),
}
_NOT_READABLE = {
    "claim.merchantId": "it is a part of every address",
    "claim.details.sessionId": "it tells repeated events apart (spec, Events)",
    "actionStep.id": "it counts the steps of the merchant's own process",
}


@pytest.fixture
async def api(resources: Resources, clock: MovableClock) -> AsyncIterator[Api]:
    async with an_api(resources, clock, configuration=_CONFIGURATION) as api:
        yield api


async def publish_every_type(api: Api, clock: MovableClock) -> None:
    """Publish an event of each type, each on its own claim."""
    archived, disputed, asked, paid, opened = await api.nordwind.create(
        "A-1", "A-2", "A-3", "A-4", "A-5"
    )
    await dispute(api.harness, disputed, actor=ERP)
    arrangement = Arrangement(api.harness, asked)
    await Debits(arrangement, (await arrangement.ask()).modality_id).sign()
    payments = PaymentHarness(api.harness, ScriptedPaymentProvider(), paid)
    started = await payments.start()
    payments.pays()
    await payments.settle(started.request_id)
    await return_money(payments, started.request_id)
    async with api.harness.work() as work:
        session_id = work.ids.new(work.now)
        await publish_event(work, opened, lambda head: details_accessed(head, session_id, "EMAIL"))
    await api.harness.run_until(clock.now() + timedelta(days=40))
    await api.nordwind.obtain_token()
    assert (await api.harness.events(archived))[-1]["type"] == "ARCHIVED"


async def return_money(payments: PaymentHarness, request_id: UUID) -> None:
    """Refund a part of the payment, which is then charged back."""
    [row] = await payments.harness.rows(
        "SELECT payment_id FROM payments WHERE merchant_id = $1 AND request_id = $2", request_id
    )
    async with payments.harness.work() as work:
        order = RefundOrder(240, effect=RefundEffect.REOPEN)
        refund = await order_refund(work, payments.claim_id, row["payment_id"], order)
    payments.moves(
        MoneyMovement(
            f"refund-{refund.refund_id}", MovementKind.REFUNDED, 240, "EUR", payments.now
        ),
        MoneyMovement("cb-1", MovementKind.CHARGED_BACK, 10000, "EUR", payments.now),
    )
    await payments.settle(request_id)


async def list_events(api: Api) -> list[dict[str, Any]]:
    page = (
        await api.nordwind.get("/events", params={"limit": 200, "include": "additions"})
    ).json()["result"]
    assert page["nextCursor"] is None
    events: list[dict[str, Any]] = page["items"]
    return events


def find_ids(body: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in body.items():
        here = f"{path}.{name}" if path else name
        if isinstance(value, dict):
            yield from find_ids(value, here)
        elif _IS_ID.search(here):
            yield here, value


def list_values_at(answer: Any, path: str) -> list[Any]:
    """Return the values at a path. A list contributes the values of all its items."""
    for name in path.split("."):
        answer = [each[name] for each in answer] if isinstance(answer, list) else answer[name]
    return answer if isinstance(answer, list) else [answer]


async def test_an_operation_reads_the_object_of_each_id_in_an_event(
    api: Api, clock: MovableClock
) -> None:
    await publish_every_type(api, clock)
    events = await list_events(api)
    assert {each["type"] for each in events} == {
        *EVENT_TYPES, "PAYMENT_REVERSED", "PAYMENT_REFUNDED", "MANDATE_CHANGED",
    }  # fmt: skip
    followed = set()
    for body in events:
        for path, value in find_ids(body):
            if path in _NOT_READABLE:
                continue
            address, named = _READ_AT[path]
            asked = address.format(value=value, claim_id=body["claim"]["id"])
            answer = await api.nordwind.get(asked)
            assert answer.status_code == 200, (path, asked, answer.text)
            assert value in list_values_at(answer.json()["result"], named), (path, asked)
            followed.add(path)
    assert followed == _READ_AT.keys()


async def test_an_event_has_exactly_the_body_of_its_webhook(api: Api, clock: MovableClock) -> None:
    """This also holds without an endpoint, when nothing is delivered."""
    await publish_every_type(api, clock)
    stored = await api.harness.rows("SELECT event_id, body FROM events WHERE merchant_id = $1")
    assert await api.harness.rows("SELECT FROM deliveries WHERE merchant_id = $1") == []
    for row in stored:
        answer = await api.nordwind.get(f"/events/{row['event_id']}")
        assert answer.text == f'{{"error":null,"result":{row["body"]}}}'
