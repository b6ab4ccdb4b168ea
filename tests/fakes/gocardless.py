"""A fake GoCardless: billing requests, flows, mandates, payments, refunds, events, payouts."""

import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from tests.fakes.process import FakeProvider, Object, Refused, run_fake

_VERSION = "2015-07-06"
_LISTED = (
    "billing_requests", "payments", "events", "refunds", "payouts", "payout_items", "mandates",
    "customer_bank_accounts",
)  # fmt: skip
# Decision about a mandate -> its status, which is also the action of the event.
_MANDATE_ENDS = {"cancel": "cancelled", "fail": "failed", "expire": "expired"}
_COLLECTABLE = ("pending_submission", "submitted", "active")
_FEE_CENTS = 20


class GoCardlessEvents(FakeProvider):
    """The events, payouts and pages of GoCardless."""

    name = "GoCardless"

    def _add_event(self, kind: str, action: str, links: Mapping[str, str], **details: str) -> None:
        event_id = self.new_id("EV")
        event = {
            "id": event_id, "created_at": _now(), "resource_type": kind, "action": action,
            "links": dict(links), "metadata": {},
            "details": {"origin": "bank", "cause": action, **details},
        }  # fmt: skip
        self.table("events")[event_id] = event
        body = json.dumps({"events": [event], "meta": {"webhook_id": self.new_id("WB")}}).encode()
        self.notify(None, self.sign(body), body)

    def sign(self, body: bytes) -> dict[str, str]:
        signature = hmac.digest(self.secret.encode(), body, "sha256").hex()
        return {"Content-Type": "application/json", "Webhook-Signature": signature}

    def _pay_out(self) -> Object:
        payout_id, total, fees = self.new_id("PO"), 0, 0
        for payment in self.table("payments").values():
            if payment["status"] == "confirmed":
                payment["status"] = "paid_out"
                payment["links"]["payout"] = payout_id
                total, fees = total + payment["amount"], fees + _FEE_CENTS
                links = {"payment": payment["id"]}
                self._add_item(payout_id, "payment_paid_out", payment["amount"], links)
                self._add_item(payout_id, "gocardless_fee", -_FEE_CENTS, links)
                self._add_event("payments", "paid_out", links)
            elif payment["status"] == "charged_back" and payment["links"].pop("payout", None):
                total -= payment["amount"]
                links = {"payment": payment["id"]}
                self._add_item(payout_id, "payment_charged_back", -payment["amount"], links)
        payout = {
            "id": payout_id, "amount": total - fees, "deducted_fees": fees, "currency": "EUR",
            "arrival_date": _now()[:10], "created_at": _now(), "payout_type": "merchant",
            "reference": "GC-1", "status": "paid", "links": {"creditor": "CR1"}, "metadata": {},
        }  # fmt: skip
        self.table("payouts")[payout_id] = payout
        self._add_event("payouts", "paid", {"payout": payout_id})
        return payout

    def _add_item(self, payout_id: str, kind: str, cents: int, links: Mapping[str, str]) -> None:
        item_id = self.new_id("PI")
        self.table("payout_items")[item_id] = {
            "id": item_id, "type": kind, "amount": f"{cents}.0", "taxes": [],
            "links": {**links, "payout": payout_id},
        }  # fmt: skip

    def build_notification(self, object_id: str) -> Object:
        kinds = {
            "BRQ": "billing_request", "PM": "payment", "RF": "refund", "PO": "payout",
            "MD": "mandate",
        }  # fmt: skip
        kind = next(each for prefix, each in kinds.items() if object_id.startswith(prefix))
        events = [
            {"id": self.new_id("EV"), "created_at": _now(), "resource_type": f"{kind}s",
             "action": "changed", "links": {kind: each}}
            for each in (object_id, object_id)
        ]  # fmt: skip
        body = json.dumps({"events": events, "meta": {"webhook_id": "WB1"}})
        return {"headers": self.sign(body.encode()), "body": body}

    def describe_checkout(self, checkout_id: str) -> tuple[str, Sequence[str]] | None:
        found = self.table("billing_requests").get(checkout_id)
        if found is None:
            return None
        if found["mandate_request"] is not None:
            words = f"Mandate: {found['status']}"
            return words, ("give", "cancel") if found["status"] == "pending" else ()
        wanted = found["payment_request"]
        words = f"{wanted['amount']} {wanted['currency']}: {found['status']}"
        return words, ("pay", "later", "fail", "cancel") if found["status"] == "pending" else ()

    def find_return_url(self, checkout_id: str, decision: str) -> str:
        found = self.table("billing_requests")[checkout_id]
        url: str = found["_exit" if decision == "cancel" else "_redirect"]
        return url


