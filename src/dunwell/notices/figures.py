"""Figures of notices: counts by kind and channel, no personal data."""

from typing import Literal

from prometheus_client import Counter

from dunwell.kit.figures import REGISTRY
from dunwell.notices.notice import Kind, NoticeChannel

# FAILED: its channel refused it. FAILED_LATER: it did not arrive, as was reported. UNKNOWN: it may
# have left.
Outcome = Literal["FAILED", "FAILED_LATER", "UNKNOWN"]

_UNSENT = Counter(
    "dunwell_notices_unsent",
    "Messages a debtor asked for that were not sent, did not arrive, or may not have left.",
    ["kind", "channel", "outcome"],
    registry=REGISTRY,
)


def count_unsent(kind: Kind, channel: NoticeChannel, outcome: Outcome) -> None:
    _UNSENT.labels(kind.value, channel, outcome).inc()
