"""Template filters that write amounts, days, instants and sizes in one language.

An amount is marked up so that it never breaks over two lines and keeps its direction in any text.
On pages, a day and its month stay on one line; in letters and e-mails they may be separated. The
lists of the portal use shorter forms, which contain the full day for screen readers. Pure.
"""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from babel.dates import format_date, format_time, get_timezone_name
from babel.numbers import format_currency, format_decimal, format_percent
from markupsafe import Markup

from dunwell.contact.messages.templates.formatting import (
    get_day_locale,
    get_locale,
    render_day,
    render_money,
)
from dunwell.interfaces.web.amounts import render_typed_amount

_MEGABYTE = 1_000_000
_GIGABYTE = 1000 * _MEGABYTE
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_SHORT_PATTERNS = {"de": "dd.MM.yyyy"}
_DEFAULT_SHORT_PATTERN = "d MMM yyyy"


def build_message_filters(language: str) -> dict[str, Callable[..., Any]]:
    """Return the filters of letters and e-mails by their names in templates: `cents |
    money(currency)`, `day | day`, `instant | day_of(timezone)`, `instant | moment(timezone)`,
    `bytes | size`."""
    return {
        "money": lambda cents, currency: render_amount(cents, currency, language),
        "day": lambda day: render_day(day, language),
        "day_of": partial(_render_day_of, language),
        "moment": partial(_render_moment, language),
        "size": partial(_render_size, language),
    }


def build_page_filters(language: str) -> dict[str, Callable[..., Any]]:
    """Return the filters of pages: those of messages, and `instant | bound_moment(timezone)`,
    `cents | plain(currency)`, `day | short_day`, `instant | short(timezone)`, `instant |
    date_only(timezone)`, `count | count`, `percent | percent`, `day | weekday`, `text | at`, `value
    | json`, `cents | price(currency)`, `day | weekday_day`, `instant | weekday_moment(timezone)`,
    `cents | money_text(currency)`."""
    return build_message_filters(language) | {
        "day": lambda day: render_unbroken_day(day, language),
        "bound_moment": lambda instant, timezone: render_unbroken_moment(
            instant, timezone, language
        ),
        "plain": lambda cents, currency: render_typed_amount(cents, currency, language),
        "day_of": lambda instant, timezone: render_unbroken_day(
            _localize(instant, timezone).date(), language
        ),
        "short_day": partial(_render_short_day, language),
        "short": partial(_render_short_moment, language),
        "date_only": partial(_render_date_only, language),
        "count": partial(_render_count, language),
        "percent": partial(_render_percent, language),
        "weekday": partial(_render_weekday, language),
        "at": parse_instant,
        "json": lambda value: msgspec.json.encode(value).decode(),
        "price": partial(_render_price, language),
        "weekday_day": partial(_render_weekday_day, language),
        "weekday_moment": partial(_render_weekday_moment, language),
        "money_text": lambda cents, currency: render_money(cents, currency, language),
    }


def parse_instant(text: str | None) -> datetime | None:
    """Parse an instant in the format of `platform.text.wire`."""
    return None if text is None else datetime.fromisoformat(text)


@lru_cache(maxsize=8192)
def render_unbroken_day(day: date | None, language: str) -> str:
    """Return a day for a page. The line may break only before the year, so that a day and a large
    amount fit next to each other on the smallest screen."""
    return render_day(day, language).replace(" ", _NO_BREAK_SPACE, 1)


@lru_cache(maxsize=8192)
def render_amount(cents: int, currency: str, language: str) -> Markup:
    """Return an amount of minor units with its currency."""
    return Markup('<bdi class="money">{}</bdi>').format(render_money(cents, currency, language))


def _render_day_of(language: str, instant: datetime, timezone: str) -> str:
    """Return the day of an instant in the merchant's time zone."""
    return render_day(_localize(instant, timezone).date(), language)


def _render_moment(language: str, instant: datetime, timezone: str) -> str:
    """Return day and time in the merchant's time zone, with the zone's name."""
    return ", ".join(_render_day_and_time(language, instant, timezone))


