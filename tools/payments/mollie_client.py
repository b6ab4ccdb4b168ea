"""Mollie's official client against our fake Mollie, and its models against our requests.

`mollie_client.py ORIGIN` runs a scenario. `mollie_client.py --check` reads requests from the
standard input, as JSON of [model, body], and fails for a body that the model does not accept whole.
"""

import json
import sys
from typing import Any

from mollie import ClientSDK, models
from scenario import act, expect_error


def check(name: str, body: dict[str, Any]) -> None:
    model = getattr(models, name)
    known = {field.alias or key for key, field in model.model_fields.items()}
    assert body.keys() <= known, f"{name}: unknown keys {sorted(body.keys() - known)}"
    model.model_validate(body)


def run(origin: str) -> None:
    client = ClientSDK(security=models.Security(api_key="live_1"), server_url=origin)
    wanted = {
        "description": "Claim", "amount": {"currency": "EUR", "value": "9.90"},
        "redirect_url": "https://x.example",
    }  # fmt: skip
    payment = client.payments.create(payment_request=wanted, idempotency_key="client-1")
    again = client.payments.create(payment_request=wanted, idempotency_key="client-1")
    assert (payment.status, again.id) == ("open", payment.id)
    assert payment.links.checkout is not None
    act(origin, id=payment.id, action="pay")
    paid = client.payments.get(payment_id=payment.id, embed="refunds")
    assert (paid.status, paid.method) == ("paid", "creditcard")
    other = client.payments.create(payment_request={**wanted, "method": "creditcard"})
    assert client.payments.cancel(payment_id=other.id).status == "canceled"
    with expect_error(models.ErrorResponse) as errors:
        client.payments.cancel(payment_id=other.id)
    assert errors[0].data.status == 422
    refund = client.refunds.create(
        payment_id=payment.id,
        refund_request={
            "amount": {"currency": "EUR", "value": "0.90"}, "description": "",
            "metadata": {"a": "b"},
        },
    )  # fmt: skip
    assert refund.status == "queued"
    act(origin, id=refund.id, action="settle")
    act(origin, id=payment.id, action="dispute")
    page = client.refunds.list(payment_id=payment.id)
    assert [each.status for each in page.result.embedded.refunds] == ["refunded"]
    page = client.chargebacks.all()
    assert [each.payment_id for each in page.result.embedded.chargebacks] == [payment.id]
    settlement_id = act(origin, id="", action="payout")["id"]
    organisation = ClientSDK(
        security=models.Security(advanced_access_token="access_1"),  # noqa: S106 - of a fake
        server_url=origin,
    )
    settlement = organisation.settlements.list().result.embedded.settlements[0]
    assert (settlement.id, settlement.status) == (settlement_id, "paidout")
    page = organisation.settlements.list_payments(settlement_id=settlement_id)
    assert [each.id for each in page.result.embedded.payments] == [payment.id]


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        for name, given in json.load(sys.stdin):
            check(name, given)
    else:
        run(sys.argv[1])
    sys.stdout.write("ok\n")
