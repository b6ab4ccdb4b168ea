"""Recognise a claim's reference number in the text of a bank transfer: as it is written, with check
digits (ISO 11649), and in a normal form that ignores case, punctuation and confusable characters.
Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

# Letters that are easily confused with digits.
_CONFUSED = str.maketrans("oil", "011")
_NON_ALPHANUMERIC = re.compile(r"[\W_]+")
_WORD = re.compile(r"\S+")
_DIGIT = re.compile(r"\d")
_PUNCTUATION = ".,;:!?()[]{}\"'*#"
# A reference that was broken into words is recognised if it has at most this many words.
_MAX_WORDS = 5
_MAX_LENGTH_WITHOUT_DIGIT = 7
_MAX_LENGTH = 40
_MAX_CANDIDATES = 80
# A reference with fewer digits (if it has only digits) or fewer characters could as well be a
# customer number, a date or an amount.
_MIN_DIGITS, _MIN_CHARACTERS = 8, 5
_CREDITOR_REFERENCE = re.compile(r"RF\d{2}[A-Z0-9]{1,21}")
_GROUP_LENGTH = 4
_MAX_GROUPS = 7


@dataclass(frozen=True, slots=True)
class WrittenReferences:
    """The parts of a text that may be the reference number of a claim."""

    # The candidates as they are written.
    as_written: frozenset[str]
    # The normal form of each candidate -> the candidate as it is written.
    normal: dict[str, str]
    # Creditor references with valid check digits: the normal form of the part after the check
    # digits -> the reference as it is written.
    checked: dict[str, str]


def normalize_reference(text: str) -> str:
    """Return the letters and digits in lower case, with letters that look like digits replaced."""
    return _NON_ALPHANUMERIC.sub("", text).lower().translate(_CONFUSED)


def is_short(normal_form: str) -> bool:
    """Return whether a reference with this normal form is too short to identify a claim."""
    min_length = _MIN_DIGITS if normal_form.isdecimal() else _MIN_CHARACTERS
    return len(normal_form) < min_length


def has_valid_check_digits(reference: str) -> bool:
    """Return whether this is a creditor reference (ISO 11649), in upper case without spaces."""
    if _CREDITOR_REFERENCE.fullmatch(reference) is None:
        return False
    digits = "".join(str(int(each, 36)) for each in reference[4:] + reference[:4])
    return int(digits) % 97 == 1


def list_written_references(structured: Sequence[str], lines: Sequence[str]) -> WrittenReferences:
    """Return everything in the structured references and in the free lines of a transfer that may
    be a reference number. A reference may be broken over several words and lines."""
    checked: dict[str, str] = {}
    as_written: set[str] = set()
    normal: dict[str, str] = {}
    for reference in [*structured, *_list_grouped(lines)]:
        compact = reference.replace(" ", "").upper()
        if has_valid_check_digits(compact):
            checked[normalize_reference(compact[4:])] = reference
    words = [
        word.strip(_PUNCTUATION) for line in [*structured, *lines] for word in _WORD.findall(line)
    ]
    forms = [(word, normalize_reference(word)) for word in words if word]
    for run, form in _list_runs(forms):
        if len(normal) >= _MAX_CANDIDATES:
            break
        if len(form) <= _MAX_LENGTH and _DIGIT.search(run) is not None:
            as_written.add(run)
            normal.setdefault(form, run)
    normal.pop("", None)
    return WrittenReferences(frozenset(as_written), normal, checked)


def _list_runs(words: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield single words first, then runs of adjacent words, joined; each with its normal form. If
    a word contains a colon, an equals sign or a slash, the parts before and after it are yielded as
    well."""
    for word, form in words:
        yield word, form
        for mark in (":", "=", "/"):
            before, separator, after = word.partition(mark)
            if separator and after:
                parts = (each.strip(_PUNCTUATION) for each in (before, after))
                yield from ((each, normalize_reference(each)) for each in parts)
    # A long word without a digit is never part of a broken reference.
    breaks = [
        len(form) > _MAX_LENGTH_WITHOUT_DIGIT and _DIGIT.search(word) is None
        for word, form in words
    ]
    for length in range(2, _MAX_WORDS + 1):
        for start in range(len(words) - length + 1):
            if any(breaks[start : start + length]):
                continue
            run = words[start : start + length]
            yield " ".join([word for word, _ in run]), "".join([form for _, form in run])


def _list_grouped(lines: Iterable[str]) -> Iterator[str]:
    """Yield candidates for creditor references: each word that begins with RF, alone and together
    with the groups of four characters that follow it."""
    words = [word.strip(_PUNCTUATION).upper() for line in lines for word in _WORD.findall(line)]
    for start, word in enumerate(words):
        if not word.startswith("RF"):
            continue
        yield word
        for end in range(start + 1, min(start + _MAX_GROUPS, len(words))):
            if len(words[end - 1]) != _GROUP_LENGTH:
                break
            yield " ".join(words[start : end + 1])
