"""The overview of delivery providers: waiting messages, sent messages, and delivery reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dunwell.accounts.installation.alerts.alert import AlertSettings, FailureThreshold
from dunwell.accounts.installation.delivery_providers import DeliveryProvider
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.account import check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.rights import Right
from dunwell.operations.dashboards.figures import (
    ArrivalFigures,
    DestinationFigures,
    FailureReason,
    ProviderBacklog,
    UnmatchedReport,
)
from dunwell.operations.dashboards.store import (
    ContactSelection,
    count_arrivals,
    count_arrivals_by_destination,
    count_backlogs,
    list_failures,
    list_unmatched,
)
from dunwell.platform.database.database import Connection

MAX_LIMIT_PERIOD = timedelta(days=7)
_NO_FIGURES = ArrivalFigures(0, 0, 0)
# Counting stops at these numbers.
MAX_WAITING, MAX_SENT = 1_001, 10_001
_MAX_DELIVERIES, _MAX_FAILURES, _MAX_UNMATCHED = 100, 300, 50


@dataclass(frozen=True, slots=True)
class ProviderState:
    name: str
    provider: DeliveryProvider
    backlog: ProviderBacklog | None
    sent: ArrivalFigures
    # True if the share of failed messages reaches the threshold in the installation file. Receivers
    # may then block the sender.
    has_too_many_failures: bool


@dataclass(frozen=True, slots=True)
class DestinationState:
    """A destination of a provider, with the reasons of failures."""

    delivery: DestinationFigures
    # Most frequent first.
    reasons: Sequence[FailureReason]
    has_too_many_failures: bool


@dataclass(frozen=True, slots=True)
class ProviderOverview:
    providers: Sequence[ProviderState]
    # Those with most failures first.
    destinations: Sequence[DestinationState]
    # Failures at destinations that are not in `destinations`, most frequent first. Failures of
    # messages outside workflows (codes, receipts) are also in `reasons` of a listed destination.
    others: Sequence[FailureReason]
    unmatched: Sequence[UnmatchedReport]
    # The thresholds of the installation file at which a failure rate is marked.
    failing: FailureThreshold
    since: datetime


async def load_provider_overview(tx: Connection, actor: Actor, now: datetime) -> ProviderOverview:
    """Load the overview over all merchants. `now` is real time."""
    check_right(actor, Right.OPERATE)
    installation = (await load_installation(tx)).installation
    providers: Mapping[str, DeliveryProvider] = installation.delivery_providers or {}
    failing = (installation.alerts or AlertSettings()).failing
    selection = ContactSelection(list(providers), now - MAX_LIMIT_PERIOD, MAX_SENT)
    backlogs = await count_backlogs(tx, selection.providers, now, MAX_WAITING)
    sent = await count_arrivals(tx, selection)
    deliveries = await count_arrivals_by_destination(tx, selection, _MAX_DELIVERIES)
    failures = await list_failures(tx, selection, _MAX_FAILURES)
    shown = {(each.provider, each.destination) for each in deliveries}
    return ProviderOverview(
        providers=[
            _build_provider_state(
                name, provider, backlogs=backlogs, sent=sent.get(name, _NO_FIGURES), failing=failing
            )
            for name, provider in providers.items()
        ],
        destinations=[_build_destination_state(each, failures, failing) for each in deliveries],
        others=[each for each in failures if (each.provider, each.destination) not in shown],
        unmatched=await list_unmatched(tx, selection.since, _MAX_UNMATCHED),
        failing=failing,
        since=selection.since,
    )


def _build_provider_state(
    name: str,
    provider: DeliveryProvider,
    backlogs: Mapping[str, ProviderBacklog],
    sent: ArrivalFigures,
    failing: FailureThreshold,
) -> ProviderState:
    has_too_many_failures = failing.is_reached(sent=sent.sent, failed=sent.failed)
    return ProviderState(
        name,
        provider,
        backlog=backlogs.get(name),
        sent=sent,
        has_too_many_failures=has_too_many_failures,
    )


def _build_destination_state(
    delivery: DestinationFigures, failures: Sequence[FailureReason], failing: FailureThreshold
) -> DestinationState:
    key, sent = (delivery.provider, delivery.destination), delivery.sent
    reasons = [each for each in failures if (each.provider, each.destination) == key]
    has_too_many_failures = failing.is_reached(sent=sent.sent, failed=sent.failed)
    return DestinationState(delivery, reasons, has_too_many_failures)
