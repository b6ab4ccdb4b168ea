"""When a delivery is retried, how many deliveries an endpoint gets at once, and when it is disabled
and probed (CONTRACT 9). Pure."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TypeAlias

# The delays before the second and each later attempt.
DELAYS = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
MAX_ATTEMPTS = len(DELAYS) + 1
# The largest random change of a delay, as a share of the delay.
_SPREAD = 0.2
_MAX_RETRY_AFTER = timedelta(hours=24)
_GONE = 410
# The statuses whose Retry-After is respected.
_ASKS_TO_WAIT = (429, 503)
# An endpoint is disabled by a 410 at least _GONE_AGAIN_AFTER after the first one, or after failing
# for _FAILING_FOR. It is first probed _FIRST_PROBE later, then at growing intervals.
_GONE_AGAIN_AFTER = timedelta(hours=1)
_FAILING_FOR = timedelta(days=5)
_FIRST_PROBE = timedelta(hours=1)
_MAX_PROBE_DELAY = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The endpoint answered with a 2xx."""


@dataclass(frozen=True, slots=True)
class RetryAt:
    at: datetime


@dataclass(frozen=True, slots=True)
class GiveUpDelivery:
    """The last attempt failed. Only a replay sends the event again."""


DeliveryDecision: TypeAlias = Delivered | RetryAt | GiveUpDelivery


@dataclass(frozen=True, slots=True)
class FailureHistory:
    """An endpoint's failures. All fields have their default values if the endpoint works."""

    first_failure_at: datetime | None = None
    # When the endpoint first answered 410 since its last success.
    gone_at: datetime | None = None
    disabled_at: datetime | None = None
    disabled_reason: str | None = None
    # When a disabled endpoint is probed next, and how many probes there were.
    probe_at: datetime | None = None
    probes: int = 0

    @property
    def is_well(self) -> bool:
        """True if no attempt has failed since the last success, or since the endpoint was enabled
        by hand."""
        return self.first_failure_at is None


HEALTHY = FailureHistory()


def is_success(status: int | None) -> bool:
    """Return whether the status is a 2xx. `status` is None if there was no response."""
    return status is not None and 200 <= status < 300


def decide_next_attempt(
    status: int | None,
    *,
    attempts: int,
    now: datetime,
    retry_after: timedelta | None,
    fraction: float,
) -> DeliveryDecision:
    """Decide what follows an attempt.

    `attempts` includes the attempt just made, `retry_after` is the response's Retry-After,
    `fraction` is random in [0, 1). A Retry-After that is longer than the schedule's delay is
    respected.
    """
    if is_success(status):
        return Delivered()
    if attempts >= MAX_ATTEMPTS:
        return GiveUpDelivery()
    delay = DELAYS[attempts - 1] * (1 - _SPREAD + 2 * _SPREAD * fraction)
    if status in _ASKS_TO_WAIT and retry_after is not None:
        delay = max(delay, min(retry_after, _MAX_RETRY_AFTER))
    return RetryAt(now + delay)


def parse_retry_after(value: str | None, now: datetime) -> timedelta | None:
    """Parse a Retry-After header, in seconds or as a date. Return None if it is missing or
    invalid.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=int(text[:9]))
    try:
        instant = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    aware = instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
    return max(aware - now, timedelta(0))


def compute_health(health: FailureHistory, status: int | None, now: datetime) -> FailureHistory:
    """Return the endpoint's health after an attempt. `status` is that of the response, or None if
    there was no response.

    A success clears everything and enables the endpoint. The endpoint is disabled by a 410 at least
    an hour after the first one, or by five days without a success. The first probe follows an hour
    later.
    """
    if is_success(status):
        return HEALTHY
    failed = replace(health, first_failure_at=health.first_failure_at or now)
    if status == _GONE:
        failed = replace(failed, gone_at=failed.gone_at or now)
    if failed.disabled_at is not None:
        return failed
    reason = _find_reason_to_disable(failed, status, now)
    if reason is None:
        return failed
    return replace(
        failed, disabled_at=now, disabled_reason=reason, probe_at=now + _FIRST_PROBE, probes=0
    )


def schedule_next_probe(health: FailureHistory, now: datetime) -> FailureHistory:
    """Return the health when a probe starts. If the probe fails, the next one follows after twice
    the previous delay, at most after a day."""
    delay = min(_FIRST_PROBE * 2 ** min(health.probes + 1, 10), _MAX_PROBE_DELAY)
    return replace(health, probes=health.probes + 1, probe_at=now + delay)


def _find_reason_to_disable(
    health: FailureHistory, status: int | None, now: datetime
) -> str | None:
    gone, failing = health.gone_at, health.first_failure_at
    if status == _GONE and gone is not None and now - gone >= _GONE_AGAIN_AFTER:
        return "GONE"
    if failing is not None and now - failing >= _FAILING_FOR:
        return "FAILING"
    return None


# A batch is as large as what is delivered in this time.
_BATCH_SECONDS = 2.0
_FIRST_SLOTS = 2


@dataclass(frozen=True, slots=True)
class DeliveryPace:
    """How fast an endpoint gets deliveries. `slots` is the limit of deliveries in flight,
    `batch_size` how many are leased at once."""

    max_slots: int
    max_batch_size: int
    slots: int
    batch_size: int


def build_initial_pace(max_slots: int, max_batch_size: int, *, is_failing: bool) -> DeliveryPace:
    """Return the pace of an endpoint whose queue is started."""
    slots = 1 if is_failing else min(_FIRST_SLOTS, max_slots)
    return DeliveryPace(max_slots, max_batch_size, slots, min(max_slots, max_batch_size))


def add_slot(pace: DeliveryPace) -> DeliveryPace:
    """Return the pace with one more slot, up to its limit."""
    if pace.slots >= pace.max_slots:
        return pace
    return replace(pace, slots=pace.slots + 1)


def halve_slots(pace: DeliveryPace) -> DeliveryPace:
    """Return the pace with half of the slots, at least one."""
    return replace(pace, slots=max(1, pace.slots // 2))


def resize_batch(pace: DeliveryPace, finished: int, seconds: float) -> DeliveryPace:
    """Size the next batch by the deliveries that finished in the last `seconds`."""
    expected = int(finished / max(seconds, 0.001) * _BATCH_SECONDS)
    return replace(pace, batch_size=max(pace.slots, min(expected, pace.max_batch_size)))
