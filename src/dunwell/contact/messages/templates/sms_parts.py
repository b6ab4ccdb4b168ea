"""How an SMS is transmitted (3GPP TS 23.038, 23.040): its alphabet and its parts.

A single character outside the seven-bit alphabet switches the whole text to sixteen-bit characters,
of which less than half as many fit into a part. Typographic characters and no-break spaces are
therefore replaced by plain ones. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Alphabet = Literal["GSM-7", "UCS-2"]

_BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    "ÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
# Characters that need an escape character before them.
_EXTENDED = frozenset("\f^{}\\[~]|€")
# Languages that need no letters outside the alphabet.
_GSM_LANGUAGES = frozenset({"da", "de", "en", "fi", "it", "nb", "nl", "nn", "no", "sv"})
_PLAIN = str.maketrans(
    {
        "\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2007": " ", "\t": " ",
        "\u00ad": None, "\u200b": None, "\u2060": None, "\ufeff": None,
        "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-",
        "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u2032": "'",
        "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"',
        "\u2026": "...", "\u2022": "-", "\u00b7": "-",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SmsParts:
    alphabet: Alphabet
    # Counted in units of the alphabet: septets or sixteen-bit characters.
    length: int
    count: int


def replace_typography(text: str) -> str:
    return text.translate(_PLAIN)


def fits_gsm_alphabet(language: str) -> bool:
    """Return whether texts of this language need only letters of the seven-bit alphabet."""
    return language.partition("-")[0] in _GSM_LANGUAGES


def list_outside_gsm(text: str) -> tuple[str, ...]:
    """Return the characters outside the seven-bit alphabet, each once, in order."""
    outside = (letter for letter in text if letter not in _BASIC and letter not in _EXTENDED)
    return tuple(dict.fromkeys(outside))


def count_parts(text: str) -> SmsParts:
    """Count the parts of a text. The parts of a longer text are shorter, because each has a header
    with its number."""
    if all(letter in _BASIC or letter in _EXTENDED for letter in text):
        sizes = [2 if letter in _EXTENDED else 1 for letter in text]
        return _count("GSM-7", sizes, single_part=160, each_part=153)
    sizes = [2 if ord(letter) > 0xFFFF else 1 for letter in text]
    return _count("UCS-2", sizes, single_part=70, each_part=67)


def _count(
    alphabet: Alphabet, sizes: Iterable[int], *, single_part: int, each_part: int
) -> SmsParts:
    """Count the parts without splitting a character: one that does not fit starts the next part.

    `single_part` is the size of an only part, `each_part` that of each of several parts.
    """
    length, count, filled = 0, 1, 0
    for size in sizes:
        length += size
        if filled + size > each_part:
            count, filled = count + 1, 0
        filled += size
    return SmsParts(alphabet, length, 1 if length <= single_part else count)
