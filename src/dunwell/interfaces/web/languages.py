"""Chooses the language of a page."""

from functools import lru_cache

from dunwell.platform.text.translation import SOURCE_LANGUAGE

# The name in an address's query that chooses a language.
LANGUAGE_PARAMETER = "lang"


@lru_cache(maxsize=4096)
def choose_language(
    offered: tuple[str, ...], chosen: str | None, claims: str | None, accepted: str, merchants: str
) -> str:
    """Return the first offered language of: the reader's choice, the claim's language, the
    browser's languages, the merchant's language, English. If none of them is offered, return the
    first language that is.

    accepted: the browser's Accept-Language header.
    """
    for wanted in (chosen, claims, *_read_accepted(accepted), merchants, SOURCE_LANGUAGE):
        code = (wanted or "").partition("-")[0].lower()
        if code in offered:
            return code
    return offered[0]


def _read_accepted(header: str) -> list[str]:
    """Return the language tags by descending weight. Entries that cannot be parsed are ignored."""
    wanted: list[tuple[float, int, str]] = []
    for entry in header.split(","):
        tag, _, rest = entry.partition(";")
        quality = rest.strip().removeprefix("q=") or "1"
        weight = float(quality) if quality.replace(".", "", 1).isdecimal() else 0.0
        if tag.strip() and weight > 0:
            wanted.append((-weight, len(wanted), tag.strip()))
    return [tag for _, _, tag in sorted(wanted)]
