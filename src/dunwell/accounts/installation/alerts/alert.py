"""Alerts: their kinds, when one begins, ends and is reported, and the settings of the installation
file. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, field

from dunwell.accounts.installation.delivery_providers import (
    DeliveryProvider,
    DeliveryProviderName,
    ProviderPart,
)
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import render_pointer
from dunwell.platform.text.texts import is_email_address

Address = Annotated[str, Meta(min_length=3, max_length=254)]
Minutes = Annotated[int, Meta(ge=5, le=10_080)]


class FailureThreshold(ProviderPart, frozen=True):
    """When a delivery provider or a receiving domain counts as failing. Both limits must be reached
    within one day."""

    percent: Annotated[float, Meta(gt=0, le=100)] = 5.0
    least: Annotated[int, Meta(ge=3, le=100_000)] = 10

    def is_reached(self, *, sent: int, failed: int) -> bool:
        """Return whether both limits are reached. `sent` counts all messages, including the failed
        ones."""
        return failed >= self.least and failed * 100 >= sent * self.percent


class AlertSettings(ProviderPart, frozen=True):
    """The `alerts` key. Without addresses in `email`, alerts are shown only in the portal."""

    email: Annotated[list[Address], Meta(max_length=20)] = field(default_factory=list)
    # The delivery provider for the e-mails. Without one, the first e-mail provider that works is
    # used.
    provider: DeliveryProviderName | None = None
    # The sender's address. Default: the operator's contact, else the first address in `email`.
    sender: Address | None = field(default=None, name="from")
    language: Literal["en", "de"] = "en"
    # An active alert is reported again after this time.
    again_after_hours: Annotated[int, Meta(ge=1, le=168)] = 24
    # Messages, jobs and reports that wait longer than this are late.
    late_after_minutes: Minutes = 60
    # Limit for sends with an unknown result, unread replies and unanswered disputes.
    unseen_after_minutes: Minutes = 1_440
    failing: FailureThreshold = field(default_factory=FailureThreshold)


def find_alert_settings_faults(settings: AlertSettings) -> Iterator[Fault]:
    """Yield the faults other than wrong keys and types, with pointers into the file."""
    for index, address in enumerate(settings.email):
        if not is_email_address(address):
            yield _build_email_fault(["alerts", "email", index], address)
    if settings.sender is not None and not is_email_address(settings.sender):
        yield _build_email_fault(["alerts", "from"], settings.sender)


def find_alert_provider_faults(
    settings: AlertSettings | None, providers: Mapping[str, DeliveryProvider]
) -> Iterator[Fault]:
    """Yield a fault if `provider` is not an e-mail provider. `providers` are the delivery providers
    after the file is applied."""
    if settings is None or settings.provider is None:
        return
    provider = providers.get(settings.provider)
    if provider is None or provider.channel != "EMAIL":
        message = (
            f'"{settings.provider}" is not a delivery provider for e-mail. Name one that is, '
            "or remove the key."
        )
        yield Fault(render_pointer(["alerts", "provider"]), message, "UNKNOWN_LINE")


def _build_email_fault(path: list[str | int], address: str) -> Fault:
    message = f'"{address}" is not a plain e-mail address such as "ops@example.com".'
    return Fault(render_pointer(path), message, "WRONG_EMAIL")


# A condition that returns within this time continues its alert, so that a flapping condition is not
# reported each time.
QUIET_PERIOD = timedelta(minutes=15)


class AlertKind(StrEnum):
    # The subject is a delivery provider's name.
    PROVIDER_UNUSABLE = "PROVIDER_UNUSABLE"
    PROVIDER_FAILING = "PROVIDER_FAILING"
    PROVIDER_BACKLOG = "PROVIDER_BACKLOG"
    BATCH_LATE = "BATCH_LATE"
    MAILBOX_LATE = "MAILBOX_LATE"
    UNMATCHED_REPORTS = "UNMATCHED_REPORTS"
    UNMATCHED_SMS = "UNMATCHED_SMS"
    # The subject is a delivery provider and a receiving domain, such as "post/example.com".
    DESTINATION_FAILING = "DESTINATION_FAILING"
    # The subject is the name of an account at a payment provider.
    PAYMENT_ACCOUNT_MISSING = "PAYMENT_ACCOUNT_MISSING"
    PAYMENT_ACCOUNT_FAILING = "PAYMENT_ACCOUNT_FAILING"
    # The subject is a merchant's id.
    UNKNOWN_SENDS = "UNKNOWN_SENDS"
    OVERDUE_DISPUTES = "OVERDUE_DISPUTES"
    UNSEEN_REPLIES = "UNSEEN_REPLIES"
    WEBHOOKS_OFF = "WEBHOOKS_OFF"
    WEBHOOKS_FAILING = "WEBHOOKS_FAILING"
    # The subject is empty: the alert concerns the installation.
    STEPS_LATE = "STEPS_LATE"
    ARCHIVE_BEHIND = "ARCHIVE_BEHIND"
    # The subject is a host name.
    CLOCKS_APART = "CLOCKS_APART"
    # Events, whose alert ends in the moment in which it begins.
    BREAK_GLASS = "BREAK_GLASS"
    SECOND_FACTOR_LOCKED = "SECOND_FACTOR_LOCKED"


EVENT_KINDS = frozenset({AlertKind.BREAK_GLASS, AlertKind.SECOND_FACTOR_LOCKED})


class AlertPhase(StrEnum):
    BEGAN = "BEGAN"
    LASTS = "LASTS"
    OVER = "OVER"


class AlertFigures(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """The figures that an alert's report shows. They hold no data of debtors or users."""

    count: int | None = None
    # The total of which `count` is a part.
    among: int | None = None
    since: datetime | None = None
    # The merchant's key.
    merchant: str | None = None
    # The readings of two clocks at the same moment.
    host_clock: datetime | None = None
    database_clock: datetime | None = None


