"""The closed list of placeholders a text may use (CONTRACT 6), and how they stand in it.

`{{ debtor.name }}` names a value, `{{ snippet.signature }}` another text of the same definition.
Pure.
"""

import re
from collections.abc import Mapping

SNIPPET_PREFIX = "snippet."
# The snippet that is there without being written: how the debtor is greeted. A definition's own
# snippet of this name stands in its place.
GREETING = "greeting"
GREETING_USED = SNIPPET_PREFIX + GREETING
# The only value that is a block: a table. It stands alone in its paragraph.
ITEMS = "items"
LANDING_URL = "landing.url"
LANDING_CODE = "landing.code"
NAMES = (
    "claim.referenceNumber",
    "claim.id",
    "customerNumber",
    "contractNumber",
    "debtor.name",
    "debtor.firstName",
    "debtor.lastName",
    "companyName",
    "outstanding",
    "total",
    "fees",
    ITEMS,
    "dueDate",
    "merchant.name",
    "merchant.legalName",
    "merchant.email",
    "merchant.phone",
    LANDING_URL,
    LANDING_CODE,
    "landing.domain",
    "bank.iban",
    "bank.holder",
    "today",
)
PLACEHOLDER = re.compile(r"\{\{[ \t]*([^{}\s]*)[ \t]*\}\}")
_STRAY_BRACES = re.compile(r"\{\{|\}\}")


def find_used(text: str) -> list[str]:
    """The names used, in order, each once; snippets with their prefix."""
    return list(dict.fromkeys(PLACEHOLDER.findall(text)))


def find_unknown(text: str) -> list[str]:
    """The names used that stand for nothing. Snippets are left to who knows the definition."""
    return [
        name
        for name in find_used(text)
        if name not in NAMES and not name.startswith(SNIPPET_PREFIX)
    ]


def find_snippets(text: str) -> list[str]:
    """The snippets used, without the prefix."""
    used = find_used(text)
    return [n.removeprefix(SNIPPET_PREFIX) for n in used if n.startswith(SNIPPET_PREFIX)]


def has_stray_braces(text: str) -> bool:
    """Whether double braces are left that form no placeholder: `{{ debtor.name }`."""
    return _STRAY_BRACES.search(PLACEHOLDER.sub("", text)) is not None


def expand_snippets(text: str, snippets: Mapping[str, str]) -> str:
    """Put the snippets' texts in, one level deep; one that is absent becomes nothing, but for the
    greeting, which stays as a placeholder."""

    def expand(match: re.Match[str]) -> str:
        name = match.group(1)
        if not name.startswith(SNIPPET_PREFIX):
            return match.group(0)
        default = match.group(0) if name == GREETING_USED else ""
        return snippets.get(name.removeprefix(SNIPPET_PREFIX), default)

    return PLACEHOLDER.sub(expand, text)
