"""A checkout of the sandbox provider, its possible decisions, and its signed notifications.

Notifications have the headers of Standard Webhooks. They are signed and verified with a key of the
installation.
"""

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from uuid import UUID

import msgspec
from standardwebhooks import Webhook

from dunwell.cases.payments.provider import MovementKind, NotificationRejected
from dunwell.platform.crypto import KeyRing

_REFERENCE = re.compile(r"sbx_([1-9][0-9]{0,9})_([0-9a-f]{32})", re.ASCII)
_GREATEST_INTEGER = 2**31 - 1
LIFETIME = timedelta(hours=24)
LATE_DELAY = timedelta(seconds=30)


class SandboxCheckoutState(StrEnum):
    OPEN = "OPEN"
    PENDING = "PENDING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class CheckoutDecision(StrEnum):
    """The buttons on the page."""

    PAY = "pay"
    FAIL = "fail"
    CANCEL = "cancel"
    LEAVE_PENDING = "pending"
    CHARGE_BACK = "chargeback"


class NotificationDelivery(StrEnum):
    """How the notification is sent. The values are those of the form on the page."""

    AT_ONCE = "once"
    LATE = "late"
    TWICE = "twice"
    NEVER = "never"


TRANSITIONS: dict[tuple[SandboxCheckoutState, CheckoutDecision], SandboxCheckoutState] = {
    (SandboxCheckoutState.OPEN, CheckoutDecision.PAY): SandboxCheckoutState.SUCCEEDED,
    (SandboxCheckoutState.OPEN, CheckoutDecision.FAIL): SandboxCheckoutState.FAILED,
    (SandboxCheckoutState.OPEN, CheckoutDecision.CANCEL): SandboxCheckoutState.CANCELLED,
    (SandboxCheckoutState.OPEN, CheckoutDecision.LEAVE_PENDING): SandboxCheckoutState.PENDING,
    (SandboxCheckoutState.PENDING, CheckoutDecision.PAY): SandboxCheckoutState.SUCCEEDED,
    (SandboxCheckoutState.PENDING, CheckoutDecision.FAIL): SandboxCheckoutState.FAILED,
    # The whole payment goes back, which is a movement; the checkout stays paid.
    (SandboxCheckoutState.SUCCEEDED, CheckoutDecision.CHARGE_BACK): SandboxCheckoutState.SUCCEEDED,
}


@dataclass(frozen=True, slots=True)
class SandboxMovement:
    """Money of a paid checkout that was returned, or that came back."""

    movement_id: UUID
    kind: MovementKind
    amount_cents: int
    # Real time.
    moved_at: datetime


@dataclass(frozen=True, slots=True)
class SandboxCheckout:
    merchant_id: int
    checkout_id: UUID
    amount_cents: int
    currency: str
    reference: str
    description: str
    return_url: str
    state: SandboxCheckoutState
    transaction_id: str | None
    # Both instants are real time.
    created_at: datetime
    decided_at: datetime | None

    def list_decisions(self, now: datetime) -> list[CheckoutDecision]:
        """Return the decisions that are possible now. There are none once the checkout has failed,
        expired or been cancelled."""
        if self.is_expired(now):
            return []
        return [decision for state, decision in TRANSITIONS if state is self.state]

    def is_expired(self, now: datetime) -> bool:
        return self.state is SandboxCheckoutState.OPEN and now >= self.created_at + LIFETIME


def plan_notifications(
    delivery: NotificationDelivery, now: datetime
) -> tuple[int, datetime | None]:
    """Return how many notifications to send, and when to send the first."""
    if delivery is NotificationDelivery.NEVER:
        return 0, None
    count = 2 if delivery is NotificationDelivery.TWICE else 1
    return count, now + LATE_DELAY if delivery is NotificationDelivery.LATE else now


def render_checkout_reference(merchant_id: int, checkout_id: UUID) -> str:
    """Return the public id of a checkout. It names the merchant, so that every query has the
    merchant's id."""
    return f"sbx_{merchant_id}_{checkout_id.hex}"


def parse_checkout_reference(text: str) -> tuple[int, UUID] | None:
    """Return the merchant's id and the checkout's id, or None if the text is not a checkout's
    public id."""
    match = _REFERENCE.fullmatch(text)
    if match is None or int(match[1]) > _GREATEST_INTEGER:
        return None
    return int(match[1]), UUID(hex=match[2])


_PURPOSE = "sandbox provider's notices"
_TOLERANCE = timedelta(minutes=5)


class _Body(msgspec.Struct, frozen=True):
    type: str
    checkout: str


def render_notification(reference: str) -> bytes:
    """Return the notification's body. It names the checkout but not its state, which the receiver
    must fetch."""
    return msgspec.json.encode(_Body("checkout.changed", reference))


def sign_notification(
    keys: KeyRing, notification_id: str, body: bytes, now: datetime
) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "webhook-id": notification_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": _sign(keys, notification_id, int(now.timestamp()), body)[0],
    }


def verify_notification(
    keys: KeyRing, headers: Mapping[str, str], body: bytes, now: datetime
) -> str:
    """Verify a notification and return the id of the checkout that it names. Raises
    NotificationRejected.
    """
    signed_at = headers.get("webhook-timestamp", "")
    if not (signed_at.isascii() and signed_at.isdecimal() and len(signed_at) <= 12):
        raise NotificationRejected(
            "The notification does not have the time at which it was signed."
        )
    if abs(now.timestamp() - int(signed_at)) > _TOLERANCE.total_seconds():
        raise NotificationRejected("The notification was not signed within the last five minutes.")
    expected_signatures = _sign(keys, headers.get("webhook-id", ""), int(signed_at), body)
    signatures = headers.get("webhook-signature", "").split(" ")
    if not any(
        hmac.compare_digest(expected.encode(), signature.encode())
        for expected in expected_signatures
        for signature in signatures
    ):
        raise NotificationRejected("The notification is not signed by the provider.")
    return _parse_body(body)


def _parse_body(body: bytes) -> str:
    try:
        reference = msgspec.json.decode(body, type=_Body).checkout
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotificationRejected("The notification cannot be read.") from error
    if parse_checkout_reference(reference) is None:
        raise NotificationRejected("The notification does not name a checkout.")
    return reference


def _sign(keys: KeyRing, notification_id: str, signed_at: int, body: bytes) -> list[str]:
    """Return the signatures with every version of the secret key, the active one first."""
    instant = datetime.fromtimestamp(signed_at, UTC)
    text = body.decode("utf-8", "replace")
    return [
        Webhook(secret).sign(notification_id, instant, text)
        for secret in keys.digests(_PURPOSE, b"")
    ]
