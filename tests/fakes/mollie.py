"""A fake Mollie: payments, refunds, chargebacks, settlements."""

import copy
import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.routing import Route

from tests.fakes.process import FakeProvider, Object, Refused, run_fake

# Means of payment that can be cancelled after the debtor has chosen them.
_CANCELABLE = ("creditcard", "banktransfer", "paypal")
_KEYS = ("live_", "test_")
_ENDED = ("paid", "failed", "canceled", "expired")


class MollieMoney(FakeProvider):
    """What debtors, banks and Mollie do: payments, refunds, chargebacks, settlements."""

    name = "Mollie"
    media_type = "application/hal+json"

    def _links(self, path: str) -> Object:
        documentation = {"href": "https://docs.mollie.com", "type": "text/html"}
        return {"self": _link(f"{self.origin}{path}"), "documentation": documentation}

    def _list_of_payment(self, kind: str, payment_id: str) -> list[Object]:
        return [each for each in self.table(kind).values() if each["paymentId"] == payment_id]

    def act(self, object_id: str, action: str, details: Mapping[str, Any]) -> Object:
        if action == "payout":
            return self._settle()
        if action == "forget_keys":
            self.table("keys").clear()
            return {}
        if object_id.startswith("re_"):
            refund = self.table("refunds")[object_id]
            refund["status"] = {
                "settle": "refunded", "fail": "failed", "cancel": "canceled",
                "process": "processing",
            }[action]  # fmt: skip
            self._tell(self.table("payments")[refund["paymentId"]])
            return refund
        if object_id.startswith("chb_"):
            assert action == "win"
            chargeback = self.table("chargebacks")[object_id]
            chargeback["reversedAt"] = _write(datetime.now(UTC))
            self._tell(self.table("payments")[chargeback["paymentId"]])
            return chargeback
        return self._act_on_payment(self.table("payments")[object_id], action, details)

    def _act_on_payment(self, payment: Object, action: str, details: Mapping[str, Any]) -> Object:
        now = _write(datetime.now(UTC))
        match action:
            case "pay" | "settle":
                assert payment["status"] in ("open", "pending"), "the payment has ended"
                is_card = action == "pay" and payment["method"] in (None, "creditcard")
                payment |= {"status": "paid", "paidAt": now, "isCancelable": False}
                payment["method"] = payment["method"] or "creditcard"
                if is_card:
                    payment["details"] = {"cardLabel": "Visa", "cardNumber": "4242"}
            case "later":
                # Mollie sends no notification of this.
                payment |= {"status": "pending", "method": "directdebit", "isCancelable": False}
                return payment
            case "fail" | "bounce":
                payment |= {"status": "failed", "failedAt": now, "isCancelable": False}
            case "cancel":
                payment |= {"status": "canceled", "canceledAt": now, "isCancelable": False}
            case "expire":
                payment |= {"status": "expired", "expiredAt": now, "isCancelable": False}
            case "corrupt":
                payment["amount"]["value"] = details["value"]
                return payment
            case "dispute":
                self._charge_back(payment, details)
        if payment["status"] != "open":
            payment["_links"].pop("checkout", None)
        self._tell(payment)
        return payment

    def _charge_back(self, payment: Object, details: Mapping[str, Any]) -> None:
        chargeback_id = self.new_id("chb_")
        cents = details.get("amount", _parse_cents(payment["amount"]))
        amount = _write_amount(cents)
        payment["amountChargedBack"] = amount
        payment["_dispute"] = chargeback_id
        links = self._links(f"/v2/payments/{payment['id']}/chargebacks/{chargeback_id}")
        self.table("chargebacks")[chargeback_id] = {
            "resource": "chargeback", "id": chargeback_id, "amount": amount,
            "paymentId": payment["id"], "createdAt": _write(datetime.now(UTC)), "reversedAt": None,
            "settlementAmount": _write_amount(-cents),
            "_links": {**links, "payment": payment["_links"]["self"]},
        }  # fmt: skip

    def _settle(self) -> Object:
        settlement_id, now = self.new_id("stl_"), datetime.now(UTC)
        counted = {
            "payments": ("paid", 1), "refunds": ("refunded", -1), "chargebacks": (None, -1),
        }  # fmt: skip
        total, count = 0, 0
        for kind, (status, sign) in counted.items():
            for each in self.table(kind).values():
                if "_settlement" not in each and each.get("status") == status:
                    each["_settlement"] = settlement_id
                    total += sign * _parse_cents(each["amount"])
                    count += kind == "payments"
        fees = _write_amount(29 * count)
        cost = {
            "description": "Credit card", "method": "creditcard", "count": count,
            "rate": {"fixed": _write_amount(29)}, "amountNet": fees, "amountVat": None,
            "amountGross": fees,
        }  # fmt: skip
        settlement = {
            "resource": "settlement", "id": settlement_id, "status": "paidout",
            "amount": _write_amount(total - 29 * count), "balanceId": "bal_1",
            "createdAt": _write(now - timedelta(days=2)), "settledAt": _write(now),
            "periods": {f"{now:%Y}": {f"{now:%m}": {"costs": [cost], "revenue": []}}},
            "_links": self._links(f"/v2/settlements/{settlement_id}"),
        }  # fmt: skip
        self.table("settlements")[settlement_id] = settlement
        return settlement

    def _tell(self, payment: Object) -> None:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        self.notify(payment["webhookUrl"], headers, urlencode({"id": payment["id"]}).encode())

    def build_notification(self, object_id: str) -> Object:
        """Build a signed notification; those of payments are forms with the id alone."""
        event = {
            "resource": "event", "id": self.new_id("event_"), "type": "payment.paid",
            "entityId": object_id, "createdAt": _write(datetime.now(UTC)),
            "_links": self._links("/v2/events"),
        }  # fmt: skip
        body = json.dumps(event)
        signature = hmac.digest(self.secret.encode(), body.encode(), "sha256").hex()
        headers = {
            "Content-Type": "application/json", "X-Mollie-Signature": f"sha256={signature}",
        }  # fmt: skip
        return {"headers": headers, "body": body}

    def describe_checkout(self, checkout_id: str) -> tuple[str, Sequence[str]] | None:
        payment = self.table("payments").get(checkout_id)
        if payment is None:
            return None
        amount = payment["amount"]
        words = f"{amount['value']} {amount['currency']}: {payment['status']}"
        return words, ("pay", "later", "fail", "cancel") if payment["status"] == "open" else ()

    def find_return_url(self, checkout_id: str, decision: str) -> str:
        payment = self.table("payments")[checkout_id]
        url: str = (decision == "cancel" and payment["cancelUrl"]) or payment["redirectUrl"]
        return url

    def count_money(self) -> Mapping[str, int]:
        counts = {}
        for payment in self.table("payments").values():
            if payment["status"] != "paid":
                continue
            refunds = [
                _parse_cents(each["amount"])
                for each in self._list_of_payment("refunds", payment["id"])
                if each["status"] == "refunded"
            ]
            chargebacks = [
                _parse_cents(each["amount"])
                for each in self._list_of_payment("chargebacks", payment["id"])
                if each["reversedAt"] is None
            ]
            counts[payment["id"]] = (
                _parse_cents(payment["amount"]) - sum(refunds) - sum(chargebacks)
            )
        return counts


