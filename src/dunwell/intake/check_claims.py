"""Reads a body of claims: each element becomes a submission, or a rejection with all its faults.

One claim's faults never touch another's (spec, Errors 2); only a body that is no list of
claims at all is refused as a whole. Pure.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import phonenumbers
from babel import Locale
from babel.core import get_global

from dunwell.claims.fields import ContactData
from dunwell.errors import Fault, InvalidRequest, ValidationError
from dunwell.intake.given_keys import has_given_keys
from dunwell.intake.plain_submission import decode_plain, is_plain
from dunwell.intake.submission import MAX_CLAIMS, ClaimSubmission, ItemSubmission
from dunwell.kit.json_text import check_amount, find_repeated, has_all_keys
from dunwell.kit.shape import MORE_FAULTS, find_faults

_CURRENCIES = frozenset(get_global("all_currencies"))
_LANGUAGES = frozenset(Locale("en").languages)
# Regions Unicode knows that ISO 3166-1 does not assign.
_NO_COUNTRIES = frozenset({"AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA"})
_COUNTRIES = (
    frozenset(code for code in Locale("en").territories if len(str(code)) == 2)
    - _NO_COUNTRIES
    - frozenset({"XB", "XK", "ZZ"})
)
_all_at_once = msgspec.json.Decoder(list[ClaimSubmission])
_one_by_one = msgspec.json.Decoder(list[msgspec.Raw])
_one = msgspec.json.Decoder(ClaimSubmission)
# Larger bodies are read claim by claim, so that others have their turn in between.
_MOST_AT_ONCE = 1024 * 1024
# What MAX_CLAIMS claims with all they may have can need, and one whose texts are full of marks.
_MOST_CONTAINERS, _MOST_SEPARATORS = 130_000, 1_000_000
_CLAIM_CONTAINERS, _CLAIM_SEPARATORS = 8_000, 20_000
# Room for all its texts at their longest, each letter an escape.
_CLAIM_BYTES = 1024 * 1024
# Of all claims of one body together.
_MOST_FAULTS = 1_000


@dataclass(frozen=True, slots=True)
class Rejected:
    """A claim that cannot be created, with the reference it gave, if any."""

    reference_number: str | None
    error: ValidationError


def check_claims(body: bytes) -> list[ClaimSubmission | Rejected]:
    """One element per submitted claim, in order. Raises what `read_claims` does."""
    return list(read_claims(body))


def read_claims(body: bytes) -> Iterator[ClaimSubmission | Rejected]:
    """One element per submitted claim, in order, each with little work behind it.

    Raises InvalidRequest (not JSON) and ValidationError (no array, empty, more than MAX_CLAIMS,
    more in it than so many claims can hold).
    """
    check_amount(body, containers=_MOST_CONTAINERS, separators=_MOST_SEPARATORS)
    claims = _decode_all(body) if len(body) <= _MOST_AT_ONCE else None
    if claims is None or not has_given_keys(claims, body):
        yield from _Reading().read(_split(body))
        return
    _check_count(len(claims))
    for claim in claims:
        yield _check_meaning(claim)


def _decode_all(body: bytes) -> Sequence[ClaimSubmission] | None:
    """None when something is wrong, which is then looked for claim by claim."""
    try:
        return decode_plain(body) if is_plain(body) else _all_at_once.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _split(body: bytes) -> list[msgspec.Raw]:
    try:
        raws = _one_by_one.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _check_json(body)
        message = "The body must be a JSON array of claims; put a single claim in brackets."
        raise ValidationError([Fault("", message, "WRONG_TYPE")], message) from error
    _check_count(len(raws))
    return raws


def _check_json(text: bytes | msgspec.Raw) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"The body is not JSON: {error}. Send a JSON array.") from error


def _check_count(count: int) -> None:
    if count == 0:
        message = "The array holds no claim; send at least one."
        raise ValidationError([Fault("", message, "TOO_FEW")], message)
    if count > MAX_CLAIMS:
        message = f"The array holds {count} claims; send at most {MAX_CLAIMS} per request."
        raise ValidationError([Fault("", message, "TOO_MANY")], message)


class _Reading:
    """One body, claim by claim; of very many faults the first are told."""

    def __init__(self) -> None:
        self._left = _MOST_FAULTS

    def read(self, raws: Sequence[msgspec.Raw]) -> Iterator[ClaimSubmission | Rejected]:
        for raw in raws:
            read = self._read_claim(raw)
            if isinstance(read, Rejected):
                self._left -= len(read.error.faults)
            yield read

    def _read_claim(self, raw: msgspec.Raw) -> ClaimSubmission | Rejected:
        text = bytes(raw)
        if len(text) > _CLAIM_BYTES:
            message = f"The claim is larger than {_CLAIM_BYTES} bytes, more than all its fields."
            return Rejected(None, ValidationError([Fault("", message, "TOO_LONG")]))
        try:
            check_amount(text, containers=_CLAIM_CONTAINERS, separators=_CLAIM_SEPARATORS)
            claim = _one.decode(raw)
        except ValidationError as error:
            return Rejected(None, error)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return self._reject_shape(text, str(error))
        if has_given_keys([claim], text):
            return _check_meaning(claim)
        repeated = list(find_repeated(text))
        if repeated:
            return Rejected(claim.reference_number, ValidationError(repeated))
        return _check_meaning(claim)

    def _reject_shape(self, text: bytes, first_fault: str) -> Rejected:
        value = _check_json(text)
        reference = value.get("referenceNumber") if isinstance(value, dict) else None
        told = reference if isinstance(reference, str) else None
        if self._left <= 0:
            return Rejected(told, ValidationError([MORE_FAULTS]))
        faults = find_faults(value, ClaimSubmission)
        if not has_all_keys(value, text):
            faults += find_repeated(text)
        return Rejected(told, ValidationError(faults or [Fault("", first_fault, "WRONG_FORMAT")]))


def normalize_reference(reference: str) -> str:
    """As references are compared: without blanks around it, composed (Unicode NFC)."""
    return unicodedata.normalize("NFC", reference.strip())


def _check_meaning(claim: ClaimSubmission) -> ClaimSubmission | Rejected:
    reference = normalize_reference(claim.reference_number)
    if reference != claim.reference_number:
        claim = msgspec.structs.replace(claim, reference_number=reference)
    faults = list(_find_faulty_meaning(claim))
    return Rejected(claim.reference_number, ValidationError(faults)) if faults else claim


def _find_faulty_meaning(claim: ClaimSubmission) -> Iterator[Fault]:
    if not claim.reference_number:
        yield Fault("/referenceNumber", "The reference is blank; give your own.", "EMPTY_TEXT")
    if claim.currency not in _CURRENCIES:
        message = f"{claim.currency} is no ISO 4217 currency code, like EUR."
        yield Fault("/currency", message, "UNKNOWN_CURRENCY")
    yield from find_faulty_debtor(claim)
    yield from _find_faulty_items(claim.items)


def find_faulty_debtor(claim: ContactData) -> Iterator[Fault]:
    """What its shape cannot say of whom the claim is about."""
    if not _has_text(claim.last_name) and not _has_text(claim.company_name):
        yield Fault(
            "/debtorLastName", "Give debtorLastName or companyName: whom is it about?", "REQUIRED"
        )
    if claim.mobile_number is not None and not _is_possible(
        claim.mobile_number[:6], len(claim.mobile_number)
    ):
        yield Fault(
            "/mobileNumber",
            "No such number is possible; use the international format, like +4915112345678.",
            "WRONG_PHONE_NUMBER",
        )
    if claim.language is not None and claim.language not in _LANGUAGES:
        message = "Unknown language; use an ISO 639 code, like de."
        yield Fault("/language", message, "UNKNOWN_LANGUAGE")
    country = claim.address.country if claim.address else None
    if country is not None and country not in _COUNTRIES:
        message = f"{country} is no ISO 3166-1 code, like DE."
        yield Fault("/address/country", message, "UNKNOWN_COUNTRY")


def _find_faulty_items(items: list[ItemSubmission]) -> Iterator[Fault]:
    if all(item.type != "PRIMARY" for item in items):
        yield Fault("/items", "At least one item must be of type PRIMARY.", "PRIMARY_MISSING")
    for position, item in enumerate(items):
        yield from find_faulty_dates(item, f"/items/{position}")


def find_faulty_dates(item: ItemSubmission, path: str = "") -> Iterator[Fault]:
    """`path`: where the item stands."""
    if item.item_date and item.due_date and item.due_date < item.item_date:
        yield Fault(f"{path}/dueDate", "dueDate is before itemDate; swap them?", "WRONG_ORDER")


def _has_text(value: str | None) -> bool:
    return value is not None and bool(value.strip())


@lru_cache(maxsize=20_000)
def _is_possible(first_digits: str, length: int) -> bool:
    """Whether a number of this start and length can exist.

    Possibility hangs on the country code and the length alone, so that the first digits stand for
    all numbers that share them, which keeps a thousand claims from a thousand look-ups.
    """
    number = first_digits.ljust(length, "1")
    try:
        return phonenumbers.is_possible_number(phonenumbers.parse(number))
    except phonenumbers.NumberParseException:
        return False
