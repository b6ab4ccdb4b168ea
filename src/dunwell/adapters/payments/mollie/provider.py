"""Payments through Mollie's payments API (https://docs.mollie.com/reference).

A checkout is a payment; its refunds and chargebacks are fetched with it. Mollie's notifications of
payments are unsigned and name only the payment, so anyone can make us fetch it, and nothing else.
Some means of payment cannot be cancelled once the debtor has chosen them. Payouts are Mollie's
settlements, which an API key cannot read: they need an organisation access token.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import msgspec

from dunwell.accounts.installation.payment_providers import MollieAccount, find_payment_secret
from dunwell.adapters.payments.api_client import (
    AccessProbe,
    Answer,
    ApiClient,
    PaymentProviderUnusable,
)
from dunwell.adapters.payments.api_values import check_currency, check_id, is_authentic, is_id
from dunwell.adapters.payments.mollie.objects import (
    MolliePage,
    MolliePayment,
    MollieRefund,
    MollieSettledPart,
    MollieSettlement,
    build_amount,
    build_payment_document,
    decide_status,
    list_movements,
    parse_event,
    parse_form,
    parse_reason,
)
from dunwell.cases.payments.provider import (
    Checkout,
    CheckoutCancellation,
    CheckoutRequest,
    CheckoutState,
    CheckoutStatus,
    MoneyMovement,
    NotificationRejected,
    PaymentProviderUnavailable,
    Payout,
    PayoutMovement,
)

KIND = "MOLLIE"
_PAYMENTS = "/v2/payments"
_SIGNATURE = re.compile(r"sha256=([0-9a-f]{64})")
_JSON = {"Content-Type": "application/json"}
_PROBES = (
    AccessProbe("Payments: read", "GET", f"{_PAYMENTS}?limit=1"),
    AccessProbe("Refunds: read", "GET", "/v2/refunds?limit=1"),
    AccessProbe("Chargebacks: read", "GET", "/v2/chargebacks?limit=1"),
    AccessProbe("Payments: write", "DELETE", f"{_PAYMENTS}/tr_none"),
    AccessProbe("Refunds: write", "POST", f"{_PAYMENTS}/tr_none/refunds", b"{}"),
)
_SETTLEMENT_PROBES = (AccessProbe("settlements.read", "GET", "/v2/settlements?limit=1"),)
# The longest time from the creation of a settlement until it is paid out.
_OPEN_FOR = timedelta(days=45)


class MollieProvider:
    """A `PaymentProvider` for one website profile at Mollie."""

    kind = KIND

    def __init__(
        self, name: str, account: MollieAccount, secrets: Mapping[str, bytes], **options: Any
    ) -> None:
        """`secrets` are those of the installation file, `options` those of the client. Raises
        PaymentProviderUnusable."""
        key = find_payment_secret(secrets, name, "apiKeyFile")
        if key is None:
            raise PaymentProviderUnusable(
                "The API key is missing. Apply the installation file again."
            )
        self.name = name
        self.is_closed = account.closed
        # A key of Mollie's test mode opens checkouts that move no money.
        self.moves_money = not key.startswith(b"test_")
        self._webhook_secret = find_payment_secret(secrets, name, "webhookSecretFile")
        self._api = ApiClient(
            name, account.base_url, account.networks, _authorize(key),
            parse_reason=parse_reason, **options,
        )  # fmt: skip
        token = find_payment_secret(secrets, name, "accessTokenFile")
        self._organisation_headers = None if token is None else _authorize(token)

    async def open_checkout(self, request: CheckoutRequest) -> Checkout:
        check_currency(request.currency)
        document = build_payment_document(request)
        payment = await self._post(_PAYMENTS, document, request.request_id, MolliePayment)
        if payment.links.checkout is None:
            raise PaymentProviderUnavailable("The payment provider has closed this checkout.")
        url = self._api.check_page_url(payment.links.checkout.href)
        return Checkout(payment.id, url, payment.expires_at)

    async def cancel_checkout(self, checkout_id: str) -> CheckoutCancellation:
        payment = await self._fetch(checkout_id)
        if payment.is_cancelable:
            response = await self._api.send("DELETE", f"{_PAYMENTS}/{payment.id}", {})
            # The payment may have been made in the meantime.
            has_changed = response.status in (409, 422)
            payment = (
                await self._fetch(checkout_id)
                if has_changed
                else self._api.parse(response, MolliePayment)
            )
        match decide_status(payment):
            case CheckoutStatus.PAID:
                return CheckoutCancellation.ALREADY_PAID
            case CheckoutStatus.OPEN | CheckoutStatus.PENDING:
                return CheckoutCancellation.CANNOT_CANCEL
            case _:
                return CheckoutCancellation.CANCELLED

    async def fetch_checkout(self, checkout_id: str) -> CheckoutState:
        payment = await self._fetch(checkout_id)
        refund_ids = [each.id for each in payment.embedded.refunds]
        chargeback_ids = [each.id for each in payment.embedded.chargebacks]
        return CheckoutState(
            decide_status(payment), [*list_movements(payment)], [*refund_ids, *chargeback_ids]
        )

    async def _fetch(self, checkout_id: str) -> MolliePayment:
        path = f"{_PAYMENTS}/{check_id(checkout_id)}?embed=refunds,chargebacks"
        payment = await self._api.get(path, MolliePayment)
        self._api.check_same(checkout_id, payment.id)
        return payment

    async def refund(self, checkout_id: str, movement: MoneyMovement, cents: int, key: UUID) -> str:
        # Mollie forgets a key after an hour, but the refund keeps it.
        for refund in (await self._fetch(checkout_id)).embedded.refunds:
            if isinstance(refund.metadata, dict) and refund.metadata.get("dunwell_refund") == str(
                key
            ):
                return refund.id
        document = {
            "amount": build_amount(cents, movement.currency),
            "metadata": {"dunwell_refund": str(key)},
        }
        path = f"{_PAYMENTS}/{check_id(movement.movement_id)}/refunds"
        return (await self._post(path, document, key, MollieRefund)).id

    async def list_payouts(self, since: datetime) -> Sequence[Payout]:
        """Return no payouts if there is no organisation access token, without which they cannot be
        listed."""
        if self._organisation_headers is None:
            return []
        payouts = []
        for settlement in await self._list_settlements(since - _OPEN_FOR):
            paid_at = settlement.settled_at
            if settlement.status == "paidout" and paid_at is not None and paid_at >= since:
                payouts.append(await self._build_payout(settlement, paid_at))
        return sorted(payouts, key=lambda each: each.paid_at)

    async def _list_settlements(self, since: datetime) -> list[MollieSettlement]:
        """Return at least all settlements that were created since this time, newest first. The last
        page of the list may also have older ones."""

        def is_new(raw: msgspec.Raw) -> bool:
            created_at = self._api.decode(raw, MollieSettlement).created_at
            return created_at is None or created_at >= since

        entries = await self._list("/v2/settlements", "settlements", is_new)
        return [self._api.decode(raw, MollieSettlement) for raw in entries]

    async def _build_payout(self, settlement: MollieSettlement, paid_at: datetime) -> Payout:
        movements = [
            _build_movement(kind, self._api.decode(raw, MollieSettledPart))
            for kind in ("payments", "refunds", "chargebacks")
            for raw in await self._list(f"/v2/settlements/{settlement.id}/{kind}", kind)
        ]
        return Payout(
            payout_id=settlement.id,
            amount_cents=settlement.amount.cents,
            fees_cents=settlement.fees_cents,
            currency=settlement.amount.currency,
            paid_at=paid_at,
            movements=movements,
        )

    def parse_notification(self, headers: Mapping[str, str], body: bytes) -> Sequence[str]:
        signature_header = headers.get("x-mollie-signature")
        if signature_header is None:
            return parse_form(body)
        # Signed notifications have no time stamp. Repeating one only makes us fetch the same object
        # again.
        signatures = _SIGNATURE.findall(signature_header)
        if self._webhook_secret is None or not is_authentic(self._webhook_secret, body, signatures):
            raise NotificationRejected("The notification is not signed by the provider.")
        return parse_event(body)

    async def find_access_problems(self) -> Sequence[str]:
        problems = await self._api.list_missing_permissions(_PROBES, _JSON)
        if self._organisation_headers is not None:
            headers = self._organisation_headers
            problems += await self._api.list_missing_permissions(_SETTLEMENT_PROBES, headers)
        return problems

    async def close(self) -> None:
        await self._api.close()

    async def _post(
        self, path: str, document: Mapping[str, Any], key: UUID, answer: type[Answer]
    ) -> Answer:
        headers = {**_JSON, "Idempotency-Key": str(key)}
        body = msgspec.json.encode(document)
        return self._api.parse(await self._api.send("POST", path, headers, body), answer)

    async def _list(
        self, path: str, kind: str, is_wanted: Callable[[msgspec.Raw], bool] = lambda _raw: True
    ) -> list[msgspec.Raw]:
        """Return the entries of a list of the organisation, up to and including the first page
        whose last entry is not wanted."""
        start = f"{path}?limit=250"

        def find_next(page: MolliePage) -> str | None:
            entries = page.embedded.get(kind, [])
            following = None if page.links.next is None else page.links.next.href
            if following is None or not entries or not is_wanted(entries[-1]):
                return None
            # Use only the id in the address, because the address may lead anywhere.
            from_ids = parse_qs(urlsplit(following).query).get("from", [""])
            return f"{start}&from={from_ids[0]}" if is_id(from_ids[0]) else None

        headers = self._organisation_headers or {}
        pages = await self._api.list_pages(start, MolliePage, find_next, headers)
        return [each for page in pages for each in page.embedded.get(kind, [])]


def _build_movement(kind: str, part: MollieSettledPart) -> PayoutMovement:
    amount = part.settlement_amount or part.amount
    cents = abs(amount.cents)
    return PayoutMovement(part.id, cents if kind == "payments" else -cents)


def _authorize(key: bytes) -> dict[str, str]:
    return {"Authorization": f"Bearer {key.decode('utf-8', 'replace')}"}
