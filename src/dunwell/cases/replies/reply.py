"""An answer to a message of ours, and how long a claim waits for somebody to read it.

A person's answer may be an objection, a promise or a question: nothing is sent on top of it until
somebody has read it, or three business days have passed. A program's answer stops nothing.
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
# Of one claim in a day; more is a machine's doing.
MAX_REPLIES_PER_DAY = 20
# The reason of the pause, by which it is known.
HOLD_REASON: Final = "REPLY"


@dataclass(frozen=True, slots=True)
class NewReply:
    line: str
    # The same for one that comes twice.
    provider_id: str
    reference: Reference
    subject: str
    # What was written, without what is quoted; anything may stand in it.
    text: str
    file_names: Sequence[str]
    is_automatic: bool
    # As it came.
    raw: bytes


def compute_hold_end(now: datetime, timezone: str) -> datetime:
    """The end of the third business day after today, where the merchant is."""
    zone = ZoneInfo(timezone)
    day = add_business_days(now.astimezone(zone).date(), _HOLD_BUSINESS_DAYS)
    return datetime.combine(day + timedelta(days=1), time.min, zone)


SEAL_PURPOSE = "debtor reply"


def seal_reply(keys: KeyRing, merchant_id: int, reply_id: UUID, raw: bytes) -> bytes:
    return keys.seal(SEAL_PURPOSE, raw, build_seal_context(merchant_id, reply_id))


def open_reply(keys: KeyRing, merchant_id: int, reply_id: UUID, sealed: bytes) -> bytes:
    """Raises SealBroken."""
    return keys.open(SEAL_PURPOSE, sealed, build_seal_context(merchant_id, reply_id))


def build_seal_context(merchant_id: int, reply_id: UUID) -> str:
    """What the sealed answer is bound to."""
    return f"{merchant_id}:{reply_id}"
