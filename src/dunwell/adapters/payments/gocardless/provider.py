"""Payments through the billing requests of GoCardless (https://developer.gocardless.com).

A checkout is a billing request. The debtor authorises it on the page of a billing request flow; a
billing request can have several flows. It then has a payment, which settles later and can be
charged back. A payment that was collected with a mandate is a separate checkout.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from dunwell.accounts.installation.payment_providers import GoCardlessAccount, find_payment_secret
from dunwell.accounts.merchants.configuration import PaymentMeans
from dunwell.adapters.payments.api_client import AccessProbe, PaymentProviderUnusable
from dunwell.adapters.payments.api_values import check_id, get_means_name, is_authentic
from dunwell.adapters.payments.gocardless.client import JSON_HEADERS, GoCardlessClient
from dunwell.adapters.payments.gocardless.mandates import GoCardlessMandates
from dunwell.adapters.payments.gocardless.objects import (
    BillingRequestAnswer,
    BillingRequestFlowAnswer,
    EventPage,
    GoCardlessPayout,
    PaymentAnswer,
    PayoutItemPage,
    PayoutPage,
    RefundAnswer,
    RefundPage,
    build_billing_request,
    build_flow,
    build_payout,
    decide_payment_status,
    decide_request_status,
    find_failure_reason,
    list_payment_movements,
    list_refund_movements,
    parse_error,
    parse_events,
)
from dunwell.cases.payments.provider import (
    Checkout,
    CheckoutCancellation,
    CheckoutRequest,
    CheckoutState,
    CheckoutStatus,
    MoneyMovement,
    NotificationRejected,
    PaymentProviderRefused,
    Payout,
)

KIND = "GOCARDLESS"
# The beginning of the ids of payments.
_PAYMENT_PREFIX = "PM"
# The currencies of instant bank payments.
_CURRENCIES = ("EUR", "GBP")
# Billing requests offer no other means of payment, so no name is sent.
_MEANS: Mapping[PaymentMeans, str] = {"PAY_BY_BANK": ""}
_PROBES = (
    *(
        AccessProbe(f"{name}: read", "GET", f"/{name}?limit=1")
        for name in ("billing_requests", "payments", "events", "refunds", "payouts", "mandates")
    ),
    AccessProbe(
        "billing_requests: write", "POST", "/billing_requests/BRQ000/actions/cancel", b"{}"
    ),
    AccessProbe("refunds: write", "POST", "/refunds", b'{"refunds": {}}'),
    AccessProbe("payments: write", "POST", "/payments", b'{"payments": {}}'),
)


class GoCardlessProvider(GoCardlessMandates):
    """A `PaymentProvider` and `MandateProvider` for one account at GoCardless."""

    kind = KIND

    def __init__(
        self, name: str, account: GoCardlessAccount, secrets: Mapping[str, bytes], **options: Any
    ) -> None:
        """`secrets` are those of the installation file, `options` those of the client. Raises
        PaymentProviderUnusable."""
        token = find_payment_secret(secrets, name, "accessTokenFile")
        webhook_secret = find_payment_secret(secrets, name, "webhookSecretFile")
        if token is None or webhook_secret is None:
            raise PaymentProviderUnusable(
                "The access token or the webhook secret is missing. Apply the installation file "
                "again."
            )
        self.name = name
        self.is_closed = account.closed
        # A token of the sandbox opens checkouts that move no money.
        self.moves_money = not token.startswith(b"sandbox_")
        self._webhook_secret = webhook_secret
        self._api = GoCardlessClient(name, account, token, **options)

    async def open_checkout(self, request: CheckoutRequest) -> Checkout:
        if request.currency not in _CURRENCIES:
            raise PaymentProviderRefused(
                f"Payments in {request.currency} are not supported through this provider. Use "
                "another way to pay."
            )
        if request.means is not None:
            get_means_name(_MEANS, request.means)
        document = build_billing_request(request)
        response = await self._api.post("/billing_requests", document, request.request_id)
        billing_request_id = parse_error(response.start).conflicting_id
        if billing_request_id is None:
            answer = self._api.parse(response, BillingRequestAnswer)
            billing_request_id = answer.billing_requests.id
        # A flow cannot be fetched again. Several of one billing request lead to one payment.
        path = "/billing_request_flows"
        response = await self._api.post(path, build_flow(request, billing_request_id))
        flow = self._api.parse(response, BillingRequestFlowAnswer).billing_request_flows
        url = self._api.check_page_url(flow.authorisation_url)
        return Checkout(billing_request_id, url, flow.expires_at)

    async def cancel_checkout(self, checkout_id: str) -> CheckoutCancellation:
        path = f"/billing_requests/{check_id(checkout_id)}/actions/cancel"
        response = await self._api.post(path, {})
        if response.status not in (409, 422):
            answer = self._api.parse(response, BillingRequestAnswer).billing_requests
            if answer.status == "cancelled":
                return CheckoutCancellation.CANCELLED
        match (await self.fetch_checkout(checkout_id)).status:
            case CheckoutStatus.PAID:
                return CheckoutCancellation.ALREADY_PAID
            case CheckoutStatus.CANCELLED | CheckoutStatus.FAILED:
                return CheckoutCancellation.CANCELLED
            case _:
                return CheckoutCancellation.CANNOT_CANCEL

    async def fetch_checkout(self, checkout_id: str) -> CheckoutState:
        # A payment that was collected with a mandate has no billing request.
        if checkout_id.startswith(_PAYMENT_PREFIX):
            return await self._fetch_payment(check_id(checkout_id))
        path = f"/billing_requests/{check_id(checkout_id)}"
        billing_request = (await self._api.get(path, BillingRequestAnswer)).billing_requests
        self._api.check_same(checkout_id, billing_request.id)
        payment_id = billing_request.links.payment_request_payment
        if payment_id is None:
            return CheckoutState(decide_request_status(billing_request.status))
        return await self._fetch_payment(payment_id)

    async def _fetch_payment(self, payment_id: str) -> CheckoutState:
        payment = (await self._api.get(f"/payments/{payment_id}", PaymentAnswer)).payments
        self._api.check_same(payment_id, payment.id)
        query = {"payment": payment_id}
        pages = await self._api.list_all("/events", query, EventPage)
        events = [event for page in pages for event in page.events]
        movements = list_payment_movements(payment, events)
        refunds = await self._api.list_all("/refunds", query, RefundPage) if movements else []
        all_refunds = [refund for page in refunds for refund in page.refunds]
        return CheckoutState(
            decide_payment_status(payment, was_paid=bool(movements)),
            [*movements, *list_refund_movements(all_refunds)],
            [payment.id, *(refund.id for refund in all_refunds)],
            find_failure_reason(events),
        )

    async def refund(self, checkout_id: str, movement: MoneyMovement, cents: int, key: UUID) -> str:  # noqa: ARG002
        payment_id = check_id(movement.movement_id.partition("-")[0])
        payment = (await self._api.get(f"/payments/{payment_id}", PaymentAnswer)).payments
        document = {
            "amount": cents,
            # The provider refuses the refund if another one has changed this total in the meantime.
            "total_amount_confirmation": payment.amount_refunded + cents,
            "links": {"payment": payment_id},
            "metadata": {"dunwell_refund": str(key)},
        }
        for page in await self._api.list_all("/refunds", {"payment": payment_id}, RefundPage):
            for refund in page.refunds:
                if refund.metadata.get("dunwell_refund") == str(key):
                    return refund.id
        response = await self._api.post("/refunds", {"refunds": document}, key)
        earlier_id = parse_error(response.start).conflicting_id
        return earlier_id or self._api.parse(response, RefundAnswer).refunds.id

    async def list_payouts(self, since: datetime) -> Sequence[Payout]:
        created_after = since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        pages = await self._api.list_all("/payouts", {"created_at[gte]": created_after}, PayoutPage)
        payouts = [
            await self._build_payout(each)
            for page in pages
            for each in page.payouts
            if each.status != "bounced"
        ]
        return sorted(payouts, key=lambda each: each.paid_at)

    async def _build_payout(self, payout: GoCardlessPayout) -> Payout:
        pages = await self._api.list_all("/payout_items", {"payout": payout.id}, PayoutItemPage)
        return build_payout(payout, [item for page in pages for item in page.payout_items])

    def parse_notification(self, headers: Mapping[str, str], body: bytes) -> Sequence[str]:
        # A notification has no time stamp. Repeating it only makes us fetch the same objects again.
        signature = headers.get("webhook-signature", "")
        if not is_authentic(self._webhook_secret, body, [signature]):
            raise NotificationRejected("The notification is not signed by the provider.")
        return parse_events(body)

    async def find_access_problems(self) -> Sequence[str]:
        return await self._api.list_missing_permissions(_PROBES, JSON_HEADERS)

    async def close(self) -> None:
        await self._api.close()
