"""The objects of Mollie's API as far as they are used, and what they mean for the port.

A PAID movement has the id of the payment, a refund and a chargeback have their own. A payment stays
paid after it was charged back. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import parse_qs

import msgspec
from msgspec import Meta

from dunwell.accounts.merchants.configuration import PaymentMeans
from dunwell.adapters.payments.api_values import (
    Id,
    clean_text,
    find_refund_key,
    get_means_name,
    is_id,
)
from dunwell.cases.payments.provider import (
    CheckoutRequest,
    CheckoutStatus,
    MoneyMovement,
    MovementKind,
    NotificationRejected,
)

_MAX_DESCRIPTION = 255
_MAX_METHOD = 60
# Our means of payment in Mollie's words.
_METHODS: Mapping[PaymentMeans, str] = {
    "CARD": "creditcard",
    "PAYPAL": "paypal",
    "IDEAL": "ideal",
    "KLARNA": "klarna",
    "BANK_TRANSFER": "banktransfer",
}
_LOCALES = {
    "da": "da_DK", "de": "de_DE", "en": "en_GB", "es": "es_ES", "fi": "fi_FI", "fr": "fr_FR",
    "it": "it_IT", "nl": "nl_NL", "pl": "pl_PL", "pt": "pt_PT", "sv": "sv_SE",
}  # fmt: skip
_STATUSES = {
    "open": CheckoutStatus.OPEN,
    "paid": CheckoutStatus.PAID,
    "failed": CheckoutStatus.FAILED,
    "canceled": CheckoutStatus.CANCELLED,
    "expired": CheckoutStatus.EXPIRED,
}
# A refund that failed or was cancelled has two movements, because the first may already be booked.
_REFUND_KINDS = {
    "refunded": (MovementKind.REFUNDED,),
    "failed": (MovementKind.REFUNDED, MovementKind.REFUND_FAILED),
    "canceled": (MovementKind.REFUNDED, MovementKind.REFUND_FAILED),
}

Instant = Annotated[datetime, Meta(tz=True)]


class MollieAmount(msgspec.Struct, frozen=True):
    """An amount as text. Only currencies with two decimal places can be read."""

    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}$(?!\n)")]
    value: Annotated[str, Meta(pattern=r"^-?[0-9]{1,10}\.[0-9]{2}$(?!\n)")]

    @property
    def cents(self) -> int:
        return int(self.value.replace(".", ""))


class MollieRefund(msgspec.Struct, frozen=True, rename="camel"):
    id: Id
    amount: MollieAmount
    status: str
    created_at: Instant
    # Text, a list or an object, as the refund was created with it.
    metadata: Any = None


class MollieChargeback(msgspec.Struct, frozen=True, rename="camel"):
    id: Id
    amount: MollieAmount
    created_at: Instant
    reversed_at: Instant | None = None


class _Link(msgspec.Struct, frozen=True):
    href: str


class _PaymentLinks(msgspec.Struct, frozen=True):
    checkout: _Link | None = None


class _Embedded(msgspec.Struct, frozen=True):
    refunds: list[MollieRefund] = []
    chargebacks: list[MollieChargeback] = []


class MolliePayment(msgspec.Struct, frozen=True, rename="camel"):
    id: Id
    status: str
    amount: MollieAmount
    links: _PaymentLinks = msgspec.field(name="_links")
    amount_captured: MollieAmount | None = None
    method: str | None = None
    is_cancelable: bool = False
    paid_at: Instant | None = None
    expires_at: Instant | None = None
    details: dict[str, Any] | None = None
    embedded: _Embedded = msgspec.field(name="_embedded", default=_Embedded())


class _PageLinks(msgspec.Struct, frozen=True):
    next: _Link | None = None


class MolliePage(msgspec.Struct, frozen=True):
    """A page of a list, whose entries are in `_embedded` under the name of their kind."""

    embedded: dict[str, list[msgspec.Raw]] = msgspec.field(name="_embedded")
    links: _PageLinks = msgspec.field(name="_links", default=_PageLinks())


class MollieSettledPart(msgspec.Struct, frozen=True, rename="camel"):
    """A payment, refund or chargeback of a settlement."""

    id: Id
    amount: MollieAmount
    # In the currency of the settlement; negative for money that was given back.
    settlement_amount: MollieAmount | None = None


class _Cost(msgspec.Struct, frozen=True, rename="camel"):
    amount_gross: MollieAmount


class _Period(msgspec.Struct, frozen=True):
    costs: list[_Cost] = []


class MollieSettlement(msgspec.Struct, frozen=True, rename="camel"):
    id: Id
    status: str
    amount: MollieAmount
    created_at: Instant | None = None
    settled_at: Instant | None = None
    # By year and month.
    periods: dict[str, dict[str, _Period]] = {}

    @property
    def fees_cents(self) -> int:
        months = [month for year in self.periods.values() for month in year.values()]
        return sum(cost.amount_gross.cents for month in months for cost in month.costs)


class _Error(msgspec.Struct, frozen=True):
    detail: str = ""


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    id: Id
    entity_id: Id


def build_amount(cents: int, currency: str) -> dict[str, str]:
    return {"currency": currency, "value": f"{cents // 100}.{cents % 100:02}"}


def build_payment_document(request: CheckoutRequest) -> dict[str, Any]:
    """Build the body that creates a payment."""
    document: dict[str, Any] = {
        "amount": build_amount(request.amount_cents, request.currency),
        "description": clean_text(request.description, _MAX_DESCRIPTION),
        "redirectUrl": request.return_url,
        "cancelUrl": request.return_url,
        "webhookUrl": request.notification_url,
        "metadata": {
            "reference": request.reference, "dunwell_request": str(request.request_id),
        },
    }  # fmt: skip
    if request.language in _LOCALES:
        document["locale"] = _LOCALES[request.language]
    if request.means is not None:
        document["method"] = get_means_name(_METHODS, request.means)
    return document


def decide_status(payment: MolliePayment) -> CheckoutStatus:
    return _STATUSES.get(payment.status, CheckoutStatus.PENDING)


def list_movements(payment: MolliePayment) -> Iterator[MoneyMovement]:
    """Yield all movements of a payment with its embedded refunds and chargebacks."""
    if payment.status != "paid" or payment.paid_at is None:
        return
    amount = payment.amount_captured or payment.amount
    yield MoneyMovement(
        payment.id, MovementKind.PAID, amount.cents, amount.currency,
        moved_at=payment.paid_at, method=_describe_method(payment),
    )  # fmt: skip
    for refund in payment.embedded.refunds:
        for kind in _REFUND_KINDS.get(refund.status, ()):
            yield MoneyMovement(
                refund.id, kind, abs(refund.amount.cents), refund.amount.currency,
                moved_at=refund.created_at, refund_key=find_refund_key(refund.metadata),
            )  # fmt: skip
    for chargeback in payment.embedded.chargebacks:
        cents, currency = abs(chargeback.amount.cents), chargeback.amount.currency
        yield MoneyMovement(
            chargeback.id, MovementKind.CHARGED_BACK, cents, currency,
            moved_at=chargeback.created_at,
        )  # fmt: skip
        if chargeback.reversed_at is not None:
            yield MoneyMovement(
                chargeback.id, MovementKind.CHARGEBACK_REVERSED, cents, currency,
                moved_at=chargeback.reversed_at,
            )  # fmt: skip


def _describe_method(payment: MolliePayment) -> str | None:
    """Return the means of payment, masked: "Visa •••• 4242"."""
    details = payment.details or {}
    label, digits = details.get("cardLabel"), details.get("cardNumber")
    name = label if isinstance(label, str) else payment.method
    if name is None:
        return None
    ending = f" •••• {digits[-4:]}" if isinstance(digits, str) and digits else ""
    return clean_text(f"{name[:1].upper()}{name[1:]}{ending}", _MAX_METHOD)


def parse_form(body: bytes) -> Sequence[str]:
    """Return the one id that an unsigned notification names. Its body is a form with this id alone.
    Raises NotificationRejected."""
    try:
        ids = parse_qs(body.decode("ascii"), max_num_fields=20).get("id", [])
    except ValueError as error:
        raise NotificationRejected("The notification cannot be read.") from error
    if len(ids) != 1 or not is_id(ids[0]):
        raise NotificationRejected("The notification does not name a payment.")
    return ids


def parse_event(body: bytes) -> Sequence[str]:
    """Return the one id that a signed notification names. Raises NotificationRejected."""
    try:
        return [msgspec.json.decode(body, type=_Event).entity_id]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotificationRejected("The notification cannot be read.") from error


def parse_reason(body: bytes) -> str:
    """Return the reason in an error's body, "" if there is none."""
    try:
        return msgspec.json.decode(body, type=_Error).detail
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
