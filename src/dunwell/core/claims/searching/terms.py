"""The words by which claims are found, and those of a search, normalised so that case, accents and
the format of numbers do not matter. Pure."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import phonenumbers

from dunwell.core.claims.reference_forms import normalize_reference

# Longer words are cut. Of the words of a search, those after the first MAX_WORDS are ignored.
MAX_TERM_LENGTH = 40
MAX_WORDS = 5
_NON_DIGITS = re.compile(r"[^0-9]")
_NUMBER = re.compile(r"\+?[0-9][0-9 ()/.\-]{4,}")
_PARTS = re.compile("[-/.'\u2019]")


@dataclass(frozen=True, slots=True)
class SearchableClaim:
    """The searchable data of a claim."""

    claim_id: int
    reference_number: str
    customer_number: str | None = None
    contract_number: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    company_name: str | None = None
    email: str | None = None
    mobile_number: str | None = None


def list_terms(claim: SearchableClaim) -> frozenset[str]:
    """Return the words by which the claim is found, each of at most MAX_TERM_LENGTH characters."""
    return frozenset(each[:MAX_TERM_LENGTH] for each in _list_words(claim) if each)


def parse_search(text: str) -> list[str]:
    """Return the words that must all match, longest first because it matches the fewest claims.
    Empty for a text without a word."""
    text = text.strip()
    if _NUMBER.fullmatch(text) and (text[0] in "+0" or not text.isdecimal()):
        digits = _NON_DIGITS.sub("", text)
        is_international = text.startswith(("+", "00"))
        return [(digits.lstrip("0") if is_international else digits)[:MAX_TERM_LENGTH]]
    words = dict.fromkeys(each[:MAX_TERM_LENGTH] for each in _fold(text).split())
    return sorted(words, key=len, reverse=True)[:MAX_WORDS]


def _list_words(claim: SearchableClaim) -> Iterator[str]:
    yield str(claim.claim_id)
    # The normal form, which also finds a reference that was garbled on a bank statement.
    yield normalize_reference(claim.reference_number)
    for text in (
        claim.reference_number, claim.customer_number, claim.contract_number, claim.email,
    ):  # fmt: skip
        yield from _fold(text or "").split()
    for text in (claim.first_name, claim.last_name, claim.company_name):
        for word in _fold(text or "").split():
            yield word
            yield from _PARTS.split(word)
    if claim.mobile_number:
        yield from _list_numbers(claim.mobile_number)


def _list_numbers(number: str) -> Iterator[str]:
    """Yield the number with and without its country code."""
    yield _NON_DIGITS.sub("", number)
    try:
        parsed = phonenumbers.parse(number)
    except phonenumbers.NumberParseException:
        return
    yield f"0{parsed.national_number}"


def _fold(text: str) -> str:
    """Return the text in lower case and without accents."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in plain if not unicodedata.combining(each))
