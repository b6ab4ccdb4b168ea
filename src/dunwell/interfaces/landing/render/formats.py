"""How amounts, days and moments read on the pages of one language, as its templates' filters.

Money is marked so that it never breaks over two lines and keeps its direction in any text. Nor
does a page part a day's number from its month; in letters and e-mails a line may end there. Pure.
"""

from collections.abc import Callable
from datetime import date, datetime
from functools import lru_cache, partial
from zoneinfo import ZoneInfo

from babel.dates import format_time, get_timezone_name
from babel.numbers import format_decimal
from markupsafe import Markup

from dunwell.contact.messages.formatting import (
    find_day_locale,
    find_locale,
    render_day,
    render_money,
)
from dunwell.interfaces.landing.render.amounts import render_plain

_MEGABYTE = 1_000_000
_GIGABYTE = 1000 * _MEGABYTE
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


def build_page_filters(language: str) -> dict[str, Callable[..., str]]:
    """As `build_filters`, for pages."""
    return build_filters(language) | {
        "day": lambda day: render_bound_day(day, language),
        "bound_moment": lambda instant, timezone: render_bound_moment(instant, timezone, language),
        "plain": lambda cents, currency: render_plain(cents, currency, language),
        "day_of": lambda instant, timezone: render_bound_day(
            _localize(instant, timezone).date(), language
        ),
    }


def build_filters(language: str) -> dict[str, Callable[..., str]]:
    """Of letters and e-mails, by the names the templates call them: `cents | money(currency)`,
    `day | day`, `instant | day_of(timezone)`, `instant | moment(timezone)`, `bytes | size`."""
    return {
        "money": lambda cents, currency: render_amount(cents, currency, language),
        "day": lambda day: render_day(day, language),
        "day_of": partial(_render_day_of, language),
        "moment": partial(_render_moment, language),
        "size": partial(_render_size, language),
    }


@lru_cache(maxsize=8192)
def render_bound_day(day: date | None, language: str) -> str:
    """A day as pages show it: a line may end before the year, so that a day fits beside millions on
    the smallest screen."""
    return render_day(day, language).replace(" ", _NO_BREAK_SPACE, 1)


@lru_cache(maxsize=8192)
def render_amount(cents: int, currency: str, language: str) -> Markup:
    """Minor units, as every page shows them."""
    return Markup('<bdi class="money">{}</bdi>').format(render_money(cents, currency, language))


def _render_day_of(language: str, instant: datetime, timezone: str) -> str:
    """The day an instant is on, where the merchant is."""
    return render_day(_localize(instant, timezone).date(), language)


def _render_moment(language: str, instant: datetime, timezone: str) -> str:
    """Day and time where the merchant is, with the zone's name."""
    return ", ".join(_render_day_and_time(language, instant, timezone))


def render_bound_moment(instant: datetime, timezone: str, language: str) -> str:
    """As `render_bound_day`, with the time where the merchant is and the zone's name."""
    day = render_bound_day(_localize(instant, timezone).date(), language)
    _, time = _render_day_and_time(language, instant, timezone)
    return f"{day}, {time.replace(' ', _NO_BREAK_SPACE)}"


def _render_day_and_time(language: str, instant: datetime, timezone: str) -> tuple[str, str]:
    local = _localize(instant, timezone)
    locale = find_day_locale(language)
    clock = format_time(local, "short", locale=locale)
    zone = get_timezone_name(local, "short", locale=locale)
    if not zone.isalpha():  # the language has no short name of its own for it
        zone = local.tzname() or zone
    return render_day(local.date(), language), f"{clock} {zone}"


@lru_cache(maxsize=4096)
def _render_size(language: str, size_bytes: int) -> str:
    """In kilobytes, or in megabytes or gigabytes with one decimal."""
    locale = find_locale(language)
    if size_bytes < _MEGABYTE:
        return (
            f"{format_decimal(max(1, round(size_bytes / 1000)), locale=locale)}\N{NO-BREAK SPACE}KB"
        )
    scale, unit = (_MEGABYTE, "MB") if size_bytes < _GIGABYTE else (_GIGABYTE, "GB")
    scaled = format_decimal(size_bytes / scale, format="#,##0.0", locale=locale)
    return f"{scaled}\N{NO-BREAK SPACE}{unit}"


def _localize(instant: datetime, timezone: str) -> datetime:
    return instant.astimezone(ZoneInfo(timezone))
