"""How days, moments and counts read in the portal's lists: short, so that many stand in a row, and
with the whole of it in the page for whoever asks. Pure."""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from babel.dates import format_date, format_time
from babel.numbers import format_currency, format_decimal, format_percent
from markupsafe import Markup

from dunwell.contact.messages.formatting import (
    find_day_locale,
    find_locale,
    render_day,
    render_money,
)

_SHORT = {"de": "dd.MM.yyyy"}
_OTHER_SHORT = "d MMM yyyy"


def build_portal_filters(language: str) -> dict[str, Callable[..., Any]]:
    """By the names that templates call them: `day | short_day`, `instant | short(timezone)`,
    `instant | time(timezone)`, `count | count`, `percent | percent`, `wire | at`, `value | json`,
    `cents | price(currency)`, `day | weekday_day`, `instant | weekday_moment(timezone)`."""
    return {
        "short_day": partial(_render_short_day, language),
        "short": partial(_render_short_moment, language),
        "date_only": partial(_render_date_only, language),
        "count": partial(_render_count, language),
        "percent": partial(_render_percent, language),
        "weekday": partial(_render_weekday, language),
        "at": read_instant,
        "json": lambda value: msgspec.json.encode(value).decode(),
        "price": partial(_render_price, language),
        "weekday_day": partial(_render_weekday_day, language),
        "weekday_moment": partial(_render_weekday_moment, language),
        "money_text": lambda cents, currency: render_money(cents, currency, language),
    }


def read_instant(text: str | None) -> datetime | None:
    """As `kit.wire` writes it."""
    return None if text is None else datetime.fromisoformat(text)


@lru_cache(maxsize=8192)
def _render_short_day(language: str, day: date | None) -> str:
    """A day as a list shows it; the whole of it for whoever reads by ear."""
    if day is None:
        return ""
    text = _format_short(language, day)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        day.isoformat(), render_day(day, language), text
    )


def _format_short(language: str, day: date) -> str:
    short: str = format_date(
        day, _SHORT.get(language, _OTHER_SHORT), locale=find_day_locale(language)
    )
    return short.replace(" ", "\N{NO-BREAK SPACE}")


def _render_short_moment(language: str, instant: datetime | None, timezone: str) -> str:
    """Day and time where the merchant is."""
    if instant is None:
        return ""
    local = instant.astimezone(ZoneInfo(timezone))
    clock = format_time(local, "HH:mm", locale=find_locale(language))
    return Markup('<time datetime="{}">{} {}</time>').format(
        local.isoformat(timespec="seconds"), _format_short(language, local.date()), clock
    )


def _render_date_only(language: str, instant: datetime | None, timezone: str) -> str:
    """The day an instant is on where the merchant is, short."""
    if instant is None:
        return ""
    return _render_short_day(language, instant.astimezone(ZoneInfo(timezone)).date())


def _render_weekday(language: str, day: date) -> str:
    return str(format_date(day, "EEEE", locale=find_day_locale(language)))


def _render_count(language: str, count: int) -> str:
    return str(format_decimal(count, locale=find_locale(language)))


def _render_percent(language: str, percent: int) -> str:
    return str(format_percent(percent / 100, locale=find_locale(language)))


def _render_price(language: str, cents: Decimal, currency: str) -> str:
    """What sending costs: parts of a cent are told."""
    return str(
        format_currency(
            cents.normalize() / 100, currency, locale=find_locale(language),
            decimal_quantization=False,
        )
    )  # fmt: skip


def _render_weekday_day(language: str, day: date) -> str:
    """Mon, 2 Mar 2026."""
    weekday = format_date(day, "EEE", locale=find_day_locale(language))
    return f"{weekday} {_format_short(language, day)}"


def _render_weekday_moment(language: str, instant: datetime, timezone: str) -> Markup:
    local = instant.astimezone(ZoneInfo(timezone))
    return Markup("{} {}").format(
        format_date(local, "EEE", locale=find_day_locale(language)),
        _render_short_moment(language, instant, timezone),
    )
