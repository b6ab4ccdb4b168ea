"""Dates on pages do not break across lines; dates in letters and e-mails have ordinary spaces."""

from datetime import UTC, date, datetime

import pytest

from dunwell.interfaces.web.formats import (
    build_message_filters,
    build_page_filters,
    render_unbroken_moment,
)

_DAY = date(2026, 12, 10)
_INSTANT = datetime(2026, 12, 10, 13, tzinfo=UTC)
_GERMAN, _ENGLISH = "10. Dezember 2026", "10 December 2026"


@pytest.mark.parametrize(("language", "day"), [("de", _GERMAN), ("en", _ENGLISH)])
def test_pages_never_break_a_line_between_day_and_month(language: str, day: str) -> None:
    filters = build_page_filters(language)
    unbroken = day.replace(" ", "\N{NO-BREAK SPACE}", 1)

    assert filters["day"](_DAY) == unbroken
    assert filters["day_of"](_INSTANT, "Europe/Berlin") == unbroken
    # A line may break between the day and the time.
    moment = render_unbroken_moment(_INSTANT, "Europe/Berlin", language)
    shown_day, _, time = moment.rpartition(", ")
    assert (shown_day, " " in time) == (unbroken, False)


@pytest.mark.parametrize(("language", "day"), [("de", _GERMAN), ("en", _ENGLISH)])
def test_dates_in_letters_and_e_mails_have_ordinary_spaces(language: str, day: str) -> None:
    filters = build_message_filters(language)

    assert filters["day"](_DAY) == day
    assert filters["day_of"](_INSTANT, "Europe/Berlin") == day
    assert filters["moment"](_INSTANT, "Europe/Berlin").startswith(f"{day}, ")
