"""Days as forms and addresses write them. Pure."""

from datetime import date


def read_day(text: str) -> date | None:
    """None: it is no day, or one so far off that no clock of another zone may show it."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 1900 < day.year < 9000 else None
