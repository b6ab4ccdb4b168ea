"""A fake Stripe: Checkout Sessions, PaymentIntents, charges, refunds, disputes, payouts, events."""

import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.routing import Route

from tests.fakes.process import FakeProvider, Object, Refused, parse_nested, run_fake

_TABLES = {
    "cs_": "sessions", "pi_": "intents", "ch_": "charges", "re_": "refunds", "du_": "disputes",
    "txn_": "balance", "po_": "payouts",
}  # fmt: skip
_OBJECTS = {
    "checkout/sessions": ("cs_", "Checkout Sessions"), "payment_intents": ("pi_", "PaymentIntents"),
    "charges": ("ch_", "Charges and Refunds"), "refunds": ("re_", "Charges and Refunds"),
    "disputes": ("du_", "Disputes"), "balance_transactions": ("txn_", "Balance"),
    "payouts": ("po_", "Payouts"),
}  # fmt: skip
_FILTERS = ("charge", "payment_intent", "payout", "status")
# The parameters that this fake knows. The official client checks ours (`make servers`).
_SESSION_PARAMETERS = {
    "allowed_payment_method_types", "cancel_url", "client_reference_id", "expires_at", "line_items",
    "locale", "metadata", "mode", "payment_intent_data", "success_url",
}  # fmt: skip
_DAY = 24 * 60 * 60


class StripeBalance(FakeProvider):
    """The account's balance with its payouts, and the events that are sent."""

    name = "Stripe"

    def _show(self, row: Object, expand: Sequence[str] = ()) -> Object:
        shown = {key: value for key, value in row.items() if not key.startswith("_")}
        for path in expand:
            first, _, rest = path.partition(".")
            named = shown.get(first)
            if isinstance(named, str):
                prefix = f"{named.split('_')[0]}_"
                found = self.table(_TABLES[prefix])[named]
                shown[first] = self._show(found, [rest] if rest else [])
        return shown

    def _move(self, amount: int, fee: int, kind: str, source: str) -> str:
        """Add a balance transaction and return its id."""
        moved_id = self.new_id("txn_")
        self.table("balance")[moved_id] = {
            "id": moved_id, "object": "balance_transaction", "amount": amount, "fee": fee,
            "net": amount - fee, "currency": "eur", "created": int(time.time()), "type": kind,
            "source": source, "payout": None,
        }  # fmt: skip
        return moved_id

    def _pay_out(self) -> Object:
        open_rows = [each for each in self.table("balance").values() if each["payout"] is None]
        payout_id, now = self.new_id("po_"), int(time.time())
        payout = {
            "id": payout_id, "object": "payout", "amount": sum(each["net"] for each in open_rows),
            "arrival_date": now, "automatic": True, "created": now, "currency": "eur",
            "status": "paid", "type": "bank_account", "method": "standard", "metadata": {},
        }  # fmt: skip
        for each in open_rows:
            each["payout"] = payout_id
        self.table("payouts")[payout_id] = payout
        moved = self.table("balance")[self._move(-payout["amount"], 0, "payout", payout_id)]
        moved["payout"] = payout_id
        self._tell("payout.paid", payout)
        return payout

    def _tell(self, kind: str, row: Object) -> None:
        body = self._build_event(kind, row)
        self.notify(None, self.sign(body), body)

    def _build_event(self, kind: str, row: Object) -> bytes:
        event = {
            "id": self.new_id("evt_"), "object": "event", "api_version": "2026-10-28.endive",
            "created": int(time.time()), "type": kind, "livemode": True, "pending_webhooks": 1,
            "request": {"id": None, "idempotency_key": None}, "data": {"object": self._show(row)},
        }  # fmt: skip
        return json.dumps(event).encode()

    def sign(self, body: bytes, at: int | None = None) -> dict[str, str]:
        signed_at = int(time.time()) if at is None else at
        message = f"{signed_at}.".encode() + body
        right = hmac.digest(self.secret.encode(), message, "sha256").hex()
        # The first v1 signature is made with the secret that is being replaced.
        old = hmac.digest(b"an older secret", message, "sha256").hex()
        signature = f"t={signed_at},v1={old},v1={right},v0={old}"
        return {"Content-Type": "application/json; charset=utf-8", "Stripe-Signature": signature}

    def build_notification(self, object_id: str) -> Object:
        row = self.table(_TABLES[f"{object_id.split('_', maxsplit=1)[0]}_"])[object_id]
        body = self._build_event(f"{row['object']}.updated", row)
        return {"headers": self.sign(body), "body": body.decode()}


