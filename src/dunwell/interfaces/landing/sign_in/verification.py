"""What opens a claim's page, and how what is typed is compared: known facts, amounts, codes.
Pure.
"""

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
    """Amounts in minor units: the items' in their order, the payments' the oldest first."""

    currency: str
    items_cents: Sequence[int]
    payments_cents: Sequence[int]


def is_known_amount(typed: str, sums: LetterAmounts) -> bool:
    """However it is written: 1.234,50 and EUR 1,234.50 are one amount, as are 120 and 120.00."""
    digits = "".join(c for c in unicodedata.normalize("NFKC", typed) if c in "0123456789")
    return bool(digits) and digits.lstrip("0") in _list_written(sums)


def _list_written(sums: LetterAmounts) -> set[str]:
    unit = 10 ** count_minor_digits(sums.currency)
    totals = list(accumulate(sums.items_cents))
    paid = [0, *accumulate(sums.payments_cents)]
    amounts = {total - each for total in totals for each in paid if total > each}
    whole = {amount // unit for amount in amounts if amount % unit == 0}
    return {str(amount) for amount in amounts | whole}


Fact = Literal["POSTAL_CODE", "DATE_OF_BIRTH", "CONTRACT_NUMBER", "CUSTOMER_NUMBER"]
# What a session is asked for where the merchant's links ask for nothing.
_USUAL: tuple[Fact, ...] = ("POSTAL_CODE", "DATE_OF_BIRTH", "CUSTOMER_NUMBER", "CONTRACT_NUMBER")
# Written before the number by some, as in D-20459.
_COUNTRY_MARK = re.compile(r"^[a-z]{1,2}(?=[0-9]{4,5}$)")
_CODE_CHANNELS: tuple[NoticeChannel, ...] = ("EMAIL", "SMS")


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """What is on file of a claim's debtor."""

    facts: Mapping[Fact, str]
    # Where a code can be sent.
    addresses: Mapping[NoticeChannel, str]


NO_KNOWN_FACTS = KnownFacts({}, {})


def build_known_facts(on_file: OnFile) -> KnownFacts:
    facts: dict[Fact, str | None] = {
        "POSTAL_CODE": on_file.postal_code, "DATE_OF_BIRTH": on_file.date_of_birth,
        "CONTRACT_NUMBER": on_file.contract_number, "CUSTOMER_NUMBER": on_file.customer_number,
    }  # fmt: skip
    addresses: dict[NoticeChannel, str | None] = {
        "EMAIL": on_file.email, "SMS": on_file.mobile_number,
    }  # fmt: skip
    return KnownFacts(
        {fact: value for fact, value in facts.items() if value},
        {channel: address for channel, address in addresses.items() if address},
    )


@dataclass(frozen=True, slots=True)
class OpensByItself:
    """It opens by itself."""


@dataclass(frozen=True, slots=True)
class AskFact:
    fact: Fact


@dataclass(frozen=True, slots=True)
class AskCode:
    """Six digits, sent by this channel to the address on file."""

    channel: NoticeChannel


@dataclass(frozen=True, slots=True)
class CallUs:
    """Nothing is on file to ask for: the phone, or the code of a letter."""


LinkVerification = OpensByItself | AskFact | AskCode | CallUs


def get_verification_policy(
    configuration: Configuration, channel: Channel | None
) -> Sequence[VerificationMethod]:
    """What links of a channel ask for. A link of no communication asks as an e-mail's does."""
    return configuration.landing_page.list_proofs(channel or "EMAIL")


def decide_verification(
    policy: Sequence[VerificationMethod],
    known: KnownFacts,
    link: Channel | None,
    channels: Collection[Channel],
) -> LinkVerification:
    """`link`: the channel the link went by. `channels`: those the merchant has."""
    if not policy:
        return OpensByItself()
    code_channel = find_code_channel(known, link, channels)
    for proof in policy:
        if proof == "CODE":
            if code_channel is not None:
                return AskCode(code_channel)
        elif proof in known.facts:
            return AskFact(proof)
    return AskCode(code_channel) if code_channel else CallUs()


def choose_fact(policy: Sequence[VerificationMethod], known: KnownFacts) -> Fact | None:
    """What raises a session that a link opened; none when no such fact is on file."""
    wanted = [proof for proof in policy if proof != "CODE"] or _USUAL
    return next((fact for fact in wanted if fact in known.facts), None)


def find_code_channel(
    known: KnownFacts, link: Channel | None, channels: Collection[Channel]
) -> NoticeChannel | None:
    """Another one than the link's if there is one: who took the link has not taken both."""
    there = [each for each in _CODE_CHANNELS if each in known.addresses and each in channels]
    return next((each for each in there if each != link), there[0] if there else None)


def parse_typed_fact(fact: Fact, form: Mapping[str, str]) -> str | None:
    """The fact as it is compared, from the form's fields; none when it can be none: a slip of the
    finger."""
    if fact == "DATE_OF_BIRTH":
        return parse_birth_date(form, "born")
    return _simplify(fact, form.get("fact", "")) or None


def matches_fact(fact: Fact, typed: str, known: KnownFacts) -> bool:
    """`typed`: `parse_typed_fact`'s. Takes the same time wherever the two differ."""
    on_file = known.facts.get(fact)
    if on_file is None:
        return False
    expected = on_file if fact == "DATE_OF_BIRTH" else _simplify(fact, on_file)
    if fact == "DATE_OF_BIRTH" and len(typed) < len(expected):
        # Of a year with two digits, the century is not asked.
        expected = expected[len("19") :]
    return hmac.compare_digest(_digest(expected), _digest(typed))


def _digest(text: str) -> bytes:
    """As long whatever the text."""
    return hashlib.sha256(text.encode()).digest()


def _simplify(fact: Fact, text: str) -> str:
    """Case, blanks, signs and the forms of letters do not count."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = "".join(letter for letter in folded if letter.isalnum())
    return _COUNTRY_MARK.sub("", plain) if fact == "POSTAL_CODE" else plain
