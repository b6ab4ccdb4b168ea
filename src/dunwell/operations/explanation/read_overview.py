"""A merchant at a glance: claims by state, what comes tomorrow, messages and money of late.

Nothing is counted beyond `MOST`, and money and messages are those of the newest `NEWEST` rows.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import dropwhile, takewhile
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.states import Status
from dunwell.core.workflows.definition import CommunicationStep, FeeStep, Step, WaitStep
from dunwell.core.workflows.store import load_newest
from dunwell.platform.database.sql import load_statement

MOST = 1_000
NEWEST = 10_000
RECENT = timedelta(days=7)
MONEY_DAYS = 14
_LOAD = load_statement(__file__, "overview.sql")


class PaidDay(msgspec.Struct, frozen=True, array_like=True):
    day: date
    currency: str
    cents: int
    number: int


class Due(msgspec.Struct, frozen=True, array_like=True):
    """So many claims stand before this step; none: they are archived then."""

    workflow_id: UUID
    major: int
    step_id: int | None
    number: int


class Tomorrow(msgspec.Struct, frozen=True):
    """What the claims that are due do, if nobody pays and all conditions hold. `claims`: how many;
    `contacts`: by the first channel of each; `fees` in cents of the merchant's currency."""

    claims: int
    contacts: dict[str, int]
    fees: int
    fee_cents: int
    archived: int


class Overview(msgspec.Struct, frozen=True):
    states: dict[str, int]
    held: int
    tomorrow: Tomorrow
    # Channel -> state -> how many were planned in the last seven days.
    contacts: dict[str, dict[str, int]]
    paid: list[PaidDay]
    # There are more payments than were counted.
    is_cut: bool


class _Loaded(msgspec.Struct, frozen=True):
    """As `overview.sql` has it."""

    states: dict[str, int]
    held: int
    tomorrow: list[Due]
    contacts: dict[str, dict[str, int]]
    paid: list[PaidDay]
    is_cut: bool


async def read_overview(work: Work) -> Overview:
    work.need(Right.READ_CLAIMS)
    configuration = work.merchant.configuration
    zone = ZoneInfo(configuration.timezone)
    today = work.now.astimezone(zone).date()
    document = await work.tx.fetchval(
        _LOAD, work.merchant_id, MOST + 1, work.now - RECENT,
        [str(each) for each in Status], _start(today, 1, zone), _start(today, 2, zone), NEWEST,
        configuration.timezone, _start(today, 1 - MONEY_DAYS, zone),
    )  # fmt: skip
    loaded = msgspec.json.decode(document, type=_Loaded)
    processes = {(each.workflow_id, each.major) for each in loaded.tomorrow}
    versions = await load_newest(work.tx, work.merchant_id, processes) if processes else {}
    steps = {pair: version.definition.steps for pair, version in versions.items()}
    return Overview(
        states=loaded.states, held=loaded.held, tomorrow=foresee_day(loaded.tomorrow, steps),
        contacts=loaded.contacts, paid=loaded.paid, is_cut=loaded.is_cut,
    )  # fmt: skip


def foresee_day(due: Sequence[Due], steps: Mapping[tuple[UUID, int], Sequence[Step]]) -> Tomorrow:
    """The steps of a process follow one another at once, up to its next wait."""
    contacts, fees, fee_cents, archived = Counter[str](), 0, 0, 0
    for each in due:
        ran = _list_run(steps.get((each.workflow_id, each.major), ()), each.step_id)
        archived += each.number if each.step_id is None else 0
        for step in ran:
            if isinstance(step, CommunicationStep):
                contacts[step.channel] += each.number
            elif isinstance(step, FeeStep):
                fees += each.number
                fee_cents += each.number * int(step.value)
    return Tomorrow(
        sum(each.number for each in due),
        contacts,
        fees=fees,
        fee_cents=fee_cents,
        archived=archived,
    )


def _list_run(steps: Sequence[Step], first: int | None) -> Iterator[Step]:
    behind = dropwhile(lambda step: step.id != first, steps)
    return takewhile(lambda step: not isinstance(step, WaitStep), behind)


def _start(today: date, days: int, zone: ZoneInfo) -> datetime:
    return datetime.combine(today + timedelta(days=days), time(), zone)