class StripeMoney(StripeBalance):
    """What debtors and banks do: payments, refunds and disputes."""

    def _build_refund(self, form: Object) -> Object:
        charge = self.table("charges").get(form.get("charge", ""))
        if charge is None:
            raise _refuse(404, "No such charge")
        left = charge["amount"] - charge["amount_refunded"]
        amount = int(form.get("amount", left))
        if charge["disputed"] or left == 0:
            raise _refuse(400, f"Charge {charge['id']} was charged back or refunded before.")
        if not 0 < amount <= left:
            raise _refuse(400, f"Refund amount is greater than unrefunded amount on {charge['id']}")
        is_debit = charge["payment_method_details"]["type"] == "sepa_debit"
        refund_id = self.new_id("re_")
        charge["amount_refunded"] += amount
        row = {
            "id": refund_id, "object": "refund", "amount": amount, "charge": charge["id"],
            "currency": charge["currency"], "created": int(time.time()),
            "metadata": form.get("metadata", {}), "payment_intent": charge["payment_intent"],
            "status": "pending" if is_debit else "succeeded", "failure_balance_transaction": None,
            "balance_transaction": self._move(-amount, 0, "refund", refund_id),
        }  # fmt: skip
        self.table("refunds")[refund_id] = row
        self._tell("refund.created", row)
        self._tell("charge.refunded", charge)
        return row

    def act(self, object_id: str, action: str, details: Mapping[str, Any]) -> Object:
        if action == "forget_keys":
            self.table("keys").clear()
            return {}
        if object_id.startswith("cs_"):
            return self._act_on_session(self.table("sessions")[object_id], action, details)
        if object_id.startswith("re_"):
            return self._act_on_refund(self.table("refunds")[object_id], action)
        if object_id.startswith("du_"):
            return self._act_on_dispute(self.table("disputes")[object_id], action)
        assert action == "payout"
        return self._pay_out()

    def _act_on_session(self, session: Object, action: str, details: Mapping[str, Any]) -> Object:
        match action:
            case "pay" | "later":
                assert session["status"] == "open", "the session is closed"
                self._complete(session, is_later=action == "later")
            case "settle" | "bounce":
                _check_pending(self._find_charge(session))
                end = self._succeed if action == "settle" else self._fail
                end(session)
                outcome = "succeeded" if action == "settle" else "failed"
                self._tell(f"checkout.session.async_payment_{outcome}", session)
            case "fail":
                # The card is declined; the debtor can try another one.
                self._begin(session, "card")
                self._fail(session)
            case "expire" | "cancel":
                # Going back ends nothing at Stripe; the caller closes the session.
                assert session["status"] == "open", "the session is closed"
                session["status"], session["url"] = "expired", None
                self._tell("checkout.session.expired", session)
            case "dispute":
                self._dispute(session, details)
            case "refund_one_cent":
                # The merchant makes this refund in Stripe's dashboard.
                self._build_refund({"charge": self._find_charge(session)["id"], "amount": "1"})
        return session

    def _begin(self, session: Object, kind: str) -> Object:
        """Start a charge, which is pending."""
        now = int(time.time())
        intent_id = session["payment_intent"] or self.new_id("pi_")
        charge_id = self.new_id("ch_")
        method: Object = {"type": kind, kind: {"last4": "4242" if kind == "card" else "3000"}}
        if kind == "card":
            method["card"]["brand"] = "visa"
        charge = {
            "id": charge_id, "object": "charge", "amount": session["amount_total"],
            "amount_captured": session["amount_total"], "amount_refunded": 0, "created": now,
            "currency": session["currency"], "disputed": False, "paid": False,
            "payment_intent": intent_id, "payment_method_details": method, "status": "pending",
            "balance_transaction": None, "metadata": session["_intent"],
        }  # fmt: skip
        self.table("charges")[charge_id] = charge
        self.table("intents")[intent_id] = {
            "id": intent_id, "object": "payment_intent", "amount": session["amount_total"],
            "currency": session["currency"], "created": now, "latest_charge": charge_id,
            "status": "processing", "metadata": session["_intent"],
        }  # fmt: skip
        session["payment_intent"] = intent_id
        return charge

    def _find_charge(self, session: Object) -> Object:
        intent = self.table("intents")[session["payment_intent"]]
        return self.table("charges")[intent["latest_charge"]]

    def _complete(self, session: Object, *, is_later: bool) -> None:
        self._begin(session, "sepa_debit" if is_later else "card")
        session["status"], session["url"] = "complete", None
        if not is_later:
            self._succeed(session)
        self._tell("checkout.session.completed", session)

    def _succeed(self, session: Object) -> None:
        charge = self._find_charge(session)
        amount = charge["amount"]
        charge |= {"status": "succeeded", "paid": True}
        charge["balance_transaction"] = self._move(
            amount, 25 + amount * 15 // 1000, "charge", charge["id"]
        )
        self.table("intents")[charge["payment_intent"]]["status"] = "succeeded"
        session["payment_status"] = "paid"
        self._tell("charge.succeeded", charge)

    def _fail(self, session: Object) -> None:
        charge = self._find_charge(session)
        charge["status"] = "failed"
        self.table("intents")[charge["payment_intent"]]["status"] = "requires_payment_method"
        self._tell("charge.failed", charge)

    def _dispute(self, session: Object, details: Mapping[str, Any]) -> None:
        charge = self._find_charge(session)
        amount = details.get("amount", charge["amount"] - charge["amount_refunded"])
        _check_disputable(charge, amount)
        dispute_id = self.new_id("du_")
        is_inquiry = details.get("inquiry", False)
        moved = [] if is_inquiry else [self._move(-amount, 1500, "adjustment", dispute_id)]
        charge["disputed"] = not is_inquiry
        dispute = {
            "id": dispute_id, "object": "dispute", "amount": amount, "charge": charge["id"],
            "currency": charge["currency"], "created": int(time.time()), "metadata": {},
            "payment_intent": charge["payment_intent"], "reason": "fraudulent",
            "status": "warning_needs_response" if is_inquiry else "needs_response",
            "balance_transactions": [self.table("balance")[each] for each in moved],
        }  # fmt: skip
        self.table("disputes")[dispute_id] = dispute
        session["_dispute"] = dispute_id
        self._tell("charge.dispute.created", dispute)
        if moved:
            self._tell("charge.dispute.funds_withdrawn", dispute)

    def _act_on_dispute(self, dispute: Object, action: str) -> Object:
        assert action == "win"
        moved = self._move(dispute["amount"], 0, "adjustment", dispute["id"])
        dispute["balance_transactions"].append(self.table("balance")[moved])
        dispute["status"] = "won"
        self._tell("charge.dispute.funds_reinstated", dispute)
        return dispute

    def _act_on_refund(self, refund: Object, action: str) -> Object:
        refund["status"] = {"settle": "succeeded", "fail": "failed", "ask": "requires_action"}[
            action
        ]
        if action == "fail":
            self.table("charges")[refund["charge"]]["amount_refunded"] -= refund["amount"]
            refund["failure_balance_transaction"] = self._move(
                refund["amount"], 0, "refund_failure", refund["id"]
            )
            self._tell("refund.failed", refund)
        else:
            self._tell("refund.updated", refund)
        return refund

    def describe_checkout(self, checkout_id: str) -> tuple[str, Sequence[str]] | None:
        session = self.table("sessions").get(checkout_id)
        if session is None:
            return None
        words = f"{session['amount_total']} {session['currency']}: {session['status']}"
        is_open = session["status"] == "open"
        return words, ("pay", "later", "fail", "cancel") if is_open else ()

    def find_return_url(self, checkout_id: str, decision: str) -> str:
        session = self.table("sessions")[checkout_id]
        if decision == "fail":
            return f"{self.origin}/pay/{checkout_id}"
        url: str = session["cancel_url" if decision == "cancel" else "success_url"]
        return url

    def count_money(self) -> Mapping[str, int]:
        counts = {}
        for session in self.table("sessions").values():
            if session["payment_intent"] is None:
                continue
            charge = self._find_charge(session)
            if charge["status"] != "succeeded":
                continue
            refunded = sum(
                each["amount"]
                for each in self.table("refunds").values()
                if each["charge"] == charge["id"] and each["status"] == "succeeded"
            )
            disputed = sum(
                moved["amount"]
                for each in self.table("disputes").values()
                if each["charge"] == charge["id"]
                for moved in each["balance_transactions"]
            )
            counts[session["id"]] = charge["amount"] - refunded + disputed
        return counts


