"""Which passwords are refused: short ones, those many people choose, those made of who one is.

What is common is known by zxcvbn's lists and its way to see a list's word behind changed letters,
added years and keyboard rows; it counts how many guesses a password withstands.
"""

import math
import re
from enum import StrEnum

from zxcvbn import zxcvbn
from zxcvbn.matching import L33T_TABLE

SHORTEST = 12
LONGEST = 1000
# At 10 guesses in 15 minutes and a second factor behind; and for whoever got at the hashes.
_FEWEST_GUESSES = 10**8
# What zxcvbn reads; what comes behind only adds. Its time grows with the square of it,
_READ = 32
# and with the ways to read signs as letters: with "4" and "@" for a and "$" and "5" for s, four.
_MOST_READINGS = 32
_LETTERS = str.maketrans({sign: letter for letter, all_ in L33T_TABLE.items() for sign in all_})
_SHORTEST_WORD = 4
_WORD = re.compile(r"\w+")


class PasswordFault(StrEnum):
    TOO_SHORT = "TOO_SHORT"
    TOO_LONG = "TOO_LONG"
    PERSONAL = "PERSONAL"
    COMMON = "COMMON"


def find_password_fault(password: str, *, name: str, email: str) -> PasswordFault | None:
    """None: it may be used. Takes some milliseconds of processor time."""
    if len(password) < SHORTEST:
        return PasswordFault.TOO_SHORT
    if len(password) > LONGEST:
        return PasswordFault.TOO_LONG
    words = [*_list_words(name), *_list_words(email.partition("@")[0]), "dunwell"]
    folded = password.casefold()
    if any(word in folded for word in words):
        return PasswordFault.PERSONAL
    guesses = zxcvbn(_bound(password), user_inputs=words)["guesses"]
    return PasswordFault.COMMON if guesses < _FEWEST_GUESSES else None


def _bound(password: str) -> str:
    """What can be read in some milliseconds: its beginning, and if that can be read in too many
    ways, in one of them."""
    read = password[:_READ]
    readings = math.prod(max(1, sum(sign in read for sign in all_)) for all_ in L33T_TABLE.values())
    return read.translate(_LETTERS) if readings > _MOST_READINGS else read


def _list_words(text: str) -> list[str]:
    words = _WORD.findall(text.casefold().replace("_", " "))
    return [word for word in words if len(word) >= _SHORTEST_WORD]