class AlertCondition(msgspec.Struct, frozen=True, gc=False):
    kind: AlertKind
    # Empty if the condition concerns the whole installation.
    subject: str
    figures: AlertFigures = AlertFigures()


class Alert(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    alert_id: UUID
    kind: AlertKind
    subject: str
    figures: AlertFigures
    began_at: datetime
    # When the condition of the alert was last found.
    seen_at: datetime
    ended_at: datetime | None
    # How often the alert was reported, when last, and in which phase.
    report_count: int = 0
    reported_at: datetime | None = None
    reported_phase: AlertPhase | None = None


@dataclass(frozen=True, slots=True)
class AlertChanges:
    began: Sequence[AlertCondition]
    # The conditions that were found again, each with the id of its active alert as the key.
    lasting: Mapping[UUID, AlertCondition]
    # The ids of the active alerts whose condition was not found for QUIET_PERIOD.
    over: Collection[UUID]


def compare_alerts(
    active: Sequence[Alert], conditions: Sequence[AlertCondition], now: datetime
) -> AlertChanges:
    """Compare the active alerts with the conditions that hold now."""
    alerts_by_key = {(alert.kind, alert.subject): alert for alert in active}
    conditions_by_key = {(each.kind, each.subject): each for each in conditions}
    return AlertChanges(
        began=[each for key, each in conditions_by_key.items() if key not in alerts_by_key],
        lasting={
            alerts_by_key[key].alert_id: condition
            for key, condition in conditions_by_key.items()
            if key in alerts_by_key
        },
        over=[
            alert.alert_id
            for key, alert in alerts_by_key.items()
            if key not in conditions_by_key and now - alert.seen_at >= QUIET_PERIOD
        ],
    )


def decide_phase(alert: Alert, now: datetime, again_after: timedelta) -> AlertPhase | None:
    """Return the phase in which the alert must be reported now. Return None if no report is due."""
    if alert.reported_phase is None or alert.reported_at is None:
        is_news = alert.ended_at is None or alert.kind in EVENT_KINDS
        return AlertPhase.BEGAN if is_news else None
    if alert.reported_phase is AlertPhase.OVER or alert.kind in EVENT_KINDS:
        return None
    if alert.ended_at is not None:
        return AlertPhase.OVER
    return AlertPhase.LASTS if now - alert.reported_at >= again_after else None
