"""Which plans and deferments a merchant accepts, and which are offered to debtors."""

from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.accounts.merchants.configuration import (
    DeferralSettings,
    ModalitySettings,
    PlanSettings,
)
from dunwell.cases.modalities.limits import (
    DeferralTerms,
    ModalityFacts,
    PlanTerms,
    Terms,
    list_terms_faults,
)
from dunwell.cases.modalities.offers import ModalityOffer, list_offers
from tests.support.modalities import OFFERED

TODAY = date(2026, 3, 2)
OWED = ModalityFacts(10240)
BY_RATE = ModalitySettings(PlanSettings(min_rate="2000"), DeferralSettings(max_days=30))


def faults(
    terms: Terms, modalities: ModalitySettings, facts: ModalityFacts = OWED
) -> list[tuple[str, str]]:
    found = list_terms_faults(terms, modalities, facts, TODAY)
    return [(each.path, each.code) for each in found]


@pytest.mark.parametrize(
    ("count", "first_on", "expected"),
    [
        (3, date(2026, 3, 2), []),
        (3, date(2026, 4, 1), []),
        (3, date(2026, 3, 1), [("/firstDate", "OUT_OF_RANGE")]),
        (3, date(2026, 4, 2), [("/firstDate", "OUT_OF_RANGE")]),
        (4, date(2026, 4, 2), [("/firstDate", "OUT_OF_RANGE"), ("/count", "NOT_ALLOWED")]),
        (0, date(2026, 3, 2), [("/count", "NOT_ALLOWED")]),
    ],
)
def test_a_plan_keeps_to_the_allowed_counts_and_first_dates(
    count: int, first_on: date, expected: list[tuple[str, str]]
) -> None:
    assert faults(PlanTerms(count, first_on), OFFERED) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, [("/count", "OUT_OF_RANGE")]),
        (2, []),
        (5, []),
        (6, [("/count", "TOO_SMALL")]),
        (37, [("/count", "OUT_OF_RANGE")]),
    ],
)
def test_a_minimum_instalment_limits_the_count(count: int, expected: list[tuple[str, str]]) -> None:
    assert faults(PlanTerms(count, TODAY), BY_RATE) == expected


def test_both_limits_apply_when_both_are_configured() -> None:
    both = ModalitySettings(PlanSettings(counts=(2, 6), min_rate="2000"))
    assert faults(PlanTerms(2, TODAY), both) == []
    assert faults(PlanTerms(3, TODAY), both) == [("/count", "NOT_ALLOWED")]
    assert faults(PlanTerms(6, TODAY), both) == [("/count", "TOO_SMALL")]


def test_each_instalment_has_at_least_a_cent() -> None:
    assert faults(PlanTerms(3, TODAY), OFFERED, ModalityFacts(2)) == [("/count", "TOO_SMALL")]


@pytest.mark.parametrize(
    ("until", "expected"),
    [
        (date(2026, 3, 2), [("/until", "OUT_OF_RANGE")]),
        (date(2026, 3, 3), []),
        (date(2026, 4, 1), []),
        (date(2026, 4, 2), [("/until", "OUT_OF_RANGE")]),
    ],
)
def test_a_deferment_ends_tomorrow_or_by_the_limit(
    until: date, expected: list[tuple[str, str]]
) -> None:
    assert faults(DeferralTerms(until), OFFERED) == expected


def test_no_payment_is_due_after_the_claims_own_limit() -> None:
    facts = ModalityFacts(10240, date(2026, 3, 20))
    assert faults(DeferralTerms(date(2026, 3, 20)), OFFERED, facts) == []
    late = faults(DeferralTerms(date(2026, 3, 21)), OFFERED, facts)
    assert late == [("/until", "OUT_OF_RANGE")]
    assert faults(PlanTerms(2, TODAY), OFFERED, facts) == [("/count", "TOO_LATE")]
    fits = ModalityFacts(10240, date(2026, 4, 2))
    assert faults(PlanTerms(2, TODAY), OFFERED, fits) == []
    over = ModalityFacts(10240, TODAY)
    assert faults(DeferralTerms(TODAY), OFFERED, over) == [("/until", "TOO_LATE")]


def test_a_modality_that_is_not_offered_is_refused() -> None:
    for terms in (PlanTerms(3, TODAY), DeferralTerms(TODAY)):
        assert faults(terms, ModalitySettings()) == [("/type", "NOT_OFFERED")]
    assert list_offers(ModalitySettings(), OWED, TODAY) == []


def test_offers_have_exact_dates_and_sums() -> None:
    offers = list_offers(OFFERED, OWED, TODAY)
    assert [each.terms for each in offers] == [
        PlanTerms(2, date(2026, 3, 16)),
        PlanTerms(3, date(2026, 3, 16)),
        PlanTerms(6, date(2026, 3, 16)),
        DeferralTerms(date(2026, 3, 9)),
        DeferralTerms(date(2026, 3, 16)),
        DeferralTerms(date(2026, 4, 1)),
    ]
    three = [(each.due_on, each.amount_cents) for each in offers[1].schedule]
    assert three == [
        (date(2026, 3, 16), 3414), (date(2026, 4, 16), 3413), (date(2026, 5, 16), 3413),
    ]  # fmt: skip
    assert [each.total_cents for each in offers] == [10240] * 6


def test_the_shortest_the_longest_and_some_other_plans_are_offered() -> None:
    large = ModalityFacts(500_000)
    counts = [
        each.terms.count
        for each in list_offers(ModalitySettings(BY_RATE.plan), large, TODAY)
        if isinstance(each.terms, PlanTerms)
    ]
    assert counts == [2, 4, 12, 36]


def test_a_plan_that_would_end_too_late_is_offered_from_tomorrow() -> None:
    facts = ModalityFacts(10240, date(2026, 4, 5))
    offers = list_offers(OFFERED, facts, TODAY)
    assert offers[0] == ModalityOffer(PlanTerms(2, date(2026, 3, 3)), offers[0].schedule)
    assert [each.terms.type for each in offers].count(offers[0].terms.type) == 1


_MODALITIES = st.builds(
    ModalitySettings,
    st.none()
    | st.builds(
        PlanSettings,
        counts=st.sets(st.integers(2, 36), max_size=8).map(tuple),
        min_rate=st.none() | st.integers(1, 50_000).map(str),
        first_date_within_days=st.integers(1, 90),
    ),
    st.none() | st.builds(DeferralSettings, max_days=st.integers(1, 365)),
)
_FACTS = st.builds(
    ModalityFacts,
    st.integers(0, 10**7),
    st.none() | st.dates(TODAY - timedelta(days=9), TODAY + timedelta(days=900)),
)


@given(_MODALITIES, _FACTS)
def test_every_offer_is_accepted_unchanged(
    modalities: ModalitySettings, facts: ModalityFacts
) -> None:
    offers = list_offers(modalities, facts, TODAY)
    assert len(offers) <= 7
    assert len({each.terms for each in offers}) == len(offers)
    for offer in offers:
        assert list_terms_faults(offer.terms, modalities, facts, TODAY) == []
        assert offer.total_cents == facts.outstanding_cents
        assert all(a.due_on < b.due_on for a, b in pairwise(offer.schedule))


@pytest.mark.parametrize("bounds", [OFFERED, BY_RATE])
def test_an_ordinary_claim_has_two_to_seven_offers(bounds: ModalitySettings) -> None:
    for cents in (5000, 10240, 500_000):
        assert 2 <= len(list_offers(bounds, ModalityFacts(cents), TODAY)) <= 7
