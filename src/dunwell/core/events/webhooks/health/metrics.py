"""Metrics of webhook deliveries in the Prometheus format. Labels are ids and fixed words, never
addresses."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from prometheus_client import Counter, Gauge

from dunwell.core.events.webhooks.endpoint import UndeliveredEvents
from dunwell.platform.metrics import REGISTRY

# The largest number of endpoints with separate labels. All other endpoints share one label, because
# Prometheus keeps a time series for each value that ever existed.
MAX_LABELS = 50
OTHERS = "other"

_FAILED = Counter(
    "dunwell_webhook_tries_failed",
    "Failed attempts to deliver an event, by response: 3xx, 4xx, 5xx, other or none.",
    ("answer",), registry=REGISTRY,
)  # fmt: skip
_FAILING = Gauge(
    "dunwell_webhook_endpoints_failing",
    "Webhook endpoints whose last response was a failure, by state: FAILING or SWITCHED_OFF.",
    ("state",), registry=REGISTRY, multiprocess_mode="mostrecent",
)  # fmt: skip
_UNDELIVERED = Gauge(
    "dunwell_webhook_events_undelivered",
    "Events that wait to be delivered, by endpoint; those with the oldest events by their ids.",
    ("endpoint",), registry=REGISTRY, multiprocess_mode="mostrecent",
)  # fmt: skip
_OLDEST = Gauge(
    "dunwell_webhook_events_oldest_seconds",
    "How long ago the oldest event that waits to be delivered was raised, by endpoint.",
    ("endpoint",), registry=REGISTRY, multiprocess_mode="mostrecent",
)  # fmt: skip


def count_failed_attempt(status: int | None) -> None:
    """Count a failed attempt. `status` None: there was no response."""
    _FAILED.labels(_render_answer_label(status)).inc()


def set_failing_endpoints(*, failing: int, switched_off: int) -> None:
    _FAILING.labels("FAILING").set(failing)
    _FAILING.labels("SWITCHED_OFF").set(switched_off)


class UndeliveredMetrics:
    """The metrics of undelivered events that one process exposes, for at most
    MAX_LABELS endpoints.
    """

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def update(self, undelivered: Sequence[UndeliveredEvents], now: datetime) -> None:
        """Set the metrics. `undelivered` has the endpoint with the oldest event first."""
        counts, ages = compute_labels(undelivered, now)
        # In multiprocess mode a series cannot be removed, so it is set to 0 first.
        for label in self._shown - counts.keys():
            _UNDELIVERED.labels(label).set(0)
            _OLDEST.labels(label).set(0)
        for label in self._shown - counts.keys():
            _UNDELIVERED.remove(label)
            _OLDEST.remove(label)
        for label, count in counts.items():
            _UNDELIVERED.labels(label).set(count)
            _OLDEST.labels(label).set(ages[label])
        self._shown = set(counts)


def compute_labels(
    undelivered: Sequence[UndeliveredEvents], now: datetime
) -> tuple[Mapping[str, int], Mapping[str, float]]:
    """Return counts and ages in seconds by label. `undelivered` has the endpoint with the oldest
    event first."""
    counts, ages = {OTHERS: 0}, {OTHERS: 0.0}
    for index, events in enumerate(undelivered):
        label = str(events.endpoint_id) if index < MAX_LABELS else OTHERS
        age = max(0.0, now.timestamp() - _parse_milliseconds(events.oldest_event_id) / 1000)
        counts[label] = counts.get(label, 0) + events.count
        ages[label] = max(ages.get(label, 0.0), age)
    return counts, ages


def _parse_milliseconds(event_id: UUID) -> int:
    """Return when a UUID of version 7 was created, in milliseconds since 1970."""
    return event_id.int >> 80


def _render_answer_label(status: int | None) -> str:
    if status is None:
        return "none"
    return f"{status // 100}xx" if 300 <= status < 600 else "other"
