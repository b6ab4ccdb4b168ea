"""How the sandbox provider signs its notices and we know them: the headers of Standard Webhooks.

Signed and verified under a key of the installation's own, by the time of the clock we are given.
"""

import hmac
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import msgspec
from standardwebhooks import Webhook

from dunwell.adapters.payments.sandbox.checkout import read_reference
from dunwell.cases.payments.provider import CheckoutNotice, NoticeRefused
from dunwell.platform.crypto import KeyRing

_PURPOSE = "sandbox provider's notices"
_TOLERANCE = timedelta(minutes=5)


class _Body(msgspec.Struct, frozen=True):
    type: str
    checkout: str


def render_notice(reference: str) -> bytes:
    """Which checkout something happened to; not what, for nobody would believe it."""
    return msgspec.json.encode(_Body("checkout.changed", reference))


def sign_notice(keys: KeyRing, notice_id: str, body: bytes, now: datetime) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "webhook-id": notice_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": _sign(keys, notice_id, int(now.timestamp()), body)[0],
    }


def read_notice(
    keys: KeyRing, headers: Mapping[str, str], body: bytes, now: datetime
) -> CheckoutNotice:
    """Raises NoticeRefused."""
    signed_at = headers.get("webhook-timestamp", "")
    if not (signed_at.isascii() and signed_at.isdecimal() and len(signed_at) <= 12):
        raise NoticeRefused("The notice says no time at which it was signed.")
    if abs(now.timestamp() - int(signed_at)) > _TOLERANCE.total_seconds():
        raise NoticeRefused("The notice was not signed within the last five minutes.")
    wanted = _sign(keys, headers.get("webhook-id", ""), int(signed_at), body)
    given = headers.get("webhook-signature", "").split(" ")
    if not any(
        hmac.compare_digest(one.encode(), each.encode()) for one in wanted for each in given
    ):
        raise NoticeRefused("The notice is not signed by the provider.")
    return _read_body(body)


def _read_body(body: bytes) -> CheckoutNotice:
    try:
        reference = msgspec.json.decode(body, type=_Body).checkout
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NoticeRefused("The notice cannot be read.") from error
    named = read_reference(reference)
    if named is None:
        raise NoticeRefused("The notice names no checkout.")
    return CheckoutNotice(named[0], reference)


def _sign(keys: KeyRing, notice_id: str, signed_at: int, body: bytes) -> list[str]:
    """Under each version of the secret key, the one in use first."""
    instant = datetime.fromtimestamp(signed_at, UTC)
    text = body.decode("utf-8", "replace")
    return [
        Webhook(secret).sign(notice_id, instant, text) for secret in keys.digests(_PURPOSE, b"")
    ]
