"""For what reasons a claim can be disputed: the contract's list, and what a merchant makes of it.

A merchant may hide reasons from debtors, change their wording, and add its own, which the contract
has no name for: in events they are OTHER. Two reasons are built in without being the contract's:
WRONG_PERSON goes out as NOT_MY_DEBT, and PERSON_DIED as OTHER with its label. Both withhold the
claim's page: it asks for nothing and shows nothing of the claim until the merchant has decided.
What is always offered cannot be hidden, so that everybody has a way to object (CONTRACT 10). Pure.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from dunwell.accounts.merchants.configuration import DisputeReason, Disputes
from dunwell.platform.text.translation import (
    DEBTOR_CATALOGUES,
    SOURCE_LANGUAGE,
    load_languages,
)


class DisputeType(StrEnum):
    DEBTOR_ALREADY_PAID = "DEBTOR_ALREADY_PAID"
    AMOUNT_WRONG = "AMOUNT_WRONG"
    GOODS_NOT_RECEIVED = "GOODS_NOT_RECEIVED"
    GOODS_RETURNED = "GOODS_RETURNED"
    DEFECTIVE = "DEFECTIVE"
    CONTRACT_CANCELLED = "CONTRACT_CANCELLED"
    NOT_MY_DEBT = "NOT_MY_DEBT"
    IDENTITY_THEFT = "IDENTITY_THEFT"
    ALREADY_IN_PLAN = "ALREADY_IN_PLAN"
    INSOLVENCY = "INSOLVENCY"
    STATUTE_BARRED = "STATUTE_BARRED"
    DOCUMENTS_MISSING = "DOCUMENTS_MISSING"
    OTHER = "OTHER"


WRONG_PERSON = "WRONG_PERSON"
PERSON_DIED = "PERSON_DIED"
# Reasons that are neither the contract's nor a merchant's own -> the type that events name.
BUILT_IN: Mapping[str, DisputeType] = {
    WRONG_PERSON: DisputeType.NOT_MY_DEBT,
    PERSON_DIED: DisputeType.OTHER,
}
# The names that a merchant cannot give to a reason of its own.
KNOWN_NAMES: tuple[str, ...] = (*DisputeType, *BUILT_IN)
ALWAYS_OFFERED: frozenset[str] = frozenset({DisputeType.NOT_MY_DEBT, DisputeType.OTHER, *BUILT_IN})


class Reason(msgspec.Struct, frozen=True, gc=False):
    """`name` is what is chosen by: the contract's type, or the name of a reason beyond those."""

    name: str
    # As events bear it.
    type: DisputeType
    # Language -> words; none: the pages have their own.
    labels: Mapping[str, str]
    is_hidden: bool

    @property
    def is_own(self) -> bool:
        """Whether it is one that the merchant has added."""
        return self.name not in KNOWN_NAMES

    @property
    def is_contracts(self) -> bool:
        """Whether events name it by the contract's own type, so that it needs no label."""
        return self.name == self.type

    @property
    def withholds_claim(self) -> bool:
        return self.name in BUILT_IN

    def label_in(self, *languages: str) -> str:
        """Return the label in the first of the languages that has one, else in any language."""
        for language in languages:
            label = self.labels.get(language) or _label_built_in(self.name, language)
            if label is not None:
                return label
        return _label_built_in(self.name, SOURCE_LANGUAGE) or next(iter(self.labels.values()))


def _label_built_in(name: str, language: str) -> str | None:
    """Return the label that is recorded and sent in events; None if there is none in the
    language."""
    words = load_languages(DEBTOR_CATALOGUES).get(language)
    if words is None or name not in BUILT_IN:
        return None
    if name == WRONG_PERSON:
        return words.translate("This is not me")
    return words.translate("The person has died")


def list_reasons(disputes: Disputes) -> list[Reason]:
    """Hidden ones too: the contract's in its order, each built-in one before its type, the
    merchant's own before OTHER."""
    said: dict[str, DisputeReason] = {each.type: each for each in disputes.reasons}
    reasons = [_word(name, type_, said.pop(name, None)) for name, type_ in _list_known()]
    own = [
        Reason(each.type, DisputeType.OTHER, each.labels, each.is_hidden) for each in said.values()
    ]
    return [*reasons[:-1], *own, reasons[-1]]


def list_offered(disputes: Disputes) -> list[Reason]:
    """What debtors choose from."""
    return [each for each in list_reasons(disputes) if not each.is_hidden]


def _list_known() -> Iterator[tuple[str, DisputeType]]:
    for each in DisputeType:
        yield from ((name, type_) for name, type_ in BUILT_IN.items() if type_ is each)
        yield each, each


def _word(name: str, dispute_type: DisputeType, said: DisputeReason | None) -> Reason:
    """One that is always there. said: what the merchant says of it, if anything."""
    if said is None:
        return Reason(name, dispute_type, {}, is_hidden=False)
    is_hidden = said.is_hidden and name not in ALWAYS_OFFERED
    return Reason(name, dispute_type, said.labels, is_hidden)
