"""What is seen of an installation at one instant, over all merchants and lines. Pure."""

from collections.abc import Sequence
from datetime import datetime

import msgspec


class OfLine(msgspec.Struct, frozen=True, gc=False):
    line: str
    count: int
    since: datetime


class OfMerchant(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    key: str
    count: int
    since: datetime


class Seen(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What there is at one instant, as far as it is old enough."""

    waiting: Sequence[OfLine]
    batches: Sequence[OfLine]
    # When each line's mailbox was read last.
    mailboxes: Sequence[tuple[str, datetime]]
    unknown: Sequence[OfMerchant]
    overdue: Sequence[OfMerchant]
    unseen: Sequence[OfMerchant]
    off: Sequence[OfMerchant]
    failing: Sequence[OfMerchant]
    strange_sms: Sequence[OfLine]
    strange_reports: Sequence[OfLine]
    # The first step that is late; none: none is.
    step_due_at: datetime | None
