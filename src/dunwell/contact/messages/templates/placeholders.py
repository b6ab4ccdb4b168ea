"""The closed list of placeholders for templates, their syntax, and the size limits of messages."""

import itertools
import re
from collections.abc import Collection, Iterable, Mapping

from dunwell.accounts.merchants.configuration import Channel

# The limits of a text with its snippets expanded. The longest single text has 20,000 characters;
# twice as many print a letter of about twenty pages, more than anyone reads.
MAX_TEXT_CHARACTERS: Mapping[Channel, int] = {"EMAIL": 40_000, "SMS": 20_000, "LETTER": 40_000}
# The limits of a message with all values: the HTML of an e-mail, the text of an SMS or a letter.
# Markup and values make an ordinary text at most five times as long.
MAX_MESSAGE_CHARACTERS: Mapping[Channel, int] = {
    "EMAIL": 400_000, "SMS": 40_000, "LETTER": 200_000,
}  # fmt: skip
# The limit of all texts of a definition together, with snippets expanded: about 300 ordinary texts.
# Checking that much text takes about a second, and the cache holds the compiled texts of two such
# definitions.
MAX_DEFINITION_CHARACTERS = 500_000
# The assumed size of a table of items while its items are unknown. With 100 items, the most that a
# claim can have, the HTML of an e-mail has ten times as many characters.
ITEMS_CHARACTERS = 4_000


class MessageTooLarge(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The message would exceed the limit of its channel. It was not assembled."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The message is longer than {limit:,} characters, the limit of its channel. "
            "Shorten the template or the snippets it uses, and publish it again."
        )
        self.limit = limit


def join_within(pieces: Iterable[str], limit: int) -> str:
    """Join the pieces. Raises MessageTooLarge before more than the limit is held in memory."""
    joined, length = list[str](), 0
    for piece in pieces:
        length += len(piece)
        if length > limit:
            raise MessageTooLarge(limit)
        joined.append(piece)
    return "".join(joined)


