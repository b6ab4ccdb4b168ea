"""Prometheus metrics of the work that waits for the workers, labelled by delivery provider and
state.

Each worker reports the figures of the whole installation, so operators take the maximum over the
workers, not the sum.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from prometheus_client import Gauge

from dunwell.accounts.installation.store import load_installation
from dunwell.operations.alerts.store import DueSteps, MessageCount, count_due_steps, count_messages
from dunwell.platform.metrics import REGISTRY
from dunwell.platform.resources import Resources

BACKLOG_SECONDS = 60.0
# The maximum number of steps and messages that are counted over all merchants. This is enough to
# show a backlog, and counting up to it takes a fraction of a second.
MAX_WAITING = 100_000
# The maximum number of delivery providers with a separate label; the others share one. Prometheus
# keeps a time series for every label value that ever existed.
MAX_PROVIDERS = 50
# Names of delivery providers have no underscore, so these labels never equal one.
NO_PROVIDER, OTHER_PROVIDERS = "_none", "_other"
STATES = ("planned", "leased", "unknown")

_STEPS = Gauge(
    "dunwell_steps_due",
    "Steps of claims that are due and have not been run.",
    registry=REGISTRY, multiprocess_mode="mostrecent",
)  # fmt: skip
_OLDEST_STEP = Gauge(
    "dunwell_steps_oldest_due_seconds",
    "How long ago the step that has waited longest fell due; 0 when no step is due.",
    registry=REGISTRY, multiprocess_mode="mostrecent",
)  # fmt: skip
_MESSAGES = Gauge(
    "dunwell_messages",
    "Messages by delivery provider and state: planned, leased (being sent) or unknown.",
    ("provider", "state"), registry=REGISTRY, multiprocess_mode="mostrecent",
)  # fmt: skip


class BacklogMetrics:
    """Updates the backlog metrics for one worker."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._labels: set[str] = set()

    async def run_once(self) -> int:
        """Update the metrics. Always return 0, so that the loop waits before the next round."""
        now = self._resources.clock.now()
        async with self._resources.database.connection() as connection:
            providers = (await load_installation(connection)).installation.delivery_providers or {}
            steps = await count_due_steps(connection, now, MAX_WAITING)
            messages = await count_messages(connection, now, MAX_WAITING)
        _set_step_metrics(steps, now)
        self._set_message_metrics(messages, providers)
        return 0

    def _set_message_metrics(
        self, messages: Sequence[MessageCount], providers: Collection[str]
    ) -> None:
        counts = compute_message_counts(messages, providers)
        labels = {provider for provider, _ in counts}
        # A process that shares its metrics cannot remove a series, so it is set to 0 first.
        for provider in self._labels - labels:
            for state in STATES:
                _MESSAGES.labels(provider, state).set(0)
                _MESSAGES.remove(provider, state)
        for key, count in counts.items():
            _MESSAGES.labels(*key).set(count)
        self._labels = labels


def compute_message_counts(
    messages: Sequence[MessageCount], providers: Collection[str]
) -> Mapping[tuple[str, str], int]:
    """Return the counts by label and state, including zeros. `providers` are the delivery
    providers of the installation file."""
    labelled = sorted(providers)[:MAX_PROVIDERS]
    counts = {
        (label, state): 0 for label in (*labelled, NO_PROVIDER, OTHER_PROVIDERS) for state in STATES
    }
    for each in messages:
        label = (
            NO_PROVIDER
            if each.provider is None
            else each.provider
            if each.provider in labelled
            else OTHER_PROVIDERS
        )
        counts[label, each.state] += each.count
    return counts


def _set_step_metrics(steps: DueSteps, now: datetime) -> None:
    waited_seconds = 0.0 if steps.oldest is None else max(0.0, (now - steps.oldest).total_seconds())
    _STEPS.set(steps.count)
    _OLDEST_STEP.set(waited_seconds)
