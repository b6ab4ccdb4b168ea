"""How amounts, days and moments read on the pages. Pure.

Money is marked so that it never breaks over two lines and keeps its direction in any text.
"""

from collections.abc import Callable
from datetime import date, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from babel.dates import format_time, get_timezone_name
from markupsafe import Markup

from dunwell.messages.formatting import find_locale, render_day, render_money


class Formats:
    """Of one page: its language, its claim's currency, its merchant's zone."""

    __slots__ = ("_currency", "_language", "_timezone")

    def __init__(self, language: str, currency: str, timezone: str) -> None:
        self._language = language
        self._currency = currency
        self._timezone = timezone

    @property
    def functions(self) -> dict[str, Callable[..., str]]:
        """By the names the templates call them."""
        return {"money": self.money, "day": self.day, "moment": self.moment}

    def money(self, cents: int) -> Markup:
        return _render_amount(cents, self._currency, self._language)

    def day(self, day: date | datetime) -> str:
        """A day, or the day an instant is on where the merchant is."""
        if isinstance(day, datetime):
            day = day.astimezone(ZoneInfo(self._timezone)).date()
        return render_day(day, self._language)

    def moment(self, instant: datetime) -> str:
        """Day and time where the merchant is, with the zone's name."""
        local = instant.astimezone(ZoneInfo(self._timezone))
        locale = find_locale(self._language)
        clock = format_time(local, "short", locale=locale)
        zone = get_timezone_name(local, "short", locale=locale)
        if not zone.isalpha():  # the language has no short name of its own for it
            zone = local.tzname() or zone
        return f"{render_day(local.date(), self._language)}, {clock} {zone}"


@lru_cache(maxsize=8192)
def _render_amount(cents: int, currency: str, language: str) -> Markup:
    return Markup('<bdi class="money">{}</bdi>').format(render_money(cents, currency, language))