def render_unbroken_moment(instant: datetime, timezone: str, language: str) -> str:
    """Return the day like `render_unbroken_day`, with the time in the merchant's time zone."""
    day = render_unbroken_day(_localize(instant, timezone).date(), language)
    _, time = _render_day_and_time(language, instant, timezone)
    return f"{day}, {time.replace(' ', _NO_BREAK_SPACE)}"


def _render_day_and_time(language: str, instant: datetime, timezone: str) -> tuple[str, str]:
    local = _localize(instant, timezone)
    locale = get_day_locale(language)
    clock = format_time(local, "short", locale=locale)
    zone = get_timezone_name(local, "short", locale=locale)
    if not zone.isalpha():  # The language has no short name for the zone.
        zone = local.tzname() or zone
    return render_day(local.date(), language), f"{clock} {zone}"


@lru_cache(maxsize=4096)
def _render_size(language: str, size_bytes: int) -> str:
    """Return a size in kilobytes, or in megabytes or gigabytes with one decimal."""
    locale = get_locale(language)
    if size_bytes < _MEGABYTE:
        return (
            f"{format_decimal(max(1, round(size_bytes / 1000)), locale=locale)}{_NO_BREAK_SPACE}KB"
        )
    scale, unit = (_MEGABYTE, "MB") if size_bytes < _GIGABYTE else (_GIGABYTE, "GB")
    scaled = format_decimal(size_bytes / scale, format="#,##0.0", locale=locale)
    return f"{scaled}{_NO_BREAK_SPACE}{unit}"


@lru_cache(maxsize=8192)
def _render_short_day(language: str, day: date | None) -> str:
    """Return a day for a list, with its full form for screen readers."""
    if day is None:
        return ""
    text = _format_short(language, day)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        day.isoformat(), render_day(day, language), text
    )


def _format_short(language: str, day: date) -> str:
    short: str = format_date(
        day, _SHORT_PATTERNS.get(language, _DEFAULT_SHORT_PATTERN), locale=get_day_locale(language)
    )
    return short.replace(" ", _NO_BREAK_SPACE)


def _render_short_moment(language: str, instant: datetime | None, timezone: str) -> str:
    """Return day and time for a list, in the merchant's time zone."""
    if instant is None:
        return ""
    local = _localize(instant, timezone)
    clock = format_time(local, "HH:mm", locale=get_locale(language))
    return Markup('<time datetime="{}">{} {}</time>').format(
        local.isoformat(timespec="seconds"), _format_short(language, local.date()), clock
    )


def _render_date_only(language: str, instant: datetime | None, timezone: str) -> str:
    """Return the day of an instant for a list, in the merchant's time zone."""
    if instant is None:
        return ""
    return _render_short_day(language, _localize(instant, timezone).date())


def _render_weekday(language: str, day: date) -> str:
    return str(format_date(day, "EEEE", locale=get_day_locale(language)))


def _render_count(language: str, count: int) -> str:
    return str(format_decimal(count, locale=get_locale(language)))


def _render_percent(language: str, percent: int) -> str:
    return str(format_percent(percent / 100, locale=get_locale(language)))


def _render_price(language: str, cents: Decimal, currency: str) -> str:
    """Return the price of sending a message, including fractions of a cent."""
    return str(
        format_currency(
            cents.normalize() / 100, currency, locale=get_locale(language),
            decimal_quantization=False,
        )
    )  # fmt: skip


def _render_weekday_day(language: str, day: date) -> str:
    """Return a day with its weekday, such as "Mon 2 Mar 2026"."""
    weekday = format_date(day, "EEE", locale=get_day_locale(language))
    return f"{weekday} {_format_short(language, day)}"


def _render_weekday_moment(language: str, instant: datetime, timezone: str) -> Markup:
    local = _localize(instant, timezone)
    return Markup("{} {}").format(
        format_date(local, "EEE", locale=get_day_locale(language)),
        _render_short_moment(language, instant, timezone),
    )


def _localize(instant: datetime, timezone: str) -> datetime:
    return instant.astimezone(ZoneInfo(timezone))
