"""Stripe's official client against our fake Stripe, and its types against our requests.

`stripe_client.py ORIGIN SECRET` runs a scenario. `stripe_client.py --check` reads requests from
the standard input, as JSON of [name, parameters], and fails for unknown parameters.
"""

import json
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

import stripe
from scenario import act, expect_error
from stripe.params import (
    _balance_transaction_list_params,
    _dispute_list_params,
    _payout_list_params,
    _refund_create_params,
    _refund_list_params,
)
from stripe.params.checkout import _session_create_params, _session_list_params
from typing_extensions import get_type_hints, is_typeddict

PARAMETERS = {
    "POST /v1/checkout/sessions": _session_create_params.SessionCreateParams,
    "GET /v1/checkout/sessions": _session_list_params.SessionListParams,
    "POST /v1/refunds": _refund_create_params.RefundCreateParams,
    "GET /v1/refunds": _refund_list_params.RefundListParams,
    "GET /v1/disputes": _dispute_list_params.DisputeListParams,
    "GET /v1/payouts": _payout_list_params.PayoutListParams,
    "GET /v1/balance_transactions": (_balance_transaction_list_params.BalanceTransactionListParams),
}

# Names that the client's types use and import only for type checkers.
_NAMES = {"StripeContext": Any, "Mapping": Mapping}


def check(value: Any, kind: Any, path: str) -> None:
    """Fail if the value, with texts for numbers, does not have the type."""
    if is_typeddict(kind):
        _check_parameters(value, kind, path)
        return
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        _check_any(value, parts, path)
    elif origin in (list, dict):
        assert isinstance(value, Mapping), path
        for name, part in value.items():
            check(part, parts[-1], f"{path}[{name}]")
    elif origin is Literal:
        assert value in parts, f"{path}: {value!r} is not allowed"
    else:
        assert kind in (int, str), f"{path}: {kind} was not expected"
        assert isinstance(value, str), path
        assert kind is str or value.isdecimal(), path


def _check_parameters(value: Any, kind: Any, path: str) -> None:
    assert isinstance(value, Mapping), path
    hints = get_type_hints(kind, localns=_NAMES)
    unknown = value.keys() - hints.keys()
    assert not unknown, f"{path}: unknown parameters {sorted(unknown)}"
    for name, part in value.items():
        check(part, hints[name], f"{path}.{name}")


def _check_any(value: Any, kinds: Sequence[Any], path: str) -> None:
    failures = []
    for each in kinds:
        try:
            check(value, each, path)
        except AssertionError as failure:
            failures.append(str(failure))
        else:
            return
    raise AssertionError(f"{path}: {failures}")


def run(origin: str, secret: str) -> None:
    client = stripe.StripeClient("sk_live_1", base_addresses={"api": origin}, max_network_retries=0)
    session_id = try_sessions(client, origin)
    try_money(client, origin, session_id)
    told = act(origin, "notification", id=session_id)
    signature = told["headers"]["Stripe-Signature"]
    event = client.construct_event(told["body"].encode(), signature, secret)
    assert event.data.object["id"] == session_id


def try_sessions(client: stripe.StripeClient, origin: str) -> str:
    """Open and close sessions. Return the id of a paid one."""
    item = {
        "quantity": 1,
        "price_data": {"currency": "eur", "unit_amount": 990, "product_data": {"name": "Claim"}},
    }
    params: Any = {"mode": "payment", "success_url": "https://x.example", "line_items": [item]}
    options: Any = {"idempotency_key": "client-1"}
    sessions = client.v1.checkout.sessions
    session = sessions.create(params, options)
    assert isinstance(session, stripe.checkout.Session)
    assert (session.status, session.payment_status, session.amount_total) == ("open", "unpaid", 990)
    assert sessions.create(params, options).id == session.id
    with expect_error(stripe.IdempotencyError):
        sessions.create({**params, "success_url": "https://y.example"}, options)
    other = sessions.create(params)
    assert sessions.expire(other.id).status == "expired"
    with expect_error(stripe.InvalidRequestError) as errors:
        sessions.expire(other.id)
    assert errors[0].http_status == 400
    act(origin, id=session.id, action="later")
    act(origin, id=session.id, action="settle")
    return session.id


def try_money(client: stripe.StripeClient, origin: str, session_id: str) -> None:
    """Follow the money of a session through a refund, a dispute and a payout."""
    expand = ["payment_intent.latest_charge.balance_transaction"]
    intent = client.v1.checkout.sessions.retrieve(session_id, {"expand": expand}).payment_intent
    assert isinstance(intent, stripe.PaymentIntent)
    charge = intent.latest_charge
    assert isinstance(charge, stripe.Charge)
    assert isinstance(charge.balance_transaction, stripe.BalanceTransaction)
    assert (intent.status, charge.status, charge.amount_captured) == ("succeeded", "succeeded", 990)
    refund = client.v1.refunds.create({"charge": charge.id, "amount": 90})
    assert refund.status == "pending"
    act(origin, id=refund.id, action="fail")
    found = [*client.v1.refunds.list({"charge": charge.id, "limit": 1}).auto_paging_iter()]
    assert [(each.id, each.status) for each in found] == [(refund.id, "failed")]
    act(origin, id=session_id, action="dispute")
    [dispute] = client.v1.disputes.list({"charge": charge.id}).data
    assert [each.amount for each in dispute.balance_transactions] == [-990]
    payout = client.v1.payouts.retrieve(act(origin, id="", action="payout")["id"])
    parts = client.v1.balance_transactions.list({"payout": payout.id, "limit": 100})
    assert charge.id in {each.source for each in parts.auto_paging_iter()}


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        for name, given in json.load(sys.stdin):
            check(given, PARAMETERS[name], name)
    else:
        run(*sys.argv[1:])
    sys.stdout.write("ok\n")
