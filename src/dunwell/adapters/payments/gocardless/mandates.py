"""Mandates of GoCardless, and payments that are collected with them.

The debtor gives a mandate on the page of a billing request. GoCardless confirms it to the debtor by
e-mail and announces each payment by e-mail when it is created.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any
from uuid import UUID

import msgspec

from dunwell.adapters.payments.api_values import Id, check_id, clean_text
from dunwell.adapters.payments.gocardless.client import GoCardlessClient
from dunwell.adapters.payments.gocardless.objects import (
    BillingRequestAnswer,
    BillingRequestFlowAnswer,
    PaymentAnswer,
    PaymentListPage,
    parse_error,
)
from dunwell.cases.payments.mandate_provider import (
    CollectionRequest,
    MandateRequest,
    ProviderMandate,
    ProviderMandateStatus,
)
from dunwell.cases.payments.provider import (
    Checkout,
    CheckoutCancellation,
    PaymentProviderRefused,
)

# The instalments of plans are collected by SEPA core direct debit.
_CURRENCY, _SCHEME = "EUR", "sepa_core"
_MAX_DESCRIPTION = 140
_MAX_ACCOUNT = 60
_KEY_NAME = "dunwell_request"
_STATUSES = {
    "pending_customer_approval": ProviderMandateStatus.OPEN,
    "pending_submission": ProviderMandateStatus.ACTIVE,
    "submitted": ProviderMandateStatus.ACTIVE,
    "active": ProviderMandateStatus.ACTIVE,
    "cancelled": ProviderMandateStatus.CANCELLED,
    "suspended_by_payer": ProviderMandateStatus.CANCELLED,
    "failed": ProviderMandateStatus.FAILED,
    "blocked": ProviderMandateStatus.FAILED,
    "expired": ProviderMandateStatus.EXPIRED,
    "consumed": ProviderMandateStatus.EXPIRED,
}


class _MandateLinks(msgspec.Struct, frozen=True):
    customer_bank_account: Id | None = None


class _Mandate(msgspec.Struct, frozen=True):
    id: Id
    status: str
    reference: str | None = None
    next_possible_charge_date: date | None = None
    links: _MandateLinks = _MandateLinks()


class _MandateAnswer(msgspec.Struct, frozen=True):
    mandates: _Mandate


class _BankAccount(msgspec.Struct, frozen=True):
    account_number_ending: str = ""
    bank_name: str | None = None


class _BankAccountAnswer(msgspec.Struct, frozen=True):
    customer_bank_accounts: _BankAccount


class GoCardlessMandates:
    """The part of `MandateProvider` that concerns mandates. `GoCardlessProvider` adds the rest."""

    _api: GoCardlessClient

    async def open_mandate(self, request: MandateRequest) -> Checkout:
        if request.currency != _CURRENCY:
            raise PaymentProviderRefused(f"Direct debits are possible in {_CURRENCY} only.")
        response = await self._api.post(
            "/billing_requests", _build_mandate_request(request), request.request_id
        )
        billing_request_id = parse_error(response.start).conflicting_id
        if billing_request_id is None:
            answer = self._api.parse(response, BillingRequestAnswer)
            billing_request_id = answer.billing_requests.id
        flow = {
            "redirect_uri": request.return_url,
            "exit_uri": request.return_url,
            "language": request.language,
            "links": {"billing_request": billing_request_id},
        }
        response = await self._api.post("/billing_request_flows", {"billing_request_flows": flow})
        opened_flow = self._api.parse(response, BillingRequestFlowAnswer).billing_request_flows
        url = self._api.check_page_url(opened_flow.authorisation_url)
        return Checkout(billing_request_id, url, opened_flow.expires_at)

    async def fetch_mandate_request(self, checkout_id: str) -> ProviderMandate:
        path = f"/billing_requests/{check_id(checkout_id)}"
        billing_request = (await self._api.get(path, BillingRequestAnswer)).billing_requests
        if billing_request.links.mandate_request_mandate is not None:
            return await self.fetch_mandate(billing_request.links.mandate_request_mandate)
        is_cancelled = billing_request.status == "cancelled"
        return ProviderMandate(
            ProviderMandateStatus.CANCELLED if is_cancelled else ProviderMandateStatus.OPEN
        )

    async def fetch_mandate(self, mandate_id: str) -> ProviderMandate:
        path = f"/mandates/{check_id(mandate_id)}"
        mandate = (await self._api.get(path, _MandateAnswer)).mandates
        # An unknown status does not end the mandate.
        status = _STATUSES.get(mandate.status, ProviderMandateStatus.OPEN)
        account_id = mandate.links.customer_bank_account
        return ProviderMandate(
            status=status,
            mandate_id=mandate.id,
            reference=mandate.reference,
            account_shown=None if account_id is None else await self._describe_account(account_id),
            next_collection_on=mandate.next_possible_charge_date,
        )

    async def _describe_account(self, account_id: str) -> str:
        path = f"/customer_bank_accounts/{account_id}"
        account = (await self._api.get(path, _BankAccountAnswer)).customer_bank_accounts
        description = f"{account.bank_name or ''} •••• {account.account_number_ending}"
        return clean_text(description, _MAX_ACCOUNT)

    async def cancel_mandate(self, mandate_id: str) -> None:
        response = await self._api.post(f"/mandates/{check_id(mandate_id)}/actions/cancel", {})
        if response.status in (409, 422):
            status = (await self.fetch_mandate(mandate_id)).status
            if status not in (ProviderMandateStatus.OPEN, ProviderMandateStatus.ACTIVE):
                return
        self._api.parse(response, _MandateAnswer)

    async def collect(self, request: CollectionRequest) -> str:
        # GoCardless forgets idempotency keys after some time, so the mandate's payments are
        # searched first.
        earlier = await self.find_collection(request.mandate_id, request.request_id)
        if earlier is not None:
            return earlier
        response = await self._api.post("/payments", _build_payment(request), request.request_id)
        conflicting_id = parse_error(response.start).conflicting_id
        return conflicting_id or self._api.parse(response, PaymentAnswer).payments.id

    async def find_collection(self, mandate_id: str, request_id: UUID) -> str | None:
        query = {"mandate": check_id(mandate_id)}
        for page in await self._api.list_all("/payments", query, PaymentListPage):
            for payment in page.payments:
                if payment.metadata.get(_KEY_NAME) == str(request_id):
                    return payment.id
        return None

    async def cancel_collection(self, collection_id: str) -> CheckoutCancellation:
        path = f"/payments/{check_id(collection_id)}"
        response = await self._api.post(f"{path}/actions/cancel", {})
        if response.status in (409, 422):
            payment = (await self._api.get(path, PaymentAnswer)).payments
        else:
            payment = self._api.parse(response, PaymentAnswer).payments
        if payment.status == "cancelled":
            return CheckoutCancellation.CANCELLED
        if payment.status in ("confirmed", "paid_out"):
            return CheckoutCancellation.ALREADY_PAID
        return CheckoutCancellation.CANNOT_CANCEL


def _build_mandate_request(request: MandateRequest) -> Mapping[str, Any]:
    metadata = {_KEY_NAME: str(request.request_id)}
    mandate = {
        "currency": request.currency,
        "scheme": _SCHEME,
        "description": clean_text(request.description, _MAX_DESCRIPTION),
        "metadata": metadata,
    }
    return {"billing_requests": {"mandate_request": mandate, "metadata": metadata}}


def _build_payment(request: CollectionRequest) -> Mapping[str, Any]:
    payment = {
        "amount": request.amount_cents,
        "currency": request.currency,
        "charge_date": request.due_on.isoformat(),
        "description": clean_text(request.description, _MAX_DESCRIPTION),
        # A payment that failed is a missed instalment, so GoCardless does not repeat it.
        "retry_if_possible": False,
        "metadata": {_KEY_NAME: str(request.request_id)},
        "links": {"mandate": check_id(request.mandate_id)},
    }
    return {"payments": payment}
