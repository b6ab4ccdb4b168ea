"""Request metrics in the Prometheus format: counts and durations, without personal data.

With PROMETHEUS_MULTIPROC_DIR set to an empty folder that all web processes of a host share, each
process reports the sums of all. Otherwise each reports its own.
"""

import os

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from dunwell.interfaces.api.operation import Operation
from dunwell.platform import metrics

_BUCKETS = (0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class RequestMetrics:
    """Counts the requests of one application, and measures their durations in seconds."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "dunwell_api_requests", "Requests to the API by operation and status.",
            ("operation", "status"), registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "dunwell_api_request_seconds", "Duration from the request's headers to its response, "
                "by operation.",
            ("operation",), buckets=_BUCKETS, registry=self._registry,
        )  # fmt: skip
        # Cached, because looking up a labelled metric costs more than incrementing it.
        self._labelled: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def count(self, operation: Operation, status: int, seconds: float) -> None:
        key = operation.operation_id, status
        labelled = self._labelled.get(key)
        if labelled is None:
            labelled = self._requests.labels(*key), self._seconds.labels(operation.operation_id)
            self._labelled[key] = labelled
        labelled[0].inc()
        labelled[1].observe(seconds)

    def render(self) -> bytes:
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return bytes(generate_latest(self._registry) + generate_latest(metrics.REGISTRY))
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return bytes(generate_latest(registry))
