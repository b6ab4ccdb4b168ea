"""The settings of a process as a form, and the settings that a form says. Pure."""

from collections.abc import Mapping
from typing import Any

from dunwell.interfaces.portal.processes.fields import Given, Manner, Reader, Shown, write_several

WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_LATE = "latePolicy.skipIfOlderThanDays"
# Place in the settings -> field, for faults.
FIELDS: Mapping[str, str] = {
    "languages": "languages", "currency": "currency", "timezone": "timezone",
    "processingStart": "processingStart", "contactHours": "contactHours.weekdays",
    "contactHours.weekdays": "contactHours.weekdays", "contactHours.from": "contactHours.from",
    "contactHours.to": "contactHours.to", "holidays": "holidays.country",
    "holidays.country": "holidays.country", "holidays.subdivision": "holidays.subdivision",
    "feesNeedContact": "feesNeedContact", "latePolicy": _LATE, _LATE: _LATE,
}  # fmt: skip


def show_settings(settings: Mapping[str, Any]) -> Shown:
    hours = settings.get("contactHours") or {}
    holidays = settings.get("holidays") or {}
    late = (settings.get("latePolicy") or {}).get("skipIfOlderThanDays")
    return {
        "languages": write_several(settings.get("languages")),
        "currency": settings.get("currency") or "",
        "timezone": settings.get("timezone") or "",
        "processingStart": settings.get("processingStart") or "CREATION",
        "contactHours.weekdays": [*hours.get("weekdays", [])],
        "contactHours.from": hours.get("from", ""),
        "contactHours.to": hours.get("to", ""),
        "holidays.country": holidays.get("country", ""),
        "holidays.subdivision": holidays.get("subdivision") or "",
        "feesNeedContact": ["yes"] if settings.get("feesNeedContact", True) else [],
        _LATE: "" if late is None else str(late),
    }


def read_settings(given: Given, manner: Manner, standing: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON; what cannot be read stands as it was typed. Nothing of the contact hours: none.
    standing: as the draft has them."""
    reader = Reader(given, manner)
    days = (standing.get("contactHours") or {}).get("weekdays")
    hours = {
        "weekdays": reader.ticked("contactHours.weekdays", days),
        "from": given.text("contactHours.from"),
        "to": given.text("contactHours.to"),
    }
    country, late = reader.text("holidays.country"), reader.number(_LATE)
    subdivision = reader.text("holidays.subdivision")
    return {
        "languages": reader.codes("languages"),
        "currency": reader.text("currency"),
        "timezone": reader.text("timezone"),
        "processingStart": reader.text("processingStart") or "CREATION",
        "contactHours": hours if any(hours.values()) else None,
        "holidays": {"country": country or "", "subdivision": subdivision}
        if country or subdivision
        else None,
        "feesNeedContact": bool(reader.ticked("feesNeedContact")),
        "latePolicy": None if late is None else {"skipIfOlderThanDays": late},
    }
