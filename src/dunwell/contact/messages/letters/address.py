"""A debtor's postal address as the lines of the window (DIN 5008: six of them), and names as
letters print them, without emoji. Pure.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from dunwell.contact.messages.templates.facts import CreditorFacts
from dunwell.contact.messages.templates.formatting import find_locale, render_line
from dunwell.core.claims.fields import DebtorName

# Pictures outside of the basic plane, with flags and skin tones; those of the basic plane that look
# like pictures by themselves; and every other sign that a variation selector turns into a picture.
# The signs in between, such as arrows, stars and the mark of a trade name, are printed as they are.
_PICTURE = (
    "(?:[\U0001f000-\U0001fbff]"
    "|[\u231a\u231b\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1"
    "\u26aa\u26ab\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea"
    "\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2705\u270a\u270b\u2728\u274c\u274e\u2753-\u2755\u2757"
    "\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55]"
    "|[\u2190-\u2bff\u3030\u303d\u3297\u3299](?=\ufe0f))"
)
# What ties pictures to one: selectors, joiners, tags of flags. Digits in a keycap stay digits.
_EMOJI = re.compile(f"{_PICTURE}[\u200d\ufe0e\ufe0f\U000e0020-\U000e007f]*|\ufe0f?\u20e3")


def remove_emoji(text: str) -> str:
    """Return the text as it is, or without its emoji and the blanks around them."""
    kept, count = _EMOJI.subn("", text)
    return " ".join(kept.split()) if count else text


def print_debtor(debtor: DebtorName) -> DebtorName:
    """The names that a letter greets and addresses; a part that was an emoji alone is left out."""
    return msgspec.structs.replace(
        debtor,
        first_name=_print_part(debtor.first_name),
        last_name=_print_part(debtor.last_name),
        company_name=_print_part(debtor.company_name),
    )


def print_creditor(creditor: CreditorFacts) -> CreditorFacts:
    """The names of the sender."""
    name, legal_name = remove_emoji(creditor.name), remove_emoji(creditor.legal_name)
    return replace(creditor, name=name, legal_name=legal_name)


def _print_part(name: str | None) -> str | None:
    return (remove_emoji(name) or None) if name else name


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
    printed = [remove_emoji(render_line(line)) for line in lines if line]
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
