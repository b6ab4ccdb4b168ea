"""How the installation's lines stand: what waits for them, what left by them and what came back."""

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
    Backlog,
    DestinationFigures,
    Failures,
    Unmatched,
)
from dunwell.operations.dashboards.store import (
    LookedAtContacts,
    load_backlogs,
    load_deliveries,
    load_failures,
    load_sent,
    load_unmatched,
)
from dunwell.platform.database.database import Connection

LONGEST_LIMIT_PERIOD = timedelta(days=7)
_NOTHING = ArrivalFigures(0, 0, 0)
# What is counted no further.
MOST_WAITING, MOST_SENT = 1_001, 10_001
_MOST_DELIVERIES, _MOST_FAILURES, _MOST_UNMATCHED = 100, 300, 50


@dataclass(frozen=True, slots=True)
class LineState:
    name: str
    line: DeliveryProvider
    backlog: Backlog | None
    sent: ArrivalFigures
    # More comes back than the installation file lets pass: look before receivers refuse it all.
    is_losing: bool


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a line sends to, and why what did not arrive there failed."""

    delivery: DestinationFigures
    # The most frequent first.
    reasons: Sequence[Failures]
    is_losing: bool


@dataclass(frozen=True, slots=True)
class LinesView:
    lines: Sequence[LineState]
    # Where most failed first.
    destinations: Sequence[Destination]
    # Failures of messages that are no contacts (codes, receipts), the most frequent first.
    others: Sequence[Failures]
    unmatched: Sequence[Unmatched]
    # From when on a line or a destination loses too much.
    failing: FailureThreshold
    since: datetime


async def read_lines(tx: Connection, actor: Actor, now: datetime) -> LinesView:
    """now: real time. Over all merchants."""
    check_right(actor, Right.OPERATE)
    installation = (await load_installation(tx)).installation
    lines: Mapping[str, DeliveryProvider] = installation.delivery_providers or {}
    failing = (installation.alerts or AlertSettings()).failing
    looked = LookedAtContacts(list(lines), now - LONGEST_LIMIT_PERIOD, MOST_SENT)
    backlogs = await load_backlogs(tx, looked.lines, now, MOST_WAITING)
    sent = await load_sent(tx, looked)
    deliveries = await load_deliveries(tx, looked, _MOST_DELIVERIES)
    failures = await load_failures(tx, looked, _MOST_FAILURES)
    shown = {(each.line, each.destination) for each in deliveries}
    return LinesView(
        lines=[
            _describe_line(
                name, line, backlogs=backlogs, sent=sent.get(name, _NOTHING), failing=failing
            )
            for name, line in lines.items()
        ],
        destinations=[_describe(each, failures, failing) for each in deliveries],
        others=[each for each in failures if (each.line, each.destination) not in shown],
        unmatched=await load_unmatched(tx, looked.since, _MOST_UNMATCHED),
        failing=failing,
        since=looked.since,
    )


def _describe_line(
    name: str,
    line: DeliveryProvider,
    backlogs: Mapping[str, Backlog],
    sent: ArrivalFigures,
    failing: FailureThreshold,
) -> LineState:
    is_losing = failing.is_reached(sent=sent.sent, failed=sent.failed)
    return LineState(name, line, backlog=backlogs.get(name), sent=sent, is_losing=is_losing)


def _describe(
    delivery: DestinationFigures, failures: Sequence[Failures], failing: FailureThreshold
) -> Destination:
    place, sent = (delivery.line, delivery.destination), delivery.sent
    reasons = [each for each in failures if (each.line, each.destination) == place]
    is_losing = failing.is_reached(sent=sent.sent, failed=sent.failed)
    return Destination(delivery, reasons, is_losing)
