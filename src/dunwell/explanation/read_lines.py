"""How the installation's lines stand: what waits for them, what left by them and what came back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dunwell.explanation.lines_store import (
    Backlog,
    Failures,
    Sent,
    Unmatched,
    load_backlogs,
    load_failures,
    load_sent,
    load_unmatched,
)
from dunwell.installation.lines.lines import Line
from dunwell.installation.store import load_installation
from dunwell.kit.db import Connection
from dunwell.merchants.account import check_right
from dunwell.merchants.actor import Actor
from dunwell.merchants.rights import Right

LOOKED_BACK = timedelta(days=7)
# What is counted no further.
MOST_WAITING, MOST_SENT = 1_001, 10_001
_MOST_FAILURES, _MOST_UNMATCHED = 100, 50
# A line that loses so many in a hundred, and more than a handful, is told of.
_ALARM_SHARE, _LEAST_FAILED = 0.05, 10


@dataclass(frozen=True, slots=True)
class LineState:
    name: str
    line: Line
    backlog: Backlog | None
    sent: Sent

    @property
    def is_losing(self) -> bool:
        """More comes back than is usual: look before receivers refuse it all."""
        tried = self.sent.accepted + self.sent.failed
        return self.sent.failed >= _LEAST_FAILED and self.sent.failed >= tried * _ALARM_SHARE


@dataclass(frozen=True, slots=True)
class LinesView:
    lines: Sequence[LineState]
    # The most frequent first; refusals that are about us among them need an operator.
    failures: Sequence[Failures]
    unmatched: Sequence[Unmatched]
    since: datetime


async def read_lines(tx: Connection, actor: Actor, now: datetime) -> LinesView:
    """now: real time. Over all merchants."""
    check_right(actor, Right.OPERATE)
    lines: Mapping[str, Line] = (await load_installation(tx)).installation.lines or {}
    names, since = list(lines), now - LOOKED_BACK
    backlogs = await load_backlogs(tx, names, now, MOST_WAITING)
    sent = await load_sent(tx, names, since, MOST_SENT)
    nothing = Sent(0, 0, 0)
    states = [
        LineState(name, line, backlogs.get(name), sent.get(name, nothing))
        for name, line in lines.items()
    ]
    failures = await load_failures(tx, names, since, _MOST_FAILURES)
    return LinesView(states, failures, await load_unmatched(tx, since, _MOST_UNMATCHED), since)
