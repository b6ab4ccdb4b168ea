"""Amounts in messages that are not translated. Pure."""

from dunwell.contact.messages.templates.formatting import count_minor_digits


def render_plain_amount(cents: int, currency: str | None) -> str:
    """Return an amount for a message: "-1234.50 EUR"."""
    digits = count_minor_digits(currency or "")
    numerals = str(abs(cents)).rjust(digits + 1, "0")
    whole, minor = (numerals[:-digits], "." + numerals[-digits:]) if digits else (numerals, "")
    return f"{'-' if cents < 0 else ''}{whole}{minor} {currency or ''}".rstrip()
