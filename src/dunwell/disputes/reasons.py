"""For what reasons a claim can be disputed: the contract's list, and what a merchant makes of it.

A merchant may hide reasons from debtors, word them anew, and add its own, which the contract has no
name for: in events they are OTHER. NOT_MY_DEBT and OTHER are always offered, so that nobody is left
without a way to object (CONTRACT 10). Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from dunwell.merchants.configuration import Disputes


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


@dataclass(frozen=True, slots=True)
class Reason:
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
    said = {each.type: each for each in disputes.reasons}
    reasons = [
        Reason(each, each, said[each].labels if each in said else {}, _is_hidden(each, disputes))
        for each in DisputeType
    ]
    own = [
        Reason(each.type, DisputeType.OTHER, each.labels, each.is_hidden)
        for each in disputes.reasons
        if each.type not in set(DisputeType)
    ]
    return [*reasons[:-1], *own, reasons[-1]]


def list_offered(disputes: Disputes) -> list[Reason]:
    """What debtors choose from."""
    return [each for each in list_reasons(disputes) if not each.is_hidden]


def _is_hidden(dispute_type: DisputeType, disputes: Disputes) -> bool:
    hidden = {each.type for each in disputes.reasons if each.is_hidden}
    return dispute_type in hidden and dispute_type not in ALWAYS_OFFERED
