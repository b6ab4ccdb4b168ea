"""Which proof opens a claim or raises a session's level, and how entered values are
compared. Pure."""

import hashlib
import hmac
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from dunwell.accounts.merchants.configuration import Channel, Configuration, VerificationMethod
from dunwell.contact.messages.templates.formatting import count_minor_digits
from dunwell.contact.notices.notice import NoticeChannel
from dunwell.interfaces.landing.render.typed_fields import parse_birth_date
from dunwell.interfaces.landing.session.facts import OnFile


@dataclass(frozen=True, slots=True)
class LetterAmounts:
    """Amounts in minor units: the items by position, and the payments from the oldest to the
    newest."""

    currency: str
    items_cents: Sequence[int]
    payments_cents: Sequence[int]


def is_known_amount(typed: str, letter: LetterAmounts) -> bool:
    """Return whether a letter about the claim can have shown this amount. Separators and the
    currency do not matter: 1.234,50 equals EUR 1,234.50, and 120 equals 120.00."""
    digits = "".join(c for c in unicodedata.normalize("NFKC", typed) if c in "0123456789")
    return bool(digits) and digits.lstrip("0") in _list_digit_forms(letter)


def _list_digit_forms(letter: LetterAmounts) -> set[str]:
    """Return the digits of each amount that a letter can have shown: the sum of the first items
    less the first payments, in minor units and, if it is whole, in units."""
    unit = 10 ** count_minor_digits(letter.currency)
    totals = list(accumulate(letter.items_cents))
    paid = [0, *accumulate(letter.payments_cents)]
    amounts = {total - each for total in totals for each in paid if total > each}
    whole = {amount // unit for amount in amounts if amount % unit == 0}
    return {str(amount) for amount in amounts | whole}


ProofKind = Literal["POSTAL_CODE", "DATE_OF_BIRTH", "CONTRACT_NUMBER", "CUSTOMER_NUMBER"]
# The proofs that a session is asked for if the merchant's policy names none.
_DEFAULT_PROOFS: tuple[ProofKind, ...] = (
    "POSTAL_CODE",
    "DATE_OF_BIRTH",
    "CUSTOMER_NUMBER",
    "CONTRACT_NUMBER",
)
# The country prefix of a postal code, as in D-20459.
_COUNTRY_PREFIX = re.compile(r"^[a-z]{1,2}(?=[0-9]{4,5}$)")
_CODE_CHANNELS: tuple[NoticeChannel, ...] = ("EMAIL", "SMS")


@dataclass(frozen=True, slots=True)
class KnownProofs:
    """The debtor's data on file that can be asked for."""

    proofs: Mapping[ProofKind, str]
    # The addresses that a code can be sent to.
    addresses: Mapping[NoticeChannel, str]


NO_KNOWN_PROOFS = KnownProofs({}, {})


def build_known_proofs(on_file: OnFile) -> KnownProofs:
    proofs: dict[ProofKind, str | None] = {
        "POSTAL_CODE": on_file.postal_code, "DATE_OF_BIRTH": on_file.date_of_birth,
        "CONTRACT_NUMBER": on_file.contract_number, "CUSTOMER_NUMBER": on_file.customer_number,
    }  # fmt: skip
    addresses: dict[NoticeChannel, str | None] = {
        "EMAIL": on_file.email, "SMS": on_file.mobile_number,
    }  # fmt: skip
    return KnownProofs(
        {kind: value for kind, value in proofs.items() if value},
        {channel: address for channel, address in addresses.items() if address},
    )


@dataclass(frozen=True, slots=True)
class NoProofNeeded:
    """The link opens the claim without a proof."""


@dataclass(frozen=True, slots=True)
class AskProof:
    kind: ProofKind


@dataclass(frozen=True, slots=True)
class AskCode:
    """Asks for a six-digit code that is sent by this channel to the address on file."""

    channel: NoticeChannel


@dataclass(frozen=True, slots=True)
class NoProofOnFile:
    """Nothing is on file that could be asked for. The debtor can call, or enter the code of a
    letter."""


LinkVerification = NoProofNeeded | AskProof | AskCode | NoProofOnFile


def get_verification_policy(
    configuration: Configuration, channel: Channel | None
) -> Sequence[VerificationMethod]:
    """Return the proofs that links of a channel ask for. A link without a communication is treated
    like a link in an e-mail."""
    return configuration.landing_page.list_proofs(channel or "EMAIL")


def decide_verification(
    policy: Sequence[VerificationMethod],
    known: KnownProofs,
    link_channel: Channel | None,
    channels: Collection[Channel],
) -> LinkVerification:
    """Decide what a link asks for. `link_channel` is the channel that the link was sent by, and
    `channels` are the merchant's."""
    if not policy:
        return NoProofNeeded()
    code_channel = find_code_channel(known, link_channel, channels)
    for proof in policy:
        if proof == "CODE":
            if code_channel is not None:
                return AskCode(code_channel)
        elif proof in known.proofs:
            return AskProof(proof)
    return AskCode(code_channel) if code_channel else NoProofOnFile()


def choose_proof(policy: Sequence[VerificationMethod], known: KnownProofs) -> ProofKind | None:
    """Choose the proof that raises the level of a session. Return None if no suitable one is on
    file."""
    wanted = [proof for proof in policy if proof != "CODE"] or _DEFAULT_PROOFS
    return next((kind for kind in wanted if kind in known.proofs), None)


def find_code_channel(
    known: KnownProofs, link_channel: Channel | None, channels: Collection[Channel]
) -> NoticeChannel | None:
    """Find the channel for a code. A channel other than the link's is preferred, because someone
    who has intercepted the link may not have access to both."""
    available = [each for each in _CODE_CHANNELS if each in known.addresses and each in channels]
    return next(
        (each for each in available if each != link_channel), available[0] if available else None
    )


def parse_typed_proof(kind: ProofKind, form: Mapping[str, str]) -> str | None:
    """Parse the entered proof for comparison. Return None if it cannot be a proof of this kind,
    such as after a typing error."""
    if kind == "DATE_OF_BIRTH":
        return parse_birth_date(form, "born")
    return _simplify(kind, form.get("fact", "")) or None


def matches_proof(kind: ProofKind, typed: str, known: KnownProofs) -> bool:
    """Return whether the proof is correct. `typed` comes from `parse_typed_proof`. The comparison
    takes constant time."""
    on_file = known.proofs.get(kind)
    if on_file is None:
        return False
    expected = on_file if kind == "DATE_OF_BIRTH" else _simplify(kind, on_file)
    if kind == "DATE_OF_BIRTH" and len(typed) < len(expected):
        # A year that was entered with two digits is compared without its century.
        expected = expected[len("19") :]
    return hmac.compare_digest(_digest(expected), _digest(typed))


def _digest(text: str) -> bytes:
    """Hash the text, so that the compared values have the same length."""
    return hashlib.sha256(text.encode()).digest()


def _simplify(kind: ProofKind, text: str) -> str:
    """Remove differences of case, spaces, punctuation and Unicode form."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = "".join(letter for letter in folded if letter.isalnum())
    return _COUNTRY_PREFIX.sub("", plain) if kind == "POSTAL_CODE" else plain
