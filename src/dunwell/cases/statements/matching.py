"""Decide which claims a payment on a bank statement belongs to.

The rules are tried in a fixed order, and each decision says which rule made it. A rule that is not
certain makes a proposal, which a person accepts or not. A name never decides anything. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dunwell.cases.statements.covering_sets import find_covering_sets
from dunwell.cases.statements.formats.coded_text import CodedText, build_amount
from dunwell.cases.statements.match_reasons import build_reason
from dunwell.core.claims.reference_forms import (
    WrittenReferences,
    is_short,
    normalize_reference,
)
from dunwell.core.claims.states import ACTIVE, Status


class MatchRule(StrEnum):
    # In the order in which they are tried.
    CHECKED_REFERENCE = "CHECKED_REFERENCE"
    REFERENCE = "REFERENCE"
    MANDATE = "MANDATE"
    DAMAGED_REFERENCE = "DAMAGED_REFERENCE"
    COVERING_SET = "COVERING_SET"
    # Proposals only.
    SHORT_NUMBER = "SHORT_NUMBER"
    PAYER_ACCOUNT = "PAYER_ACCOUNT"
    # Transactions that are no payment of a debtor, and decisions of a person.
    PAYOUT = "PAYOUT"
    RETURN = "RETURN"
    BY_HAND = "BY_HAND"
    WITHOUT_CLAIM = "WITHOUT_CLAIM"


@dataclass(frozen=True, slots=True)
class CandidateClaim:
    """A claim that a payment may belong to."""

    claim_id: int
    reference_number: str
    currency: str
    status: Status
    # What is still owed after the payments of the set that were matched before.
    outstanding_cents: int
    customer_number: str | None = None


@dataclass(frozen=True, slots=True)
class ArrivedMoney:
    """A payment that arrived."""

    amount_cents: int
    currency: str
    written: WrittenReferences
    # Texts that may be the end-to-end ids and the mandate references of debits.
    debit_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class MatchCandidates:
    """The claims that a payment may belong to, by how they were found."""

    # Claims whose reference number, in any form, is in the text.
    by_reference: Sequence[CandidateClaim] = ()
    # End-to-end ids and mandate references of direct debits -> their claims.
    by_debit: Mapping[str, CandidateClaim] | None = None
    # Claims that were paid from the same account before.
    by_payer: Sequence[CandidateClaim] = ()
    # Further claims of the customers whose claims were found.
    of_customer: Sequence[CandidateClaim] = ()


@dataclass(frozen=True, slots=True)
class MatchPart:
    claim_id: int
    cents: int


@dataclass(frozen=True, slots=True)
class MatchSuggestion:
    """Claims that a payment may belong to, with the cents for each, and why."""

    parts: tuple[MatchPart, ...]
    rule: MatchRule
    explanation: CodedText


@dataclass(frozen=True, slots=True)
class MatchDecision:
    """`match` is booked at once. If it is None, a person decides, and `proposals` are suggested."""

    match: MatchSuggestion | None
    proposals: tuple[MatchSuggestion, ...] = ()


def decide_match(
    money: ArrivedMoney, candidates: MatchCandidates, tolerance_cents: int = 0
) -> MatchDecision:
    """Return the claims that the payment belongs to, or proposals for a person."""
    matcher = _Matcher(money, candidates, tolerance_cents)
    from_texts: list[MatchSuggestion] = []
    first: list[MatchSuggestion] = []
    for list_group in (
        matcher.list_checked, matcher.list_whole, matcher.list_mandate, matcher.list_damaged,
    ):  # fmt: skip
        group = list(list_group())
        from_texts += group
        if group and not first:
            first = group
            if len({each.parts for each in first}) == 1 and matcher.is_automatic(first[0]):
                return MatchDecision(first[0])
    sets = matcher.list_named_sets(first) or matcher.list_named_sets(from_texts)
    if sets:
        return MatchDecision(sets[0])
    proposals = [
        *from_texts, *matcher.list_short(), *matcher.list_payer(), *matcher.list_customer_sets(),
    ]  # fmt: skip
    return MatchDecision(None, tuple(_drop_repeated(proposals)))


class _Matcher:
    def __init__(
        self, money: ArrivedMoney, candidates: MatchCandidates, tolerance_cents: int
    ) -> None:
        self._money = money
        self._candidates = candidates
        self._tolerance = tolerance_cents
        self._claims = {
            each.claim_id: each
            for each in (
                *candidates.of_customer,
                *candidates.by_payer,
                *candidates.by_reference,
                *(candidates.by_debit or {}).values(),
            )
            if each.currency == money.currency
        }

    def list_checked(self) -> Iterator[MatchSuggestion]:
        for claim, normal in self._list_named():
            written = self._money.written.checked.get(normal)
            if written is not None and self._is_exact(claim):
                yield self._suggest(claim, MatchRule.CHECKED_REFERENCE, written=written)

    def list_whole(self) -> Iterator[MatchSuggestion]:
        for claim, normal in self._list_named():
            number = claim.reference_number
            is_checked = normal in self._money.written.checked
            if is_checked or (number in self._money.written.as_written and not is_short(normal)):
                yield self._suggest(claim, MatchRule.REFERENCE, reference=number)

    def list_mandate(self) -> Iterator[MatchSuggestion]:
        for number in self._money.debit_ids:
            claim = (self._candidates.by_debit or {}).get(number)
            if claim is not None and claim.currency == self._money.currency:
                yield self._suggest(claim, MatchRule.MANDATE, number=number)

    def list_damaged(self) -> Iterator[MatchSuggestion]:
        for claim, normal in self._list_named():
            written = self._money.written.normal.get(normal)
            if written is not None and not is_short(normal):
                yield self._suggest(
                    claim, MatchRule.DAMAGED_REFERENCE,
                    written=written, reference=claim.reference_number,
                )  # fmt: skip

    def list_short(self) -> Iterator[MatchSuggestion]:
        for claim, normal in self._list_named():
            if is_short(normal) and normal not in self._money.written.checked:
                yield self._suggest(claim, MatchRule.SHORT_NUMBER, reference=claim.reference_number)

    def list_payer(self) -> Iterator[MatchSuggestion]:
        for claim in self._candidates.by_payer:
            if claim.currency == self._money.currency and self._is_exact(claim):
                yield self._suggest(claim, MatchRule.PAYER_ACCOUNT)

    def list_named_sets(self, found: Sequence[MatchSuggestion]) -> list[MatchSuggestion]:
        """Return one suggestion for all claims that were found, if the payment is exactly what they
        owe together."""
        named = {each.parts[0].claim_id for each in found}
        claims = [self._claims[each] for each in sorted(named) if each in self._claims]
        total = sum(claim.outstanding_cents for claim in claims)
        are_open = all(each.status in ACTIVE and each.outstanding_cents > 0 for each in claims)
        if len(claims) < 2 or not are_open or total != self._money.amount_cents:
            return []
        return [self._suggest_set(claims, "NAMED_SET")]

    def list_customer_sets(self) -> list[MatchSuggestion]:
        owed = {
            each.claim_id: each.outstanding_cents
            for each in self._claims.values()
            if each.status in ACTIVE
        }
        found = find_covering_sets(self._money.amount_cents, owed, self._tolerance)
        return [
            self._suggest_set([self._claims[each] for each in sorted(chosen)], "CUSTOMER_SET")
            for chosen in found.sets
        ]

    def is_automatic(self, suggestion: MatchSuggestion) -> bool:
        """Return whether the payment is booked without a person. A payment that names the claim
        exactly is also booked if it is more than the claim owes: the surplus is shown."""
        claim = self._claims.get(suggestion.parts[0].claim_id)
        if claim is None or claim.status not in (*ACTIVE, Status.COLLECTED):
            return False
        is_surplus = self._money.amount_cents > claim.outstanding_cents + self._tolerance
        return not is_surplus or suggestion.rule is not MatchRule.DAMAGED_REFERENCE

    def _list_named(self) -> Iterator[tuple[CandidateClaim, str]]:
        """Yield the claims that the text may name, with the normal form of their numbers."""
        for claim in self._candidates.by_reference:
            if claim.currency != self._money.currency:
                continue
            normal = normalize_reference(claim.reference_number)
            written = self._money.written
            if normal in written.normal or normal in written.checked:
                yield claim, normal

    def _is_exact(self, claim: CandidateClaim) -> bool:
        difference = abs(self._money.amount_cents - claim.outstanding_cents)
        return claim.outstanding_cents > 0 and difference <= self._tolerance

    def _suggest(self, claim: CandidateClaim, rule: MatchRule, **facts: str) -> MatchSuggestion:
        """Suggest one claim. The name of the rule is also the code of the text for its basis."""
        text = build_reason(
            "SUGGESTION", basis=build_reason(rule, **facts), comparison=self._compare_amount(claim)
        )
        part = MatchPart(claim.claim_id, self._money.amount_cents)
        return MatchSuggestion((part,), rule, text)

    def _suggest_set(self, claims: Sequence[CandidateClaim], code: str) -> MatchSuggestion:
        """Divide the payment among the claims. The last claim gets the rest, which may differ from
        what it owes by the tolerance."""
        parts, left = [], self._money.amount_cents
        for claim in claims[:-1]:
            parts.append(MatchPart(claim.claim_id, min(claim.outstanding_cents, left)))
            left -= parts[-1].cents
        parts.append(MatchPart(claims[-1].claim_id, left))
        numbers = ", ".join(each.reference_number for each in claims)
        text = build_reason(code, references=numbers)
        return MatchSuggestion(tuple(parts), MatchRule.COVERING_SET, text)

    def _compare_amount(self, claim: CandidateClaim) -> CodedText:
        owed, paid = claim.outstanding_cents, self._money.amount_cents
        if paid == owed:
            code = "EXACT"
        elif self._is_exact(claim):
            code = "TOLERATED"
        else:
            code = "PART" if paid < owed else "SURPLUS"
        return build_reason(code, owed=build_amount(owed, self._money.currency))


def _drop_repeated(found: Sequence[MatchSuggestion]) -> Iterator[MatchSuggestion]:
    """Yield each suggestion of claims once, with the first rule that made it."""
    seen = set()
    for each in found:
        if each.parts not in seen:
            seen.add(each.parts)
            yield each
