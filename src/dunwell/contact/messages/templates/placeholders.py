"""The closed list of placeholders that a text may use (CONTRACT 6), how they stand in it, and how
large a message may become.
"""

import itertools
import re
from collections.abc import Collection, Iterable, Mapping

from dunwell.accounts.merchants.configuration import Channel

# A text with its snippets put in. The longest single text has 20,000 characters; twice as many
# print a letter of some twenty pages, which already exceeds what people read.
MAX_TEXT_CHARACTERS: Mapping[Channel, int] = {"EMAIL": 40_000, "SMS": 20_000, "LETTER": 40_000}
# A message with all values in it: an e-mail's HTML, an SMS's or a letter's words. Markup and values
# make an ordinary text at most five times as long.
MAX_MESSAGE_CHARACTERS: Mapping[Channel, int] = {
    "EMAIL": 400_000, "SMS": 40_000, "LETTER": 200_000,
}  # fmt: skip
# All texts of a definition together, their snippets put in: some 300 usual texts. Checking this
# much prose takes about a second, and the compiled texts of two such definitions are kept.
MAX_DEFINITION_CHARACTERS = 500_000
# What a table of items counts as before its items are known. With 100 items, the most that a claim
# has, it has ten times as many characters in an e-mail's HTML.
ITEMS_CHARACTERS = 4_000


class MessageTooLarge(Exception):  # noqa: N818 - reads as what is wrong
    """The message would pass the limit of its channel. Nothing of it was put together."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The message is longer than {limit:,} characters, the most that its channel carries. "
            "Shorten the template or the snippets it uses, and publish it again."
        )
        self.limit = limit


def join_within(pieces: Iterable[str], limit: int) -> str:
    """Join the pieces. Raises MessageTooLarge before more than the limit is held."""
    joined, length = list[str](), 0
    for piece in pieces:
        length += len(piece)
        if length > limit:
            raise MessageTooLarge(limit)
        joined.append(piece)
    return "".join(joined)


SNIPPET_PREFIX = "snippet."
# The snippet that is there without being written: how the debtor is greeted. A definition's own
# snippet of this name stands in its place.
GREETING = "greeting"
GREETING_USED = SNIPPET_PREFIX + GREETING
# The only value that is a block: a table. It stands alone in its paragraph.
ITEMS = "items"
LANDING_URL = "landing.url"
LANDING_CODE = "landing.code"
PAY_BY = "payBy"
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
    PAY_BY,
)
# Possessive: blanks that no brace follows are read once, not once for each way to divide them.
PLACEHOLDER = re.compile(r"\{\{[ \t]*+([^{}\s]*+)[ \t]*+\}\}")
_STRAY_BRACES = re.compile(r"\{\{|\}\}")
# What ends a sentence, with closing marks behind it.
_STOP = re.compile(r"[.!?][*_)\"'\u201c\u201d]*[ \t]+")
# A full stop behind these ends none: "z. B.", "3. Oktober", "ca. 10".
_LAST_WORD = re.compile(r"\w*\Z")
_SHORT_WORDS = frozenset(
    [
        "bzw",
        "ca",
        "dr",
        "etc",
        "evtl",
        "ggf",
        "inkl",
        "mr",
        "mrs",
        "ms",
        "no",
        "nr",
        "st",
        "str",
        "tel",
        "usw",
        "zzgl",
    ]
)
_MOST_ORDINAL_DIGITS = 2
# The longest word that can matter, and one character more: looking further back for each full stop
# would take time with the square of the text's length.
_LAST_WORD_CHARACTERS = max(map(len, _SHORT_WORDS)) + 1
# What begins a line and is no sentence: a list's or a heading's mark.
LINE_MARK = re.compile(r"[ \t]*(?:(?:[-*+]|#{1,6}|\d{1,9}[.)])[ \t]+)?")
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


def find_all_used(text: str) -> list[str]:
    """The names used, in order and as often as they are; snippets with their prefix."""
    return PLACEHOLDER.findall(text)


def find_used(text: str) -> list[str]:
    """The names used, in order, each once; snippets with their prefix."""
    return list(dict.fromkeys(find_all_used(text)))


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


def expand_snippets(text: str, snippets: Mapping[str, str], limit: int) -> str:
    """Put the snippets' texts in, one level deep; one that is absent becomes nothing, but for the
    greeting, which stays as a placeholder.

    Raises MessageTooLarge where it would have more characters than the limit, before any snippet is
    put in."""
    if measure_expanded(text, snippets) > limit:
        raise MessageTooLarge(limit)
    return PLACEHOLDER.sub(lambda found: _expand(found, snippets), text)


def measure_expanded(text: str, snippets: Mapping[str, str], items_characters: int = 0) -> int:
    """How many characters the text has with its snippets put in, which is not done for it; each
    table of items in it counts as so many more."""
    length, sizes = len(text), dict[str, int]()
    for found in PLACEHOLDER.finditer(text):
        name = found[1]
        if name.startswith(SNIPPET_PREFIX):
            if name not in sizes:
                put_in = _expand(found, snippets)
                tables = find_all_used(put_in).count(ITEMS) if items_characters else 0
                sizes[name] = len(put_in) + items_characters * tables
            length += sizes[name] - len(found[0])
        elif name == ITEMS:
            length += items_characters
    return length


def _expand(found: re.Match[str], snippets: Mapping[str, str]) -> str:
    name = found[1]
    if not name.startswith(SNIPPET_PREFIX):
        return found[0]
    default = found[0] if name == GREETING_USED else ""
    return snippets.get(name.removeprefix(SNIPPET_PREFIX), default)


def remove_sentences(text: str, names: Collection[str]) -> str:
    """The text without the sentences that use one of these placeholders. A sentence ends with its
    line at the latest; a line of which nothing is left goes too."""
    if not any(name in names for name in find_used(text)):
        return text
    kept = [line for each in text.split("\n") if (line := _shorten(each, names)) is not None]
    return _EMPTY_LINES.sub("\n\n", "\n".join(kept)).strip("\n")


def _shorten(line: str, names: Collection[str]) -> str | None:
    """None: nothing of it is left."""
    if not any(name in names for name in find_used(line)):
        return line
    mark = LINE_MARK.match(line)
    start = mark.end() if mark else 0
    sentences = split_sentences(line[start:])
    kept = [each for each in sentences if not any(name in names for name in find_used(each))]
    return line[:start] + "".join(kept).rstrip() if any(map(str.strip, kept)) else None


def split_sentences(text: str) -> list[str]:
    """Each with the blanks behind it."""
    ends = [stop.end() for stop in _STOP.finditer(text) if _ends_sentence(text, stop.start())]
    places = [0, *ends, len(text)]
    return [text[since:until] for since, until in itertools.pairwise(places)]


def _ends_sentence(text: str, place: int) -> bool:
    if text[place] != ".":
        return True
    found = _LAST_WORD.search(text[max(0, place - _LAST_WORD_CHARACTERS) : place])
    word = found[0].lower() if found else ""
    if word.isdigit():
        return len(word) > _MOST_ORDINAL_DIGITS
    return word not in _SHORT_WORDS and len(word) != 1
