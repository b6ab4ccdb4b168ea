"""Tells clients of legacy endpoints when these will be retired (spec, Versioning 5).

`Deprecation` by RFC 9745, `Sunset` by RFC 8594, each once a setting names its day; both begin with
that day in UTC.
"""

from datetime import UTC, date, datetime, time
from email.utils import format_datetime

from dunwell.api.answer import Headers
from dunwell.config import Settings


def list_retirement_headers(settings: Settings) -> Headers:
    """What goes with every answer of a legacy endpoint; none: no date is announced."""
    headers: list[tuple[bytes, bytes]] = []
    if settings.scenarios_deprecated_on is not None:
        at = _begin(settings.scenarios_deprecated_on)
        headers.append((b"deprecation", b"@%d" % int(at.timestamp())))
    if settings.scenarios_retired_on is not None:
        at = _begin(settings.scenarios_retired_on)
        headers.append((b"sunset", format_datetime(at, usegmt=True).encode()))
    return tuple(headers)


def _begin(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
