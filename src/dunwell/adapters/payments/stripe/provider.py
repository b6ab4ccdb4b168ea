"""Payments through Stripe Checkout (https://docs.stripe.com/api).

A checkout is a Checkout Session. Its money moves by the charge of its PaymentIntent, by the
charge's refunds, and by the balance transactions of its disputes. Events name the session, the
PaymentIntent or the charge.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from dunwell.accounts.installation.payment_providers import StripeAccount, find_payment_secret
from dunwell.adapters.payments.api_client import (
    AccessProbe,
    ApiClient,
    PaymentProviderUnusable,
    is_repeatable_failure,
)
from dunwell.adapters.payments.api_values import (
    check_currency,
    check_id,
    from_timestamp,
    is_authentic,
)
from dunwell.adapters.payments.stripe.objects import (
    ExpandedStripeSession,
    StripeBalanceTransaction,
    StripeDispute,
    StripeList,
    StripePayout,
    StripeRefund,
    StripeSession,
    build_paid_movement,
    build_payout,
    build_session_form,
    decide_status,
    flatten_form,
    list_dispute_movements,
    list_refund_movements,
    parse_error,
    parse_event,
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
)
from dunwell.platform.clock import Clock
from dunwell.platform.http.client import HttpResponse

KIND = "STRIPE"
# The API version for which the official client used in the tests was generated.
API_VERSION = "2026-10-28.endive"
_SIGNED_WITHIN_SECONDS = 300
_SESSIONS = "/v1/checkout/sessions"
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_PROBES = (
    *(
        AccessProbe(f"{name}: read", "GET", f"/v1/{path}?limit=1")
        for name, path in (
            ("Checkout Sessions", "checkout/sessions"),
            ("PaymentIntents", "payment_intents"),
            ("Charges and Refunds", "charges"),
            ("Charges and Refunds", "refunds"),
            ("Disputes", "disputes"),
            ("Balance", "balance_transactions"),
            ("Payouts", "payouts"),
        )
    ),
    AccessProbe("Checkout Sessions: write", "POST", f"{_SESSIONS}/cs_none/expire", b""),
    AccessProbe("Charges and Refunds: write", "POST", "/v1/refunds", b"charge=ch_none"),
)


Item = TypeVar(
    "Item", StripeSession, StripeRefund, StripeDispute, StripePayout, StripeBalanceTransaction
)


class StripeProvider:
    """A `PaymentProvider` for one account at Stripe."""

    kind = KIND

    def __init__(
        self, name: str, account: StripeAccount, secrets: Mapping[str, bytes], clock: Clock,
        **options: Any,
    ) -> None:  # fmt: skip
        """`secrets` are those of the installation file, `options` those of the client. Raises
        PaymentProviderUnusable."""
        key = find_payment_secret(secrets, name, "secretKeyFile")
        webhook_secret = find_payment_secret(secrets, name, "webhookSecretFile")
        if key is None or webhook_secret is None:
            raise PaymentProviderUnusable(
                "The secret key or the webhook secret is missing. Apply the installation file "
                "again."
            )
        self.name = name
        self.is_closed = account.closed
        # A key of Stripe's test mode opens checkouts that move no money.
        self.moves_money = not key.startswith((b"sk_test_", b"rk_test_"))
        self._webhook_secret = webhook_secret
        self._clock = clock
        self._api = ApiClient(
            name, account.base_url, account.networks,
            {
                "Authorization": f"Bearer {key.decode('utf-8', 'replace')}",
                "Stripe-Version": API_VERSION,
            },
            parse_reason=lambda body: parse_error(body).message, should_repeat=_should_repeat,
            **options,
        )  # fmt: skip

    async def open_checkout(self, request: CheckoutRequest) -> Checkout:
        check_currency(request.currency)
        key = str(request.request_id)
        response = await self._post(_SESSIONS, build_session_form(request), key)
        if parse_error(response.start).type == "idempotency_error":
            # The key was used before with another return address or another language.
            session = await self._get_open_session(request.request_id)
        else:
            session = self._api.parse(response, StripeSession)
        if session.url is None:
            raise PaymentProviderUnavailable("The payment provider has closed this checkout.")
        ends_at = None if session.expires_at is None else from_timestamp(session.expires_at)
        return Checkout(session.id, self._api.check_page_url(session.url), ends_at)

    async def _get_open_session(self, request_id: UUID) -> StripeSession:
        """Return the session of a request if it is still open. Raises
        PaymentProviderUnavailable."""
        since = int((self._clock.now() - timedelta(days=1)).timestamp())
        query = {"created[gte]": str(since), "status": "open"}
        for session in await self._list(_SESSIONS, query, StripeList[StripeSession]):
            if session.client_reference_id == str(request_id):
                return session
        raise PaymentProviderUnavailable("The payment provider has closed this checkout.")

    async def cancel_checkout(self, checkout_id: str) -> CheckoutCancellation:
        response = await self._post(f"{_SESSIONS}/{check_id(checkout_id)}/expire", {}, None)
        # Only an open session can be closed; for any other one the answer is 400.
        closed = None if response.status == 400 else self._api.parse(response, StripeSession)
        if closed is not None and closed.status == "expired":
            return CheckoutCancellation.CANCELLED
        state = await self.fetch_checkout(checkout_id)
        if state.status is CheckoutStatus.PAID:
            return CheckoutCancellation.ALREADY_PAID
        is_closed = state.status in (CheckoutStatus.EXPIRED, CheckoutStatus.FAILED)
        return CheckoutCancellation.CANCELLED if is_closed else CheckoutCancellation.CANNOT_CANCEL

    async def fetch_checkout(self, checkout_id: str) -> CheckoutState:
        expand = urlencode({"expand[]": "payment_intent.latest_charge.balance_transaction"})
        path = f"{_SESSIONS}/{check_id(checkout_id)}?{expand}"
        session = await self._api.get(path, ExpandedStripeSession)
        self._api.check_same(checkout_id, session.id)
        intent = session.payment_intent
        charge = None if intent is None else intent.latest_charge
        related = [each.id for each in (intent, charge) if each is not None]
        if charge is None or charge.status != "succeeded":
            return CheckoutState(decide_status(session), related_ids=related)
        query = {"charge": charge.id}
        movements = [
            build_paid_movement(charge),
            *list_refund_movements(
                await self._list("/v1/refunds", query, StripeList[StripeRefund])
            ),
            *list_dispute_movements(
                await self._list("/v1/disputes", query, StripeList[StripeDispute])
            ),
        ]
        return CheckoutState(CheckoutStatus.PAID, movements, related)

    async def refund(self, checkout_id: str, movement: MoneyMovement, cents: int, key: UUID) -> str:  # noqa: ARG002
        charge = check_id(movement.movement_id)
        # Stripe forgets a key after a day, but the refund keeps it.
        for refund in await self._list("/v1/refunds", {"charge": charge}, StripeList[StripeRefund]):
            if (refund.metadata or {}).get("dunwell_refund") == str(key):
                return refund.id
        form = {"charge": charge, "amount": cents, "metadata": {"dunwell_refund": str(key)}}
        return self._api.parse(await self._post("/v1/refunds", form, str(key)), StripeRefund).id

    async def list_payouts(self, since: datetime) -> Sequence[Payout]:
        query = {"created[gte]": str(int(since.timestamp()))}
        payouts = [
            await self._build_payout(each)
            for each in await self._list("/v1/payouts", query, StripeList[StripePayout])
            if each.status not in ("failed", "canceled")
        ]
        return sorted(payouts, key=lambda each: each.paid_at)

    async def _build_payout(self, payout: StripePayout) -> Payout:
        """Build a payout. Stripe lists the contents of automatic payouts only."""
        query = {"payout": payout.id}
        path = "/v1/balance_transactions"
        parts = (
            await self._list(path, query, StripeList[StripeBalanceTransaction])
            if payout.automatic
            else []
        )
        return build_payout(payout, parts)

    def parse_notification(self, headers: Mapping[str, str], body: bytes) -> Sequence[str]:
        parts = [
            part.strip().partition("=") for part in headers.get("stripe-signature", "").split(",")
        ]
        times = [value for name, _, value in parts if name == "t"]
        signed_at = times[0] if len(times) == 1 else ""
        if not (signed_at.isascii() and signed_at.isdecimal() and len(signed_at) <= 12):
            raise NotificationRejected("The notification does not say when it was signed.")
        if abs(self._clock.now().timestamp() - int(signed_at)) > _SIGNED_WITHIN_SECONDS:
            raise NotificationRejected("The notification was not signed within five minutes.")
        # While a webhook secret is being replaced, Stripe signs with both.
        signatures = [value for name, _, value in parts if name == "v1"]
        message = f"{signed_at}.".encode() + body
        if not is_authentic(self._webhook_secret, message, signatures):
            raise NotificationRejected("The notification is not signed by the provider.")
        return parse_event(body)

    async def find_access_problems(self) -> Sequence[str]:
        return await self._api.list_missing_permissions(_PROBES, _FORM)

    async def close(self) -> None:
        await self._api.close()

    async def _post(self, path: str, form: Mapping[str, Any], key: str | None) -> HttpResponse:
        headers = _FORM if key is None else {**_FORM, "Idempotency-Key": key}
        return await self._api.send(
            "POST", path, headers, urlencode([*flatten_form(form)]).encode()
        )

    async def _list(
        self, path: str, query: Mapping[str, str], page: type[StripeList[Item]]
    ) -> list[Item]:
        """Return all entries of a list."""
        start = f"{path}?{urlencode({**query, 'limit': '100'})}"

        def find_next(list_page: StripeList[Item]) -> str | None:
            if not (list_page.has_more and list_page.data):
                return None
            return f"{start}&starting_after={list_page.data[-1].id}"

        pages = await self._api.list_pages(start, page, find_next)
        return [each for list_page in pages for each in list_page.data]


def _should_repeat(response: HttpResponse) -> bool:
    """Return whether to repeat a request. Stripe's advice in the header Stripe-Should-Retry takes
    precedence."""
    advice = response.headers.get("Stripe-Should-Retry")
    return advice == "true" if advice in ("true", "false") else is_repeatable_failure(response)
