"""Tells clients of legacy endpoints when these will be retired (spec, Versioning 5).

`Deprecation` by RFC 9745, `Sunset` by RFC 8594, each once a setting names its day; both begin with
that day in UTC.
"""

from datetime import UTC, date, datetime, time
from email.utils import format_datetime

from dunwell.config import Settings


def list_retirement_headers(settings: Settings) -> dict[str, str]:
    """What goes with every answer of a legacy endpoint; none: no date is announced."""
    headers: dict[str, str] = {}
    if settings.scenarios_deprecated_on is not None:
        at = _begin(settings.scenarios_deprecated_on)
        headers["Deprecation"] = f"@{int(at.timestamp())}"
    if settings.scenarios_retired_on is not None:
        headers["Sunset"] = format_datetime(_begin(settings.scenarios_retired_on), usegmt=True)
    return headers


def _begin(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