class GoCardlessMoney(GoCardlessEvents):
    """What debtors, banks and GoCardless do: mandates, payments, refunds."""

    def act(self, object_id: str, action: str, details: Mapping[str, Any]) -> Object:
        match action, object_id[:2]:
            case "payout", _:
                return self._pay_out()
            case "forget_keys" | "forget_events", _:
                self.table(action.removeprefix("forget_")).clear()
                changed: Object = {}
            case "set_next_charge", _:
                self.state["next_charge_on"] = details["on"]
                changed = {}
            case _, "RF":
                changed = self._change_refund(object_id, action)
            case _, "MD":
                changed = self._change_mandate(self.table("mandates")[object_id], action)
            case _, "PM":
                changed = self._act_on_payment(self.table("payments")[object_id], action, details)
            case _:
                changed = self._change_request(object_id, action, details)
        return changed

    def _change_refund(self, refund_id: str, action: str) -> Object:
        refund = self.table("refunds")[refund_id]
        refund["status"] = {
            "settle": "paid", "fail": "bounced", "cancel": "cancelled", "process": "submitted",
        }[action]  # fmt: skip
        if action in ("fail", "cancel"):
            payment = self.table("payments")[refund["links"]["payment"]]
            payment["amount_refunded"] -= refund["amount"]
        self._add_event("refunds", refund["status"], {"refund": refund_id})
        return refund

    def _change_request(self, request_id: str, action: str, details: Mapping[str, Any]) -> Object:
        billing_request = self.table("billing_requests")[request_id]
        if action == "give":
            return self._give_mandate(billing_request)
        if action in ("pay", "later", "fail", "cancel"):
            return self._decide(billing_request, action)
        payment = self.table("payments")[billing_request["links"]["payment_request_payment"]]
        self._change_payment(payment, action, details)
        return billing_request

    def _act_on_payment(self, payment: Object, action: str, details: Mapping[str, Any]) -> Object:
        """Let something happen to a payment, but only in the status that `expected` names."""
        others = {key: value for key, value in details.items() if key != "expected"}
        if details.get("expected", payment["status"]) != payment["status"]:
            return payment
        return self._change_payment(payment, action, others)

    def _change_payment(self, payment: Object, action: str, details: Mapping[str, Any]) -> Object:
        status = {
            "settle": "confirmed", "bounce": "failed", "dispute": "charged_back",
            "win": "confirmed", "retry": "submitted", "paid_out": "paid_out",
            "submit": "submitted", "cancel": "cancelled",
        }[action]  # fmt: skip
        payment["status"] = status
        event = {"win": "chargeback_cancelled", "retry": "resubmission_requested"}
        self._add_event(
            "payments", event.get(action, status), {"payment": payment["id"]}, **details
        )
        return payment

    def _give_mandate(self, billing_request: Object) -> Object:
        assert billing_request["status"] == "pending", "the billing request has ended"
        mandate_id, account_id = self.new_id("MD"), self.new_id("BA")
        self.table("customer_bank_accounts")[account_id] = {
            "id": account_id, "account_number_ending": "11", "bank_name": "SPARKASSE KOELN",
            "country_code": "DE", "currency": "EUR", "enabled": True, "created_at": _now(),
            "account_holder_name": "ERIKA MUSTERMANN", "links": {"customer": "CU1"},
            "metadata": {},
        }  # fmt: skip
        self.table("mandates")[mandate_id] = {
            "id": mandate_id, "created_at": _now(), "reference": f"GC-{mandate_id[-6:].upper()}",
            "status": "pending_submission", "scheme": "sepa_core",
            "payments_require_approval": False, "metadata": {},
            "links": {"creditor": "CR1", "customer": "CU1", "customer_bank_account": account_id},
        }  # fmt: skip
        billing_request["status"] = "fulfilled"
        billing_request["links"]["mandate_request_mandate"] = mandate_id
        self._add_event("mandates", "created", {"mandate": mandate_id})
        links = {"billing_request": billing_request["id"], "mandate_request_mandate": mandate_id}
        self._add_event("billing_requests", "fulfilled", links)
        return billing_request

    def _change_mandate(self, mandate: Object, action: str) -> Object:
        """Confirm a mandate or end it. Payments not yet sent to the bank end with it."""
        mandate["status"] = _MANDATE_ENDS.get(action, "active")
        self._add_event("mandates", mandate["status"], {"mandate": mandate["id"]})
        for payment in self.table("payments").values():
            is_its = payment["links"].get("mandate") == mandate["id"]
            if action in _MANDATE_ENDS and is_its and payment["status"] == "pending_submission":
                self._change_payment(payment, "cancel", {})
        return mandate

    def next_charge_on(self) -> str:
        """Return the earliest day on which a payment that is created now is collected."""
        default = f"{datetime.now(UTC) + timedelta(days=4):%Y-%m-%d}"
        on: str = self.state.get("next_charge_on", default)
        return on

    def _decide(self, billing_request: Object, action: str) -> Object:
        assert billing_request["status"] == "pending", "the billing request has ended"
        request_id = billing_request["id"]
        if action == "cancel":
            billing_request["status"] = "cancelled"
            self._add_event("billing_requests", "cancelled", {"billing_request": request_id})
            return billing_request
        payment_id, wanted = self.new_id("PM"), billing_request["payment_request"]
        status = {"pay": "confirmed", "later": "submitted", "fail": "failed"}[action]
        self.table("payments")[payment_id] = {
            "id": payment_id, "amount": wanted["amount"], "amount_refunded": 0,
            "currency": wanted["currency"], "created_at": _now(), "charge_date": _now()[:10],
            "description": wanted.get("description"), "metadata": wanted.get("metadata", {}),
            "reference": None, "scheme": "sepa_credit_transfer", "status": status,
            "links": {"creditor": "CR1"},
        }  # fmt: skip
        billing_request["status"] = "fulfilled"
        billing_request["links"]["payment_request_payment"] = payment_id
        links = {"billing_request": request_id, "payment_request_payment": payment_id}
        self._add_event("billing_requests", "fulfilled", links)
        for each in dict.fromkeys(["created", "submitted", status]):
            self._add_event("payments", each, {"payment": payment_id})
        return billing_request

    def count_money(self) -> Mapping[str, int]:
        counts = {}
        paid = [
            (each["id"], self.table("payments")[each["links"]["payment_request_payment"]])
            for each in self.table("billing_requests").values()
            if "payment_request_payment" in each["links"]
        ]
        collected = [
            (each["id"], each)
            for each in self.table("payments").values()
            if "mandate" in each["links"]
        ]
        for checkout_id, payment in [*paid, *collected]:
            has_money = payment["status"] in ("confirmed", "paid_out")
            refunded = sum(
                refund["amount"]
                for refund in self.table("refunds").values()
                if refund["links"]["payment"] == payment["id"]
                and refund["status"] in ("submitted", "paid")
            )
            counts[checkout_id] = (payment["amount"] if has_money else 0) - refunded
        return counts


