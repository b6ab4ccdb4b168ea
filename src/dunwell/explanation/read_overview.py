"""A merchant at a glance: claims by state, what comes tomorrow, messages and money of late.

Nothing is counted beyond `MOST`, and money and messages are those of the newest `NEWEST` rows.
"""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import msgspec

from dunwell.claims.states import Status
from dunwell.kit.sql import load_statement
from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right

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


class Overview(msgspec.Struct, frozen=True):
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
    document = await work.tx.fetchval(
        _LOAD, work.merchant_id, MOST + 1, work.now - RECENT,
        [str(each) for each in Status], _start(today, 1, zone), _start(today, 2, zone), NEWEST,
        configuration.timezone, _start(today, 1 - MONEY_DAYS, zone),
    )  # fmt: skip
    return msgspec.json.decode(document, type=Overview)


def _start(today: date, days: int, zone: ZoneInfo) -> datetime:
    return datetime.combine(today + timedelta(days=days), time(), zone)
