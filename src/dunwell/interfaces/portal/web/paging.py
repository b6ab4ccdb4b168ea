"""Pages of lists, and days as forms and addresses write them."""

from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeVar
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.platform.errors import ValidationError

PAGE = 50
_Found = TypeVar("_Found")


async def find_page(find: Callable[[str | None], Awaitable[_Found]], after: str) -> _Found:
    """Return the page of the cursor, or the first page if the cursor is not valid."""
    try:
        return await find(after or None)
    except ValidationError:
        return await find(None)


def read_day(text: str) -> date | None:
    """Parse a day. None if it is not a date, or so far away that another time zone could not show
    it."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 1900 < day.year < 9000 else None


def span_of_day(merchant: Merchant, on: date | None) -> tuple[datetime | None, datetime | None]:
    """Return a day's start and end in the merchant's time zone. Without a day, both are None."""
    if on is None:
        return None, None
    zone = ZoneInfo(merchant.configuration.timezone)
    since = datetime.combine(on, time(), zone).astimezone(UTC)
    return since, datetime.combine(on + timedelta(days=1), time(), zone).astimezone(UTC)
