"""Escaping for HTML, as plain strings. Pure."""

from markupsafe import escape as _escape


def escape(text: str) -> str:
    """Text as it stands between tags or in a quoted attribute."""
    return str(_escape(text))
