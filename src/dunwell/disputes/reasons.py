"""For what reasons a claim can be disputed: the contract's list, and what a merchant makes of it.

A merchant may hide reasons from debtors, word them anew, and add its own, which the contract has no
name for: in events they are OTHER. NOT_MY_DEBT and OTHER are always offered, so that nobody is left
without a way to object (CONTRACT 10). Pure.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from dunwell.merchants.configuration import DisputeReason, Disputes


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


ALWAYS_OFFERED = frozenset({DisputeType.NOT_MY_DEBT, DisputeType.OTHER})


class Reason(msgspec.Struct, frozen=True, gc=False):
    """`name` is what is chosen by: the contract's type, or the merchant's own name for it."""

    name: str
    # As events bear it.
    type: DisputeType
    # Language -> words; none: the pages have their own.
    labels: Mapping[str, str]
    is_hidden: bool

    @property
    def is_own(self) -> bool:
        """Whether it is one that the merchant has added."""
        return self.name != self.type

    def label_in(self, *languages: str) -> str:
        """The words in the first of the languages there are any in, else in whatever there are."""
        for language in languages:
            if language in self.labels:
                return self.labels[language]
        return next(iter(self.labels.values()))


def list_reasons(disputes: Disputes) -> list[Reason]:
    """Hidden ones too: the contract's in its order, the merchant's own before OTHER."""
    said: dict[str, DisputeReason] = {each.type: each for each in disputes.reasons}
    reasons = [_word(each, said.pop(each, None)) for each in DisputeType]
    own = [
        Reason(each.type, DisputeType.OTHER, each.labels, each.is_hidden) for each in said.values()
    ]
    return [*reasons[:-1], *own, reasons[-1]]


def list_offered(disputes: Disputes) -> list[Reason]:
    """What debtors choose from."""
    return [each for each in list_reasons(disputes) if not each.is_hidden]


def _word(dispute_type: DisputeType, said: DisputeReason | None) -> Reason:
    """One of the contract's. said: what the merchant says of it, if anything."""
    if said is None:
        return Reason(dispute_type, dispute_type, {}, is_hidden=False)
    is_hidden = said.is_hidden and dispute_type not in ALWAYS_OFFERED
    return Reason(dispute_type, dispute_type, said.labels, is_hidden)