class FakeMollie(MollieMoney):
    """The API."""

    def list_routes(self) -> Sequence[Route]:
        payment = "/v2/payments/{id}"
        return [
            self.api("/v2/payments", "POST", self._create_payment, 201),
            self.api("/v2/payments", "GET", self._make_list("payments")),
            self.api(payment, "GET", self._get_payment),
            self.api(payment, "DELETE", self._cancel_payment),
            self.api(f"{payment}/refunds", "POST", self._create_refund, 201),
            self.api(f"{payment}/refunds", "GET", self._make_list("refunds")),
            self.api("/v2/refunds", "GET", self._make_list("refunds")),
            self.api("/v2/chargebacks", "GET", self._make_list("chargebacks")),
            self.api("/v2/settlements", "GET", self._make_list("settlements")),
            *(
                self.api(f"/v2/settlements/{{settlement}}/{kind}", "GET", self._make_list(kind))
                for kind in ("payments", "refunds", "chargebacks")
            ),
        ]

    def _check(self, request: Request, permission: str, prefixes: Sequence[str]) -> None:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not key.startswith(tuple(prefixes)):
            raise _refuse(401, "Missing authentication, or failed to authenticate")
        if permission in self.missing:
            raise _refuse(403, "The credentials do not have the required permission")

    def _make_list(self, kind: str) -> Any:
        async def run(request: Request) -> Object:
            is_organisation = request.url.path.startswith("/v2/settlements")
            permission = "settlements.read" if is_organisation else f"{kind.capitalize()}: read"
            self._check(request, permission, ("access_",) if is_organisation else _KEYS)
            rows = [*reversed(self.table(kind).values())]
            settlement = request.path_params.get("settlement")
            if settlement is not None:
                rows = [each for each in rows if each.get("_settlement") == settlement]
            if "id" in request.path_params:
                rows = [each for each in rows if each["paymentId"] == request.path_params["id"]]
            if "from" in request.query_params:
                ids = [each["id"] for each in rows]
                rows = rows[ids.index(request.query_params["from"]) :]
            limit = int(request.query_params.get("limit", "50"))
            if not 1 <= limit <= 250:
                raise _refuse(400, "The limit must be between 1 and 250")
            shown, rest = rows[:limit], rows[limit:]
            following = None
            if rest:
                query = urlencode({"from": rest[0]["id"], "limit": limit})
                following = _link(f"{self.origin}{request.url.path}?{query}")
            links = {**self._links(request.url.path), "previous": None, "next": following}
            entries = [_show(each) for each in shown]
            return {"count": len(shown), "_embedded": {kind: entries}, "_links": links}

        return run

    def _replay(self, request: Request) -> Object | None:
        key = request.headers.get("idempotency-key")
        answer: Object | None = self.table("keys").get(key) if key else None
        return answer

    def _remember(self, request: Request, answer: Object) -> Object:
        key = request.headers.get("idempotency-key")
        if key:
            # A copy, because the first answer is replayed as it was.
            self.table("keys")[key] = copy.deepcopy(answer)
        return answer

    async def _create_payment(self, request: Request) -> Object:
        self._check(request, "Payments: write", _KEYS)
        earlier = self._replay(request)
        if earlier is not None:
            return earlier
        given = json.loads(await request.body())
        for name in ("amount", "description", "redirectUrl"):
            if name not in given:
                raise _refuse(422, f"The {name} is missing", name)
        _parse_cents(given["amount"])
        now, payment_id = datetime.now(UTC), self.new_id("tr_")
        links = self._links(f"/v2/payments/{payment_id}")
        links["checkout"] = _link(f"{self.origin}/pay/{payment_id}", "text/html")
        links["dashboard"] = _link(f"{self.origin}/dashboard/{payment_id}", "text/html")
        payment = {
            "resource": "payment", "id": payment_id, "mode": "live", "createdAt": _write(now),
            "amount": given["amount"], "description": given["description"],
            "method": given.get("method"), "metadata": given.get("metadata"), "status": "open",
            "isCancelable": given.get("method") in (None, *_CANCELABLE), "profileId": "pfl_1",
            "expiresAt": _write(now + timedelta(minutes=15)), "sequenceType": "oneoff",
            "redirectUrl": given["redirectUrl"], "webhookUrl": given.get("webhookUrl"),
            "cancelUrl": given.get("cancelUrl"), "locale": given.get("locale"), "_links": links,
        }  # fmt: skip
        self.table("payments")[payment_id] = payment
        return self._remember(request, _show(payment))

    def _find(self, request: Request) -> Object:
        found = self.table("payments").get(request.path_params["id"])
        if found is None:
            raise _refuse(404, "No payment exists with token.")
        return found

    async def _get_payment(self, request: Request) -> Object:
        self._check(request, "Payments: read", _KEYS)
        payment = self._find(request)
        wanted = request.query_params.get("embed", "").split(",")
        embedded = {
            kind: [_show(each) for each in rows]
            for kind in ("refunds", "chargebacks")
            if kind in wanted and (rows := self._list_of_payment(kind, payment["id"]))
        }
        return {**_show(payment), **({"_embedded": embedded} if embedded else {})}

    async def _cancel_payment(self, request: Request) -> Object:
        self._check(request, "Payments: write", _KEYS)
        payment = self._find(request)
        if payment["status"] in _ENDED or not payment["isCancelable"]:
            raise _refuse(422, "The payment cannot be canceled")
        self.act(payment["id"], "cancel", {})
        return _show(payment)

    async def _create_refund(self, request: Request) -> Object:
        self._check(request, "Refunds: write", _KEYS)
        earlier = self._replay(request)
        if earlier is not None:
            return earlier
        payment = self._find(request)
        given = json.loads(await request.body())
        cents = _parse_cents(given.get("amount", {}))
        refunded = sum(
            _parse_cents(each["amount"])
            for each in self._list_of_payment("refunds", payment["id"])
            if each["status"] not in ("failed", "canceled")
        )
        if payment["status"] != "paid" or cents + refunded > _parse_cents(payment["amount"]):
            raise _refuse(422, "The amount is higher than the maximum", "amount")
        refund_id = self.new_id("re_")
        links = self._links(f"/v2/payments/{payment['id']}/refunds/{refund_id}")
        refund = {
            "resource": "refund", "id": refund_id, "mode": "live", "amount": given["amount"],
            "description": given.get("description", ""), "metadata": given.get("metadata"),
            "paymentId": payment["id"], "status": "queued", "createdAt": _write(datetime.now(UTC)),
            "_links": {**links, "payment": payment["_links"]["self"]},
        }  # fmt: skip
        self.table("refunds")[refund_id] = refund
        return self._remember(request, _show(refund))


def _show(row: Object) -> Object:
    hidden = ("_settlement", "_dispute")
    return {key: value for key, value in row.items() if key not in hidden}


def _link(href: str, kind: str = "application/hal+json") -> Object:
    return {"href": href, "type": kind}


def _write(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S+00:00")


def _write_amount(cents: int) -> Object:
    sign = "-" if cents < 0 else ""
    return {"currency": "EUR", "value": f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02}"}


def _parse_cents(amount: Object) -> int:
    whole, point, rest = str(amount.get("value", "")).partition(".")
    if not isinstance(amount.get("value"), str) or not point or len(rest) != 2:
        raise _refuse(422, "The amount contains an invalid value", "amount")
    return int(whole + rest)


def _refuse(status: int, detail: str, field: str | None = None) -> Refused:
    documentation = {"href": "https://docs.mollie.com/errors", "type": "text/html"}
    body: Object = {
        "status": status, "title": "Error", "detail": detail,
        "_links": {"documentation": documentation},
    }  # fmt: skip
    if field is not None:
        body["field"] = field
    return Refused(status, body)


if __name__ == "__main__":
    run_fake(FakeMollie)
