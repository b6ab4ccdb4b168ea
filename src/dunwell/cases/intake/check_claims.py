"""Parse a body of claims: each element becomes a submission, or a rejection with all its faults.

A fault of one claim never affects another (spec, Errors 2). The whole body is refused only if it is
not a list of claims. Pure.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from operator import attrgetter
from typing import Annotated, Any

import msgspec
import phonenumbers
from babel import Locale
from babel.core import get_global
from msgspec import Meta

from dunwell.cases.intake.submission import (
    MAX_CLAIMS,
    AttachmentSubmission,
    ClaimSubmission,
    ItemSubmission,
)
from dunwell.core.claims.balance import MAX_ITEMS
from dunwell.core.claims.fields import (
    ADDRESS_FIELDS,
    FIELDS,
    AddressSubmission,
    ContactData,
    DebtorField,
    Text,
)
from dunwell.platform.errors import Fault, InvalidRequest, ValidationError
from dunwell.platform.text.json_text import (
    check_part_counts,
    convert_valid_fields,
    count_keys,
    find_repeated_keys,
    has_no_repeated_keys,
    parse_json,
)
from dunwell.platform.text.shape import MAX_FAULTS, MORE_FAULTS, find_faults, limit_faults

_NAMES = tuple(field.name for field in FIELDS)
_ADDRESS_NAMES = tuple(field.name for field in ADDRESS_FIELDS)
_get_fields = attrgetter(*_NAMES)
_get_address_fields = attrgetter(*_ADDRESS_NAMES)
_get_dates = attrgetter("item_date", "due_date")
_ITEM_KEYS = len(ItemSubmission.__struct_fields__)
_ATTACHMENT_KEYS = len(AttachmentSubmission.__struct_fields__)
# referenceNumber, currency and items.
_REQUIRED_KEYS = 3


def has_each_key_once(claims: Sequence[ClaimSubmission], text: bytes) -> bool:
    """Return whether `claims` have as many values as `text`, from which they were parsed, has keys.
    A repeated key makes the counts differ. So can a null or a colon within a text, after which the
    caller searches for repeated keys one by one."""
    return count_keys(text) == sum(map(_count_values, claims))


def _count_values(claim: ClaimSubmission) -> int:
    fields = _get_fields(claim)
    count = _REQUIRED_KEYS + len(_NAMES) - fields.count(None)
    for item in claim.items:
        count += _ITEM_KEYS - _get_dates(item).count(None)
    if claim.attachments:
        count += 1 + _ATTACHMENT_KEYS * len(claim.attachments)
    address: Any = claim.address
    if address is not None:
        count += len(_ADDRESS_NAMES) - _get_address_fields(address).count(None)
    if claim.custom_fields:
        count += len(claim.custom_fields)
    return count


# The shapes of a body without control characters (`has_only_plain_text`): texts are checked for
# their length only, which is faster than the patterns of the complete shapes.
_Text = Annotated[str, Meta(max_length=255)]
_Reference = Annotated[str, Meta(min_length=1, max_length=255)]


def _list_plain_texts(fields: Iterable[DebtorField]) -> list[tuple[str, Any, Any]]:
    return [
        (each.name, _Text | None, msgspec.field(default=None, name=each.wire_name))
        for each in fields
        if each.limited_type == Text
    ]


class _PlainItem(ItemSubmission, frozen=True):
    reference: _Reference


_PlainAddress: Any = msgspec.defstruct(
    "_PlainAddress", _list_plain_texts(ADDRESS_FIELDS), bases=(AddressSubmission,), frozen=True
)
_PlainClaim: Any = msgspec.defstruct(
    "_PlainClaim",
    [
        ("reference_number", _Reference),
        ("items", Annotated[list[_PlainItem], Meta(min_length=1, max_length=MAX_ITEMS)]),
        *_list_plain_texts(FIELDS),
        ("address", _PlainAddress | None, None),
    ],
    bases=(ClaimSubmission,),
    frozen=True,
    kw_only=True,
)
_plain_decoder = msgspec.json.Decoder(list[_PlainClaim])


# Control characters above the ASCII range, in UTF-8.
_HIGH_CONTROL = re.compile(rb"\xc2[\x80-\x9f]")


def has_only_plain_text(body: bytes) -> bool:
    """Return whether the body has neither escape sequences nor control characters in its texts, so
    that `decode_plain` accepts exactly the texts that the complete decoder accepts."""
    if b"\\" in body or b"\x7f" in body:
        return False
    # Few bodies contain this byte, and searching for one byte is much faster than the pattern.
    return b"\xc2" not in body or _HIGH_CONTROL.search(body) is None


def decode_plain(body: bytes) -> Sequence[ClaimSubmission]:
    """Decode a body with plain characters. Raises msgspec.DecodeError, as the complete decoder
    would, and UnicodeDecodeError."""
    return _plain_decoder.decode(body)


_CURRENCIES = frozenset(get_global("all_currencies"))
_LANGUAGES = frozenset(Locale("en").languages)
# Regions in Unicode that ISO 3166-1 does not assign.
_UNASSIGNED_REGIONS = frozenset(
    {"AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA"}
)
_COUNTRIES = (
    frozenset(code for code in Locale("en").territories if len(str(code)) == 2)
    - _UNASSIGNED_REGIONS
    - frozenset({"XB", "XK", "ZZ"})
)
_FEES = frozenset({"COLLECTION_FEE", "DUNNING_FEE"})
_whole_decoder = msgspec.json.Decoder(list[ClaimSubmission])
_array_decoder = msgspec.json.Decoder(list[msgspec.Raw])
_claim_decoder = msgspec.json.Decoder(ClaimSubmission)
# Larger bodies are parsed claim by claim, so that other requests run in between.
_MAX_WHOLE_BYTES = 1024 * 1024
# The most JSON containers and separators in a body of MAX_CLAIMS complete claims, and then in one
# claim whose texts are full of punctuation.
_MAX_CONTAINERS, _MAX_SEPARATORS = 130_000, 1_000_000
_MAX_CLAIM_CONTAINERS, _MAX_CLAIM_SEPARATORS = 8_000, 20_000
# Enough for all texts at maximum length with each character escaped.
_MAX_CLAIM_BYTES = 1024 * 1024
# The limit for all claims of one body: ten for each of MAX_CLAIMS, which limits the response to a
# few megabytes.
_MAX_FAULTS = 10_000
# A longer reference is invalid, and the response does not repeat it.
_MAX_REFERENCE_LENGTH = 255


@dataclass(frozen=True, slots=True)
class RejectedSubmission:
    """A claim that cannot be created, with its reference number if it has one."""

    reference_number: str | None
    error: ValidationError


def check_claims(body: bytes) -> list[ClaimSubmission | RejectedSubmission]:
    """Return one element per submitted claim, in order. Raises what `parse_claims` raises."""
    return list(parse_claims(body))


def parse_claims(body: bytes) -> Iterator[ClaimSubmission | RejectedSubmission]:
    """Yield one element per submitted claim, in order. The caller can let other requests run
    between two elements.

    Raises InvalidRequest if the body is not JSON. Raises ValidationError if it is no array, is
    empty, has more than MAX_CLAIMS, or has more content than so many claims can have.
    """
    check_part_counts(body, containers=_MAX_CONTAINERS, separators=_MAX_SEPARATORS)
    parser = _ClaimParser()
    claims = _decode_all(body) if len(body) <= _MAX_WHOLE_BYTES else None
    if claims is None or not has_each_key_once(claims, body):
        yield from map(parser.parse_claim, _split(body))
        return
    _check_count(len(claims))
    yield from map(parser.check_content, claims)


def _decode_all(body: bytes) -> Sequence[ClaimSubmission] | None:
    """Return the claims, or None if anything is wrong; the claims are then parsed one by one."""
    try:
        return decode_plain(body) if has_only_plain_text(body) else _whole_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _split(body: bytes) -> list[msgspec.Raw]:
    try:
        raws = _array_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _check_json(body)
        message = "The body must be a JSON array of claims; put a single claim in brackets."
        raise ValidationError([Fault("", message, "WRONG_TYPE")], message) from error
    _check_count(len(raws))
    return raws


def _check_json(body: bytes) -> None:
    """Check the syntax without building values, which takes far longer."""
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _build_not_json(error) from error


def _build_not_json(error: Exception) -> InvalidRequest:
    return InvalidRequest(f"The body is not JSON: {error}. Send a JSON array.")


def _check_count(count: int) -> None:
    if count == 0:
        message = "The array is empty; send at least one claim."
        raise ValidationError([Fault("", message, "TOO_FEW")], message)
    if count > MAX_CLAIMS:
        message = f"The array has {count} claims; send at most {MAX_CLAIMS} per request."
        raise ValidationError([Fault("", message, "TOO_MANY")], message)


class _ClaimParser:
    """Parses the claims of one body in order. Only the first faults are listed if there are very
    many."""

    def __init__(self) -> None:
        self._faults_left = _MAX_FAULTS

    def parse_claim(self, raw: msgspec.Raw) -> ClaimSubmission | RejectedSubmission:
        """Parse one claim of a body. Raises InvalidRequest if the text is not JSON."""
        text = bytes(raw)
        if len(text) > _MAX_CLAIM_BYTES:
            message = (
                f"The claim is larger than {_MAX_CLAIM_BYTES} bytes, more than all its fields."
            )
            return self._reject(None, [Fault("", message, "TOO_LONG")])
        try:
            check_part_counts(
                text, containers=_MAX_CLAIM_CONTAINERS, separators=_MAX_CLAIM_SEPARATORS
            )
            claim = _claim_decoder.decode(raw)
        except ValidationError as error:
            return self._reject(None, error.faults)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._reject_shape(text)
        repeated = [] if has_each_key_once([claim], text) else list(_list_repeated_keys(text))
        return self.check_content(claim, repeated)

    def check_content(
        self, claim: ClaimSubmission, repeated: Sequence[Fault] = ()
    ) -> ClaimSubmission | RejectedSubmission:
        """Check the claim's content. `repeated` has the faults of keys that occur twice in its
        text."""
        claim = _normalize(claim)
        faults = list(_list_content_faults(claim))
        if faults or repeated:
            return self._reject(claim.reference_number, chain(repeated, faults))
        return claim

    def _reject_shape(self, text: bytes) -> RejectedSubmission:
        try:
            value = parse_json(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _build_not_json(error) from error
        reference = value.get("referenceNumber") if isinstance(value, dict) else None
        if not isinstance(reference, str) or len(reference) > _MAX_REFERENCE_LENGTH:
            reference = None
        return self._reject(reference, _list_all_faults(value, text))

    def _reject(self, reference: str | None, faults: Iterable[Fault]) -> RejectedSubmission:
        listed = limit_faults(faults) if self._faults_left > 0 else [MORE_FAULTS]
        self._faults_left -= len(listed)
        return RejectedSubmission(reference, ValidationError(listed))


def _list_repeated_keys(text: bytes) -> Iterator[Fault]:
    """Yield a fault for each key that occurs twice, up to the limit of listed faults."""
    return islice(find_repeated_keys(text), MAX_FAULTS)


def _list_all_faults(value: object, text: bytes) -> Iterator[Fault]:
    """Yield all faults of a claim with the wrong shape."""
    yield from find_faults(value, ClaimSubmission)
    if not has_no_repeated_keys(value, text):
        yield from _list_repeated_keys(text)
    claim = convert_valid_fields(value, ClaimSubmission)
    if claim is not None:
        yield from _list_content_faults(_normalize(claim) if claim.reference_number else claim)


def normalize_reference(reference: str) -> str:
    """Return the reference as it is compared: without surrounding white space, in Unicode form
    NFC.
    """
    return unicodedata.normalize("NFC", reference.strip())


def _normalize(claim: ClaimSubmission) -> ClaimSubmission:
    reference = normalize_reference(claim.reference_number)
    if reference == claim.reference_number:
        return claim
    return msgspec.structs.replace(claim, reference_number=reference)


# The functions below also check claims of which parts could not be parsed. Those parts are UNSET,
# which is false and equals nothing, so that a fault is not reported twice.


def _list_content_faults(claim: ClaimSubmission) -> Iterator[Fault]:
    if claim.reference_number == "":
        yield Fault(
            "/referenceNumber", "The reference is blank; give your own reference.", "EMPTY_TEXT"
        )
    if claim.currency and claim.currency not in _CURRENCIES:
        message = f"{claim.currency} is not an ISO 4217 currency code such as EUR."
        yield Fault("/currency", message, "UNKNOWN_CURRENCY")
    yield from list_debtor_faults(claim)
    yield from _list_item_faults(claim.items)


def list_debtor_faults(claim: ContactData) -> Iterator[Fault]:
    """Yield the faults of debtor and contact data that types cannot express."""
    if _is_blank(claim.last_name) and _is_blank(claim.company_name):
        yield Fault("/debtorLastName", "Give debtorLastName or companyName.", "REQUIRED")
    number = claim.mobile_number
    if number and not _is_possible_number(number[:6], len(number)):
        yield Fault(
            "/mobileNumber",
            "No such number can exist; use the international format, such as +4915112345678.",
            "WRONG_PHONE_NUMBER",
        )
    if claim.language and claim.language not in _LANGUAGES:
        message = "Unknown language; use an ISO 639 code, like de."
        yield Fault("/language", message, "UNKNOWN_LANGUAGE")
    country = claim.address.country if claim.address else None
    if country and country not in _COUNTRIES:
        message = f"{country} is not an ISO 3166-1 code such as DE."
        yield Fault("/address/country", message, "UNKNOWN_COUNTRY")


def _list_item_faults(items: list[ItemSubmission]) -> Iterator[Fault]:
    if not items:
        return
    if all(item.type in _FEES for item in items):
        yield Fault("/items", "At least one item must be of type PRIMARY.", "PRIMARY_MISSING")
    for position, item in enumerate(items):
        yield from list_date_faults(item, f"/items/{position}")


def list_date_faults(item: ItemSubmission, path: str = "") -> Iterator[Fault]:
    """Yield the faults of the item's dates. `path` is the JSON pointer of the item."""
    if item.item_date and item.due_date and item.due_date < item.item_date:
        yield Fault(f"{path}/dueDate", "dueDate is before itemDate.", "WRONG_ORDER")


def _is_blank(text: str | None) -> bool:
    """Return whether the text is None or contains only white space."""
    return not text.strip() if isinstance(text, str) else text is None


@lru_cache(maxsize=20_000)
def _is_possible_number(first_digits: str, length: int) -> bool:
    """Return whether a phone number with these first digits and this length can exist.

    This depends only on the country code and the length. So the result is cached by the first
    digits, which saves most look-ups for a thousand claims.
    """
    number = first_digits.ljust(length, "1")
    try:
        return phonenumbers.is_possible_number(phonenumbers.parse(number))
    except phonenumbers.NumberParseException:
        return False
