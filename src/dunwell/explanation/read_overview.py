"""What a merchant's staff sees first: what waits for a person, and since when, and a few figures.

Nothing is counted beyond `MOST`, and money and messages are those of the newest `NEWEST` rows.
"""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import msgspec

from dunwell.claims.states import Status
from dunwell.disputes.overdue import find_overdue_before
from dunwell.kit.sql import load_statement
from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right

MOST = 1_000
NEWEST = 10_000
RECENT = timedelta(days=7)
MONEY_DAYS = 14
_LOAD = load_statement(__file__, "overview.sql")


class Waiting(msgspec.Struct, frozen=True, array_like=True):
    """Up to `MOST` + 1. since: of the oldest; none where nothing waits."""

    count: int
    since: datetime | None


class PaidDay(msgspec.Struct, frozen=True, array_like=True):
    day: date
    currency: str
    cents: int
    number: int


class Overview(msgspec.Struct, frozen=True):
    disputes: Waiting
    # Of these, those that should have been answered.
    overdue: Waiting
    plans: Waiting
    unknown: Waiting
    # In the last seven days.
    bounces: Waiting
    endpoints: Waiting
    states: dict[str, int]
    held: int
    # Claims whose next step comes then.
    tomorrow: int
    # Channel -> state -> how many were planned in the last seven days.
    contacts: dict[str, dict[str, int]]
    paid: list[PaidDay]
    # There are more payments than were counted.
    is_cut: bool


async def read_overview(work: Work) -> Overview:
    work.need(Right.READ_CLAIMS)
    configuration = work.merchant.configuration
    zone = ZoneInfo(configuration.timezone)
    today = work.now.astimezone(zone).date()
    within = configuration.disputes.answer_within_days
    document = await work.tx.fetchval(
        _LOAD, work.merchant_id, MOST + 1,
        find_overdue_before(work.now, within, configuration.timezone), work.now - RECENT,
        [str(each) for each in Status], _start(today, 1, zone), _start(today, 2, zone), NEWEST,
        configuration.timezone, _start(today, 1 - MONEY_DAYS, zone),
    )  # fmt: skip
    return msgspec.json.decode(document, type=Overview)


def _start(today: date, days: int, zone: ZoneInfo) -> datetime:
    return datetime.combine(today + timedelta(days=days), time(), zone)
