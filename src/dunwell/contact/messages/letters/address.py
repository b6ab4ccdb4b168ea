"""A debtor's postal address as the lines of the window (DIN 5008: six of them). Pure."""

from collections.abc import Mapping
from typing import Any

from dunwell.contact.messages.formatting import find_locale, render_line
from dunwell.contact.messages.letters.printed_names import leave_out_emoji
from dunwell.core.claims.fields import DebtorName

MAX_LINES = 6
# What is longer cannot be an address; the layout shrinks what is merely long.
_MAX_LENGTH = 80
# Where the postal code stands behind the city.
_CODE_LAST = frozenset({"AU", "CA", "GB", "IE", "IN", "NZ", "US", "ZA"})


def render_address(
    debtor: DebtorName, address: Mapping[str, Any], home: str | None, language: str
) -> list[str]:
    """At most six lines. `home` is the sender's country: the country is named, in the language
    given, when it is another one."""
    person = " ".join(part for part in (debtor.first_name, debtor.last_name) if part)
    lines = [
        debtor.company_name,
        person,
        address.get("address_line2"),
        address.get("street"),
        _render_city(address),
        _render_country(address.get("country"), home, language),
    ]
    printed = [leave_out_emoji(render_line(line)) for line in lines if line]
    return [_clip(line) for line in printed if line]


def _render_city(address: Mapping[str, Any]) -> str:
    parts = [address.get("postal_code"), address.get("city")]
    if address.get("country") in _CODE_LAST:
        parts.reverse()
    return " ".join(part for part in parts if part)


def _render_country(country: str | None, home: str | None, language: str) -> str | None:
    if not country or country == home:
        return None
    return (find_locale(language).territories.get(country) or country).upper()


def _clip(line: str) -> str:
    return line if len(line) <= _MAX_LENGTH else line[: _MAX_LENGTH - 1].rstrip() + "…"