class FakeStripe(StripeMoney):
    """The API."""

    def list_routes(self) -> Sequence[Route]:
        routes = [
            self.api("/v1/checkout/sessions", "POST", self._create_session),
            self.api("/v1/checkout/sessions/{id}/expire", "POST", self._expire),
            self.api("/v1/refunds", "POST", self._create_refund),
        ]
        for path, (prefix, permission) in _OBJECTS.items():
            lists, gets = self._make_list(prefix, permission), self._make_get(prefix, permission)
            routes.append(self.api(f"/v1/{path}", "GET", lists))
            routes.append(self.api(f"/v1/{path}/{{id}}", "GET", gets))
        return routes

    def _check(self, request: Request, permission: str) -> None:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not key.startswith(("sk_", "rk_")):
            raise _refuse(401, "Invalid API Key provided")
        if permission in self.missing:
            raise _refuse(403, f"The provided key does not have access to {permission}.")

    def _make_list(self, prefix: str, permission: str) -> Any:
        async def run(request: Request) -> Object:
            self._check(request, f"{permission}: read")
            query = request.query_params
            rows = [*reversed(self.table(_TABLES[prefix]).values())]
            for name in _FILTERS:
                if name in query:
                    rows = [each for each in rows if each.get(name) == query[name]]
            since = int(query.get("created[gte]", "0"))
            rows = [each for each in rows if each["created"] >= since]
            if "starting_after" in query:
                ids = [each["id"] for each in rows]
                rows = rows[ids.index(query["starting_after"]) + 1 :]
            limit = int(query.get("limit", "10"))
            url = request.url.path
            shown = [self._show(each) for each in rows[:limit]]
            return {"object": "list", "url": url, "has_more": len(rows) > limit, "data": shown}

        return run

    def _make_get(self, prefix: str, permission: str) -> Any:
        async def run(request: Request) -> Object:
            self._check(request, f"{permission}: read")
            found = self.table(_TABLES[prefix]).get(request.path_params["id"])
            if found is None:
                raise _refuse(404, f"No such object: {request.path_params['id']}")
            names = ("expand[]", "expand[0]")
            paths = [value for each in names for value in request.query_params.getlist(each)]
            return self._show(found, paths)

        return run

    async def _create(self, request: Request, permission: str, build: Any) -> Object:
        """Create an object, or replay the answer to the same idempotency key."""
        self._check(request, f"{permission}: write")
        form = parse_nested(parse_qsl((await request.body()).decode(), keep_blank_values=True))
        key = request.headers.get("idempotency-key")
        known = self.table("keys").get(key) if key else None
        if known is not None:
            if known["form"] != form:
                message = "Keys for idempotent requests can only be used with the same parameters."
                raise _refuse(400, message, kind="idempotency_error")
            return dict(known["answer"])
        answer: Object = self._show(build(form))
        if key:
            self.table("keys")[key] = {"form": form, "answer": answer}
        return answer

    async def _create_session(self, request: Request) -> Object:
        return await self._create(request, "Checkout Sessions", self._build_session)

    def _build_session(self, form: Object) -> Object:
        items = [*form.get("line_items", {}).values()]
        if form.get("mode") != "payment" or len(items) != 1 or "success_url" not in form:
            raise _refuse(400, "Missing required param: line_items.")
        unknown = sorted(form.keys() - _SESSION_PARAMETERS)
        if unknown:
            raise _refuse(400, f"Received unknown parameter: {unknown[0]}")
        price = items[0]["price_data"]
        amount = int(items[0]["quantity"]) * int(price["unit_amount"])
        now, session_id = int(time.time()), self.new_id("cs_")
        row = {
            "id": session_id, "object": "checkout.session", "created": now,
            "amount_total": amount, "amount_subtotal": amount, "currency": price["currency"],
            "cancel_url": form.get("cancel_url"), "success_url": form["success_url"],
            "client_reference_id": form.get("client_reference_id"),
            "expires_at": int(form.get("expires_at", now + _DAY)), "livemode": True,
            "locale": form.get("locale"), "metadata": form.get("metadata", {}), "mode": "payment",
            "payment_intent": None, "payment_status": "unpaid", "status": "open",
            "payment_method_types": [
                *form.get("allowed_payment_method_types", {"0": "card"}).values()
            ],
            "ui_mode": "hosted_page", "url": f"{self.origin}/pay/{session_id}",
            "_intent": form.get("payment_intent_data", {}).get("metadata", {}),
        }  # fmt: skip
        self.table("sessions")[session_id] = row
        return row

    async def _expire(self, request: Request) -> Object:
        self._check(request, "Checkout Sessions: write")
        session = self.table("sessions").get(request.path_params["id"])
        if session is None:
            raise _refuse(404, "No such checkout.session")
        if session["status"] != "open":
            raise _refuse(400, "Only Checkout Sessions with a status in [open] can be expired.")
        return self._show(self.act(session["id"], "expire", {}))

    async def _create_refund(self, request: Request) -> Object:
        return await self._create(request, "Charges and Refunds", self._build_refund)


def _check_pending(charge: Object) -> None:
    assert charge["status"] == "pending", "the payment has ended"


def _check_disputable(charge: Object, amount: int) -> None:
    assert charge["paid"], "it was not paid"
    assert not charge["disputed"], "it is disputed"
    assert amount > 0, "nothing is left of it"


def _refuse(status: int, message: str, kind: str = "invalid_request_error") -> Refused:
    return Refused(status, {"error": {"type": kind, "message": message}})


if __name__ == "__main__":
    run_fake(FakeStripe)