SNIPPET_PREFIX = "snippet."
# A built-in snippet: the greeting of the debtor. A definition can replace it with its own.
GREETING = "greeting"
GREETING_PLACEHOLDER = SNIPPET_PREFIX + GREETING
# The only value that is a block: a table, which is alone in its paragraph.
ITEMS = "items"
LANDING_URL = "landing.url"
LANDING_CODE = "landing.code"
PAY_BY = "payBy"
PLACEHOLDER_NAMES = (
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
# Possessive quantifiers prevent backtracking over spaces that no brace follows.
PLACEHOLDER = re.compile(r"\{\{[ \t]*+([^{}\s]*+)[ \t]*+\}\}")
_STRAY_BRACES = re.compile(r"\{\{|\}\}")
# The end of a sentence, with closing marks after it.
_STOP = re.compile(r"[.!?][*_)\"'\u201c\u201d]*[ \t]+")
_LAST_WORD = re.compile(r"\w*\Z")
# Words after which a full stop does not end a sentence, such as "ca. 10". A single letter ("z. B.")
# and a short number ("3. Oktober") do not end one either.
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
_MAX_ORDINAL_DIGITS = 2
# One character more than the longest word that matters. Looking back further for every full stop
# would take quadratic time.
_LAST_WORD_CHARACTERS = max(map(len, _SHORT_WORDS)) + 1
# A list or heading mark at the start of a line is not part of a sentence.
LINE_MARK = re.compile(r"[ \t]*(?:(?:[-*+]|#{1,6}|\d{1,9}[.)])[ \t]+)?")
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


def list_placeholder_uses(text: str) -> list[str]:
    """Return the names in the text in order, with repetitions; snippets have their prefix."""
    return PLACEHOLDER.findall(text)


def list_used_placeholders(text: str) -> list[str]:
    """Return the names in the text in order, each once; snippets have their prefix."""
    return list(dict.fromkeys(list_placeholder_uses(text)))


def list_unknown_placeholders(text: str) -> list[str]:
    """Return the names that are no placeholders. Snippets are not checked, because they depend on
    the definition."""
    return [
        name
        for name in list_used_placeholders(text)
        if name not in PLACEHOLDER_NAMES and not name.startswith(SNIPPET_PREFIX)
    ]


def list_snippets(text: str) -> list[str]:
    """Return the names of the snippets in the text, without the prefix."""
    used = list_used_placeholders(text)
    return [n.removeprefix(SNIPPET_PREFIX) for n in used if n.startswith(SNIPPET_PREFIX)]


def has_stray_braces(text: str) -> bool:
    """Return whether double braces are left that form no placeholder: `{{ debtor.name }`."""
    return _STRAY_BRACES.search(PLACEHOLDER.sub("", text)) is not None


def expand_snippets(text: str, snippets: Mapping[str, str], limit: int) -> str:
    """Replace snippets by their texts, one level deep. A missing snippet becomes empty, except the
    greeting, which remains a placeholder.

    Raises MessageTooLarge before expanding if the result would exceed the limit.
    """
    if measure_expanded(text, snippets) > limit:
        raise MessageTooLarge(limit)
    return PLACEHOLDER.sub(lambda match: _expand(match, snippets), text)


def measure_expanded(text: str, snippets: Mapping[str, str], items_characters: int = 0) -> int:
    """Return the length of the text with its snippets expanded, without expanding it. Each table of
    items adds `items_characters`."""
    length, sizes = len(text), dict[str, int]()
    for match in PLACEHOLDER.finditer(text):
        name = match[1]
        if name.startswith(SNIPPET_PREFIX):
            if name not in sizes:
                snippet_text = _expand(match, snippets)
                tables = list_placeholder_uses(snippet_text).count(ITEMS) if items_characters else 0
                sizes[name] = len(snippet_text) + items_characters * tables
            length += sizes[name] - len(match[0])
        elif name == ITEMS:
            length += items_characters
    return length


def _expand(match: re.Match[str], snippets: Mapping[str, str]) -> str:
    name = match[1]
    if not name.startswith(SNIPPET_PREFIX):
        return match[0]
    default = match[0] if name == GREETING_PLACEHOLDER else ""
    return snippets.get(name.removeprefix(SNIPPET_PREFIX), default)


def remove_sentences(text: str, names: Collection[str]) -> str:
    """Remove the sentences that use one of these placeholders. A sentence ends at the end of its
    line at the latest; a line without remaining text is removed as well."""
    if not any(name in names for name in list_used_placeholders(text)):
        return text
    kept = [
        line for each in text.split("\n") if (line := _remove_from_line(each, names)) is not None
    ]
    return _EMPTY_LINES.sub("\n\n", "\n".join(kept)).strip("\n")


def _remove_from_line(line: str, names: Collection[str]) -> str | None:
    """Return the line without the sentences that use one of these placeholders, or None if nothing
    is left."""
    if not any(name in names for name in list_used_placeholders(line)):
        return line
    mark = LINE_MARK.match(line)
    start = mark.end() if mark else 0
    sentences = split_sentences(line[start:])
    kept = [
        each
        for each in sentences
        if not any(name in names for name in list_used_placeholders(each))
    ]
    return line[:start] + "".join(kept).rstrip() if any(map(str.strip, kept)) else None


def split_sentences(text: str) -> list[str]:
    """Return the sentences, each with the spaces after it."""
    ends = [stop.end() for stop in _STOP.finditer(text) if _ends_sentence(text, stop.start())]
    boundaries = [0, *ends, len(text)]
    return [text[since:until] for since, until in itertools.pairwise(boundaries)]


def _ends_sentence(text: str, position: int) -> bool:
    if text[position] != ".":
        return True
    match = _LAST_WORD.search(text[max(0, position - _LAST_WORD_CHARACTERS) : position])
    word = match[0].lower() if match else ""
    if word.isdigit():
        return len(word) > _MAX_ORDINAL_DIGITS
    return word not in _SHORT_WORDS and len(word) != 1