class FakeGoCardless(GoCardlessMoney):
    """The API."""

    def list_routes(self) -> Sequence[Route]:
        return [
            self.api("/billing_requests", "POST", self._create_billing_request, 201),
            self.api("/billing_requests/{id}/actions/cancel", "POST", self._cancel),
            self.api("/billing_request_flows", "POST", self._create_flow, 201),
            self.api("/refunds", "POST", self._create_refund, 201),
            self.api("/payments", "POST", self._create_payment, 201),
            self.api("/payments/{id}/actions/cancel", "POST", self._cancel_payment),
            self.api("/mandates/{id}/actions/cancel", "POST", self._cancel_mandate),
            *(self.api(f"/{kind}", "GET", self._make_list(kind)) for kind in _LISTED),
            *(self.api(f"/{kind}/{{id}}", "GET", self._make_get(kind)) for kind in _LISTED),
        ]

    def _check(self, request: Request, permission: str) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not token.startswith(("live_", "sandbox_")):
            raise _refuse(401, "invalid_api_usage", "access_token_not_found", "Unknown token")
        if request.headers.get("gocardless-version") != _VERSION:
            raise _refuse(400, "invalid_api_usage", "version_not_found", "Version not found")
        if permission in self.missing:
            raise _refuse(403, "invalid_api_usage", "insufficient_permissions", "Not permitted")

    def _make_list(self, kind: str) -> Any:
        async def run(request: Request) -> Object:
            self._check(request, f"{kind}: read")
            query = request.query_params
            rows = [*reversed(self.table(kind).values())]
            for name in ("payment", "payout", "mandate"):
                if name in query:
                    rows = [each for each in rows if each["links"].get(name) == query[name]]
            if "created_at[gte]" in query:
                rows = [each for each in rows if each["created_at"] >= query["created_at[gte]"]]
            if "after" in query:
                ids = [each["id"] for each in rows]
                rows = rows[ids.index(query["after"]) + 1 :]
            limit = int(query.get("limit", "50"))
            if not 1 <= limit <= 500:
                raise _refuse(422, "validation_failed", "invalid_limit", "must be 1 to 500")
            after = rows[limit - 1]["id"] if len(rows) > limit else None
            meta = {"cursors": {"before": None, "after": after}, "limit": limit}
            return {kind: [self._present(each) for each in rows[:limit]], "meta": meta}

        return run

    def _make_get(self, kind: str) -> Any:
        async def run(request: Request) -> Object:
            self._check(request, f"{kind}: read")
            found = self.table(kind).get(request.path_params["id"])
            if found is None:
                raise _refuse(404, "invalid_api_usage", "resource_not_found", "Not found")
            return {kind: self._present(found)}

        return run

    def _claim_key(self, request: Request, kind: str, object_id: str) -> None:
        """Refuse a key that was used before, with the id of what it created."""
        key = request.headers.get("idempotency-key")
        if not key:
            return
        known = self.table("keys").setdefault(f"{kind}/{key}", {"id": object_id})
        if known["id"] != object_id:
            links = {"conflicting_resource_id": known["id"]}
            raise _refuse(
                409, "invalid_state", "idempotent_creation_conflict", "Used before", links
            )

    async def _create_billing_request(self, request: Request) -> Object:
        self._check(request, "billing_requests: write")
        given = json.loads(await request.body()).get("billing_requests", {})
        payment, mandate = given.get("payment_request"), given.get("mandate_request")
        if payment is None and mandate is None:
            raise _refuse(422, "validation_failed", "invalid", "a request is missing")
        if payment is not None and (
            not isinstance(payment.get("amount"), int)
            or payment.get("currency") not in ("EUR", "GBP")
        ):
            raise _refuse(422, "validation_failed", "invalid", "amount or currency is invalid")
        if mandate is not None and mandate.get("currency") != "EUR":
            raise _refuse(422, "validation_failed", "invalid", "currency is invalid")
        request_id = self.new_id("BRQ")
        self._claim_key(request, "billing_requests", request_id)
        row = {
            "id": request_id, "created_at": _now(), "status": "pending", "mandate_request": mandate,
            "payment_request": payment and {**payment, "scheme": "sepa_credit_transfer"},
            "metadata": given.get("metadata", {}), "fallback_enabled": False, "actions": [],
            "links": {"customer": "CU1", "creditor": "CR1"},
        }  # fmt: skip
        self.table("billing_requests")[request_id] = row
        self._add_event("billing_requests", "created", {"billing_request": request_id})
        return {"billing_requests": _show(row)}

    async def _create_flow(self, request: Request) -> Object:
        self._check(request, "billing_requests: write")
        given = json.loads(await request.body()).get("billing_request_flows", {})
        request_id = given.get("links", {}).get("billing_request")
        billing_request = self.table("billing_requests").get(request_id)
        if billing_request is None or billing_request["status"] != "pending":
            raise _refuse(422, "invalid_state", "billing_request_not_pending", "Not pending")
        flow_id = self.new_id("BRF")
        self._claim_key(request, "billing_request_flows", flow_id)
        flow = {
            "id": flow_id, "redirect_uri": given["redirect_uri"], "exit_uri": given["exit_uri"],
            "authorisation_url": f"{self.origin}/pay/{request_id}?flow={flow_id}",
            "expires_at": _write(datetime.now(UTC) + timedelta(days=7)), "created_at": _now(),
            "language": given.get("language"), "links": {"billing_request": request_id},
        }  # fmt: skip
        billing_request["_redirect"] = given["redirect_uri"]
        billing_request["_exit"] = given["exit_uri"]
        return {"billing_request_flows": flow}

    async def _cancel(self, request: Request) -> Object:
        self._check(request, "billing_requests: write")
        billing_request = self.table("billing_requests").get(request.path_params["id"])
        if billing_request is None:
            raise _refuse(404, "invalid_api_usage", "resource_not_found", "Not found")
        if billing_request["status"] != "pending":
            raise _refuse(422, "invalid_state", "cancellation_failed", "Cannot be cancelled")
        return {"billing_requests": _show(self.act(billing_request["id"], "cancel", {}))}

    async def _create_refund(self, request: Request) -> Object:
        self._check(request, "refunds: write")
        given = json.loads(await request.body()).get("refunds", {})
        payment = self.table("payments").get(given.get("links", {}).get("payment"))
        if payment is None:
            raise _refuse(422, "validation_failed", "resource_not_found", "links is invalid")
        refund_id, amount = self.new_id("RF"), given["amount"]
        self._claim_key(request, "refunds", refund_id)
        if given.get("total_amount_confirmation") != payment["amount_refunded"] + amount:
            reason = "total_amount_confirmation_invalid"
            raise _refuse(422, "invalid_state", reason, "The total amount does not match")
        if not 0 < amount <= payment["amount"] - payment["amount_refunded"]:
            raise _refuse(422, "invalid_state", "refund_amount_exceeded", "The amount is too high")
        payment["amount_refunded"] += amount
        refund = {
            "id": refund_id, "amount": amount, "currency": payment["currency"],
            "created_at": _now(), "metadata": given.get("metadata", {}), "reference": None,
            "status": "created", "links": {"payment": payment["id"]},
        }  # fmt: skip
        self.table("refunds")[refund_id] = refund
        self._add_event("refunds", "created", {"refund": refund_id})
        return {"refunds": _show(refund)}

    async def _create_payment(self, request: Request) -> Object:
        self._check(request, "payments: write")
        given = json.loads(await request.body()).get("payments", {})
        mandate = self.table("mandates").get(given.get("links", {}).get("mandate"))
        if mandate is None:
            raise _refuse(422, "validation_failed", "resource_not_found", "links is invalid")
        payment_id = self.new_id("PM")
        self._claim_key(request, "payments", payment_id)
        if mandate["status"] not in _COLLECTABLE:
            raise _refuse(422, "invalid_state", "mandate_is_inactive", "Mandate is inactive")
        charge_on = given.get("charge_date") or self.next_charge_on()
        if charge_on < self.next_charge_on():
            reason = "charge_date_before_next_possible_charge_date"
            raise _refuse(422, "validation_failed", reason, "charge_date is too early")
        payment = {
            "id": payment_id, "amount": given["amount"], "amount_refunded": 0,
            "currency": given["currency"], "created_at": _now(), "charge_date": charge_on,
            "description": given.get("description"), "metadata": given.get("metadata", {}),
            "reference": None, "scheme": "sepa_core", "status": "pending_submission",
            "retry_if_possible": given.get("retry_if_possible", False),
            "links": {"creditor": "CR1", "mandate": mandate["id"]},
        }  # fmt: skip
        self.table("payments")[payment_id] = payment
        self._add_event("payments", "created", {"payment": payment_id})
        return {"payments": _show(payment)}

    async def _cancel_payment(self, request: Request) -> Object:
        self._check(request, "payments: write")
        payment = self.table("payments").get(request.path_params["id"])
        if payment is None:
            raise _refuse(404, "invalid_api_usage", "resource_not_found", "Not found")
        if payment["status"] != "pending_submission":
            raise _refuse(422, "invalid_state", "cancellation_failed", "Cannot be cancelled")
        return {"payments": _show(self._change_payment(payment, "cancel", {}))}

    async def _cancel_mandate(self, request: Request) -> Object:
        self._check(request, "mandates: write")
        mandate = self.table("mandates").get(request.path_params["id"])
        if mandate is None:
            raise _refuse(404, "invalid_api_usage", "resource_not_found", "Not found")
        if mandate["status"] not in _COLLECTABLE:
            raise _refuse(422, "invalid_state", "cancellation_failed", "Cannot be cancelled")
        return {"mandates": self._present(self._change_mandate(mandate, "cancel"))}

    def _present(self, row: Object) -> Object:
        """Return an object as the API shows it."""
        if row["id"].startswith("MD"):
            can_collect = row["status"] in _COLLECTABLE
            row = {
                **row,
                "next_possible_charge_date": self.next_charge_on() if can_collect else None,
            }
        return _show(row)


def _show(row: Object) -> Object:
    return {key: value for key, value in row.items() if not key.startswith("_")}


def _now() -> str:
    return _write(datetime.now(UTC))


def _write(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


def _refuse(
    status: int, kind: str, reason: str, message: str, links: Mapping[str, str] | None = None
) -> Refused:
    part: Object = {"reason": reason, "message": message}
    if links is not None:
        part["links"] = links
    error = {
        "message": message, "type": kind, "code": status, "errors": [part],
        "documentation_url": "https://developer.gocardless.com", "request_id": "0AA1",
    }  # fmt: skip
    return Refused(status, {"error": error})


if __name__ == "__main__":
    run_fake(FakeGoCardless)
