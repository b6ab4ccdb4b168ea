"""Try the rules of a rulebook on a stored or a hypothetical claim: what it would get, and why.
Nothing is changed."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Cents
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.matching import (
    SPLIT_POSITIONS,
    MatchedClaim,
    RuleMatch,
    match_rules,
    match_rules_at_position,
)
from dunwell.cases.assignment.rulebook import Rulebook, compute_today, load_claim_facts
from dunwell.core.claims.conditions import ConditionFacts
from dunwell.core.workflows.definition import FeeType
from dunwell.core.workflows.definition_rules import build_currency_fault, build_language_fault
from dunwell.platform.errors import Fault, NotFound, ValidationError
from dunwell.platform.text.codes import is_country, is_currency, is_language
from dunwell.platform.text.shape import convert_if_valid, find_faults
from dunwell.platform.text.texts import find_unprintable


class HypotheticalClaim(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True
):
    """A claim described by the properties that rules test. Omitted properties are unknown. It
    always has a PRIMARY item."""

    outstanding: Cents
    # If omitted, it equals the outstanding amount: nothing was paid.
    total: Cents | None = None
    # If omitted, the merchant's currency.
    currency: str | None = None
    # Decides splits. If omitted, each possible result is returned with its percentage.
    claim_id: Annotated[int, Meta(ge=1, le=2**63 - 1)] | None = None
    age: Annotated[int, Meta(ge=0, le=150)] | None = None
    primary_age_days: Annotated[int, Meta(ge=-3_650, le=100_000)] | None = None
    # The types of its fees, in addition to the PRIMARY item.
    fees: list[FeeType] = []
    country: str | None = None
    language: str | None = None
    city: str | None = None
    postal_code: str | None = None
    email: str | None = None
    mobile_number: str | None = None
    # True if street and city are known.
    address: bool = False
    custom_fields: dict[str, str] = {}


def parse_hypothetical_claim(value: object) -> HypotheticalClaim:
    """Parse the description of a claim from a JSON or YAML document. Raises ValidationError with
    all faults."""
    faults = [*find_faults(value, HypotheticalClaim), *find_unprintable(value)]
    claim = convert_if_valid(value, HypotheticalClaim)
    if claim is not None:
        faults += _list_code_faults(claim)
    if faults or claim is None:
        raise ValidationError(faults)
    return claim


def build_claim_facts(
    claim: HypotheticalClaim, merchant_currency: str, today: date
) -> MatchedClaim:
    """Build the facts of the claim as if it existed today, in the merchant's time zone."""
    outstanding = int(claim.outstanding)
    days = claim.primary_age_days
    conditions = ConditionFacts(
        outstanding_cents=outstanding,
        total_cents=outstanding if claim.total is None else int(claim.total),
        today=today,
        first_primary_on=None if days is None else today - timedelta(days=days),
        item_types=frozenset(["PRIMARY", *claim.fees]),
        date_of_birth=None if claim.age is None else _compute_birthday(claim.age, today),
        language=claim.language,
        country=claim.country,
        city=claim.city,
        postal_code=claim.postal_code,
        email=claim.email,
        mobile_number=claim.mobile_number,
        has_address=claim.address,
        custom_fields=claim.custom_fields,
    )
    return MatchedClaim(claim.claim_id, claim.currency or merchant_currency, conditions)


def _list_code_faults(claim: HypotheticalClaim) -> Iterator[Fault]:
    if claim.currency is not None and not is_currency(claim.currency):
        yield build_currency_fault(claim.currency, "/currency")
    if claim.language is not None and not is_language(claim.language):
        yield build_language_fault(claim.language, "/language")
    if claim.country is not None and not is_country(claim.country):
        message = f'"{claim.country}" is not a country code; use an ISO 3166-1 code such as "DE".'
        yield Fault("/country", message, "UNKNOWN_COUNTRY")
    if claim.total is not None and int(claim.total) < int(claim.outstanding):
        message = "The total includes the outstanding amount; make it at least as large."
        yield Fault("/total", message, "NEVER_TRUE")


def _compute_birthday(age: int, today: date) -> date:
    """Return a birthday on which the debtor has this age today."""
    year, is_leap_day = today.year - age, (today.month, today.day) == (2, 29)
    return date(year, 2, 28) if is_leap_day else today.replace(year=year)


@dataclass(frozen=True, slots=True)
class PossibleMatch:
    """The match that this percentage of such claims would get."""

    percent: int
    match: RuleMatch


async def try_claim(
    work: Work, rulebook: Rulebook, claim: int | HypotheticalClaim
) -> tuple[PossibleMatch, ...]:
    """Return what the claim would get. A claim without an id that reaches a split has several
    results, the largest first.

    `claim` is the id of a stored claim, in its present state, or a description. Raises NotFound.
    """
    work.require(Right.READ_CLAIMS)
    return list_possible_matches(rulebook, await get_claim_facts(work, claim))


def list_possible_matches(rulebook: Rulebook, facts: MatchedClaim) -> tuple[PossibleMatch, ...]:
    """Return what a claim with these facts would get."""
    if facts.claim_id is not None:
        match = match_rules(
            rulebook.rules,
            facts=facts.conditions,
            currency=facts.currency,
            targets=rulebook.targets,
            claim_id=facts.claim_id,
        )
        return (PossibleMatch(SPLIT_POSITIONS, match),)
    counted = Counter(
        match_rules_at_position(
            rulebook.rules,
            facts=facts.conditions,
            currency=facts.currency,
            targets=rulebook.targets,
            position=position,
        )
        for position in range(SPLIT_POSITIONS)
    )
    return tuple(PossibleMatch(percent, match) for match, percent in counted.most_common())


async def get_claim_facts(work: Work, claim: int | HypotheticalClaim) -> MatchedClaim:
    """Return the facts of the claim that rules test. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    today = compute_today(work)
    if isinstance(claim, HypotheticalClaim):
        return build_claim_facts(claim, work.merchant.configuration.currency, today)
    facts = await load_claim_facts(work.tx, work.merchant_id, claim, today)
    if facts is None:
        raise NotFound(f"There is no claim {claim}.")
    return facts
