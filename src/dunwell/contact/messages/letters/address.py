"""A debtor's postal address as lines for the window of the envelope (at most six, DIN 5008), and
names without emoji, as letters print them. Pure."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from dunwell.contact.messages.templates.facts import CreditorFacts
from dunwell.contact.messages.templates.formatting import get_locale, render_line
from dunwell.core.claims.fields import DebtorName

# Emoji outside Unicode's Basic Multilingual Plane, with flags and skin tones; those inside it that
# are shown as pictures by default; and every other sign that a variation selector turns into a
# picture. Plain signs such as arrows, stars and the trademark sign are printed.
_PICTURE = (
    "(?:[\U0001f000-\U0001fbff]"
    "|[\u231a\u231b\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1"
    "\u26aa\u26ab\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea"
    "\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2705\u270a\u270b\u2728\u274c\u274e\u2753-\u2755\u2757"
    "\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55]"
    "|[\u2190-\u2bff\u3030\u303d\u3297\u3299](?=\ufe0f))"
)
# Characters that combine emoji: variation selectors, joiners, flag tags. Keycap digits remain
# digits.
_EMOJI = re.compile(f"{_PICTURE}[\u200d\ufe0e\ufe0f\U000e0020-\U000e007f]*|\ufe0f?\u20e3")


def remove_emoji(text: str) -> str:
    """Return the text without emoji and the spaces around them."""
    kept, count = _EMOJI.subn("", text)
    return " ".join(kept.split()) if count else text


def remove_debtor_emoji(debtor: DebtorName) -> DebtorName:
    """Return the debtor's names without emoji. A name that consists of emoji only is omitted."""
    return msgspec.structs.replace(
        debtor,
        first_name=_clean_name(debtor.first_name),
        last_name=_clean_name(debtor.last_name),
        company_name=_clean_name(debtor.company_name),
    )


def remove_creditor_emoji(creditor: CreditorFacts) -> CreditorFacts:
    """Return the sender's names without emoji."""
    name, legal_name = remove_emoji(creditor.name), remove_emoji(creditor.legal_name)
    return replace(creditor, name=name, legal_name=legal_name)


def _clean_name(name: str | None) -> str | None:
    return (remove_emoji(name) or None) if name else name


MAX_LINES = 6
# Longer lines cannot be part of an address. The layout shrinks lines that are merely long.
_MAX_LENGTH = 80
# Countries that write the postal code after the city.
_POSTAL_CODE_LAST = frozenset({"AU", "CA", "GB", "IE", "IN", "NZ", "US", "ZA"})


def render_address(
    debtor: DebtorName, address: Mapping[str, Any], home_country: str | None, language: str
) -> list[str]:
    """Return at most six lines.

    `home_country` is the sender's country. Any other country is named in the given language.
    """
    person = " ".join(part for part in (debtor.first_name, debtor.last_name) if part)
    lines = [
        debtor.company_name,
        person,
        address.get("address_line2"),
        address.get("street"),
        _render_city(address),
        _render_country(address.get("country"), home_country, language),
    ]
    printed = [remove_emoji(render_line(line)) for line in lines if line]
    return [_shorten(line) for line in printed if line]


def _render_city(address: Mapping[str, Any]) -> str:
    parts = [address.get("postal_code"), address.get("city")]
    if address.get("country") in _POSTAL_CODE_LAST:
        parts.reverse()
    return " ".join(part for part in parts if part)


def _render_country(country: str | None, home_country: str | None, language: str) -> str | None:
    if not country or country == home_country:
        return None
    return (get_locale(language).territories.get(country) or country).upper()


def _shorten(line: str) -> str:
    return line if len(line) <= _MAX_LENGTH else line[: _MAX_LENGTH - 1].rstrip() + "…"
