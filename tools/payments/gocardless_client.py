"""GoCardless' official client against our fake GoCardless: `gocardless_client.py ORIGIN SECRET`."""

import sys

import gocardless_pro
from gocardless_pro import errors, webhooks
from scenario import act, expect_error


def run(origin: str, secret: str) -> None:
    client = gocardless_pro.Client(
        access_token="live_1",  # noqa: S106 - of a fake
        base_url=origin,
        raise_on_idempotency_conflict=True,
    )
    params = {"payment_request": {"amount": 990, "currency": "EUR", "description": "Claim"}}
    key = {"Idempotency-Key": "client-1"}
    request = client.billing_requests.create(params=params, headers=dict(key))
    assert request.status == "pending"
    with expect_error(errors.IdempotentCreationConflictError) as found:
        client.billing_requests.create(params=params, headers=dict(key))
    assert found[0].conflicting_resource_id == request.id
    flow = client.billing_request_flows.create(
        params={
            "redirect_uri": "https://x.example", "exit_uri": "https://x.example",
            "links": {"billing_request": request.id},
        }
    )  # fmt: skip
    assert request.id in flow.authorisation_url
    act(origin, id=request.id, action="pay")
    request = client.billing_requests.get(request.id)
    payment = client.payments.get(request.links.payment_request_payment)
    assert (payment.status, payment.amount) == ("confirmed", 990)
    actions = [each.action for each in client.events.all(params={"payment": payment.id})]
    assert actions == ["confirmed", "submitted", "created"]
    refund = client.refunds.create(
        params={"amount": 90, "total_amount_confirmation": 90, "links": {"payment": payment.id}}
    )
    assert [each.id for each in client.refunds.all(params={"payment": payment.id})] == [refund.id]
    with expect_error(errors.InvalidStateError) as found:
        client.refunds.create(
            params={"amount": 90, "total_amount_confirmation": 90, "links": {"payment": payment.id}}
        )
    assert found[0].errors[0]["reason"] == "total_amount_confirmation_invalid"
    other = client.billing_requests.create(params=params)
    assert client.billing_requests.cancel(other.id).status == "cancelled"
    payout_id = act(origin, id="", action="payout")["id"]
    payout = client.payouts.get(payout_id)
    items = [*client.payout_items.all(params={"payout": payout.id})]
    assert payment.id in {each.links.payment for each in items}
    told = act(origin, "notification", id=payment.id)
    events = webhooks.parse(told["body"], secret, told["headers"]["Webhook-Signature"])
    assert events[0].links.payment == payment.id
    run_mandates(client, origin)


def run_mandates(client: gocardless_pro.Client, origin: str) -> None:
    request = client.billing_requests.create(
        params={"mandate_request": {"currency": "EUR", "scheme": "sepa_core"}}
    )
    act(origin, id=request.id, action="give")
    request = client.billing_requests.get(request.id)
    mandate = client.mandates.get(request.links.mandate_request_mandate)
    assert (mandate.status, mandate.scheme) == ("pending_submission", "sepa_core")
    account = client.customer_bank_accounts.get(mandate.links.customer_bank_account)
    assert account.account_number_ending == "11"
    params = {
        "amount": 990, "currency": "EUR", "charge_date": mandate.next_possible_charge_date,
        "metadata": {"dunwell_request": "1"}, "retry_if_possible": False,
        "links": {"mandate": mandate.id},
    }  # fmt: skip
    key = {"Idempotency-Key": "client-2"}
    payment = client.payments.create(params=params, headers=dict(key))
    assert (payment.status, payment.links.mandate) == ("pending_submission", mandate.id)
    with expect_error(errors.IdempotentCreationConflictError) as found:
        client.payments.create(params=params, headers=dict(key))
    assert found[0].conflicting_resource_id == payment.id
    assert [each.id for each in client.payments.all(params={"mandate": mandate.id})] == [payment.id]
    with expect_error(errors.ValidationFailedError):
        client.payments.create(params={**params, "charge_date": "2020-01-02"})
    assert client.payments.cancel(payment.id).status == "cancelled"
    with expect_error(errors.InvalidStateError) as found:
        client.payments.cancel(payment.id)
    assert found[0].errors[0]["reason"] == "cancellation_failed"
    assert client.mandates.cancel(mandate.id).status == "cancelled"
    with expect_error(errors.InvalidStateError) as found:
        client.payments.create(params=params)
    assert found[0].errors[0]["reason"] == "mandate_is_inactive"


if __name__ == "__main__":
    run(*sys.argv[1:])
    sys.stdout.write("ok\n")
