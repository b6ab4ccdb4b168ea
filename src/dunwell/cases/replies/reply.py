"""A reply to a message, its sealing, and how long it pauses the claim.

A person's reply may be a dispute, a promise or a question. No further message is sent until staff
have read it or three business days have passed. An automatic reply pauses nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.answer_days import add_business_days
from dunwell.contact.sending.report import Reference
from dunwell.platform.crypto import KeyRing

_HOLD_BUSINESS_DAYS = 3
# The limit for one claim within 24 hours. Only a program sends more.
MAX_REPLIES_PER_DAY = 20
# The hold's reason, by which the hold is recognised.
HOLD_REASON: Final = "REPLY"


@dataclass(frozen=True, slots=True)
class NewReply:
    provider: str
    # Identifies the reply, so that a repeated delivery is recognised.
    provider_message_id: str
    reference: Reference
    subject: str
    # The written text without quotations. It is untrusted input.
    text: str
    file_names: Sequence[str]
    is_automatic: bool
    # The message as it was received.
    raw: bytes


def compute_hold_end(now: datetime, timezone: str) -> datetime:
    """Return the end of the third business day after today, in the merchant's time zone."""
    zone = ZoneInfo(timezone)
    day = add_business_days(now.astimezone(zone).date(), _HOLD_BUSINESS_DAYS)
    return datetime.combine(day + timedelta(days=1), time.min, zone)


SEAL_PURPOSE = "debtor reply"


def seal_reply(keys: KeyRing, merchant_id: int, reply_id: UUID, raw: bytes) -> bytes:
    return keys.seal(SEAL_PURPOSE, raw, build_seal_context(merchant_id, reply_id))


def open_reply(keys: KeyRing, merchant_id: int, reply_id: UUID, sealed: bytes) -> bytes:
    """Return the decrypted reply. Raises DecryptionFailed."""
    return keys.open(SEAL_PURPOSE, sealed, build_seal_context(merchant_id, reply_id))


def build_seal_context(merchant_id: int, reply_id: UUID) -> str:
    """Return the context that binds the sealed reply to its merchant and id."""
    return f"{merchant_id}:{reply_id}"
