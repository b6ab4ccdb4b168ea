"""The offer made to a debtor instead of a refused plan or deferment."""

from datetime import date, timedelta
from itertools import accumulate

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dunwell.accounts.merchants.configuration import (
    DeferralSettings,
    ModalitySettings,
    PlanSettings,
)
from dunwell.cases.modalities.instalments import Instalment
from dunwell.cases.modalities.limits import (
    MAX_INSTALMENTS,
    DeferralTerms,
    ModalityFacts,
    PlanTerms,
    Terms,
    list_terms_faults,
)
from dunwell.cases.modalities.offers import find_nearest_offer, list_offered_deferrals

TODAY = date(2026, 3, 2)
OWED = ModalityFacts(10240)
OFFERED = ModalitySettings(PlanSettings(counts=(2, 3, 6)), DeferralSettings(max_days=30))
PLANS = st.builds(
    PlanSettings,
    # Few numbers, so that the request is often among the offers.
    counts=st.just(())
    | st.lists(st.integers(2, 8), unique=True, min_size=1).map(lambda each: tuple(sorted(each))),
    min_rate=st.integers(1, 2_000).map(str),
    first_date_within_days=st.integers(30, 90),
)
BOUNDS = st.builds(
    ModalitySettings,
    plan=PLANS | st.none(),
    deferment=st.none() | st.builds(DeferralSettings, max_days=st.integers(1, 365)),
)
DAYS = st.dates(TODAY - timedelta(days=5), TODAY + timedelta(days=60))
COUNTS = st.integers(2, 8) | st.integers(2, MAX_INSTALMENTS)
ASKED = st.builds(PlanTerms, count=COUNTS, first_on=DAYS) | st.builds(DeferralTerms, until=DAYS)
FACTS = st.builds(
    ModalityFacts,
    outstanding_cents=st.integers(1, 500_000),
    max_deferral_on=st.none() | st.dates(TODAY, TODAY + timedelta(days=400)),
)
REFUSED = st.lists(ASKED, min_size=1, max_size=3)


def find(
    *refused: Terms, bounds: ModalitySettings = OFFERED, facts: ModalityFacts = OWED
) -> Terms | None:
    found = find_nearest_offer(refused, bounds, facts, TODAY)
    return None if found is None else found.terms


def plan(count: int, day: str) -> PlanTerms:
    return PlanTerms(count, date.fromisoformat(day))


def until(day: str) -> DeferralTerms:
    return DeferralTerms(date.fromisoformat(day))


@pytest.mark.parametrize(
    ("refused", "offered"),
    [
        # The next number of instalments below, from the same day.
        ([plan(6, "2026-03-20")], plan(3, "2026-03-20")),
        # Below every refused request, and not only below the last one.
        ([plan(6, "2026-03-20"), plan(3, "2026-03-16")], plan(2, "2026-03-20")),
        ([plan(3, "2026-03-20"), plan(6, "2026-03-16")], plan(2, "2026-03-20")),
        # No smaller plan is left: the whole amount on the day of the first instalment.
        ([plan(2, "2026-03-20")], until("2026-03-20")),
        # That was refused as well.
        ([plan(2, "2026-03-20"), until("2026-03-09")], until("2026-03-08")),
        # The first day has passed, so the usual first day is offered.
        ([plan(6, "2026-03-02")], plan(3, "2026-03-16")),
        ([plan(6, "2026-02-20")], plan(3, "2026-03-16")),
        # The latest offered day before the refused one.
        ([until("2026-04-01")], until("2026-03-16")),
        ([until("2026-03-20")], until("2026-03-16")),
        ([until("2026-03-16")], until("2026-03-09")),
        ([until("2026-03-09")], None),
    ],
)
def test_the_nearest_offer_is_the_next_smaller_request(
    refused: list[Terms], offered: Terms | None
) -> None:
    assert find(*refused) == offered


def test_without_offers_of_the_merchant_there_is_no_nearest_offer() -> None:
    assert find(plan(6, "2026-03-20"), bounds=ModalitySettings()) is None
    assert find(until("2026-03-20"), bounds=ModalitySettings()) is None
    assert find(plan(6, "2026-03-20"), facts=ModalityFacts(0)) is None
    assert find(until("2026-03-20"), facts=ModalityFacts(0)) is None


@given(REFUSED, BOUNDS, FACTS)
def test_the_nearest_offer_is_within_the_merchants_limits_and_adds_up(
    refused: list[Terms], bounds: ModalitySettings, facts: ModalityFacts
) -> None:
    offer = find_nearest_offer(refused, bounds, facts, TODAY)
    assume(offer is not None)
    assert offer is not None
    assert list_terms_faults(offer.terms, bounds, facts, TODAY) == []
    assert offer.total_cents == facts.outstanding_cents
    assert offer.schedule == offer.terms.schedule(facts.outstanding_cents)


@given(REFUSED, BOUNDS, FACTS)
def test_the_nearest_offer_asks_for_less_than_every_refused_request(
    refused: list[Terms], bounds: ModalitySettings, facts: ModalityFacts
) -> None:
    terms = find(*refused, bounds=bounds, facts=facts)
    if isinstance(terms, PlanTerms):
        assert all(terms.count < each.count for each in refused if isinstance(each, PlanTerms))
    if isinstance(terms, DeferralTerms):
        days = [each.until for each in refused if isinstance(each, DeferralTerms)]
        assert all(terms.until < each for each in days)


@given(ASKED, BOUNDS, FACTS)
def test_the_nearest_offer_pays_no_later_than_the_refused_request(
    asked: Terms, bounds: ModalitySettings, facts: ModalityFacts
) -> None:
    """This holds only while the first requested day has not passed."""
    offer = find_nearest_offer([asked], bounds, facts, TODAY)
    assume(offer is not None)
    assert offer is not None
    first_on = asked.first_on if isinstance(asked, PlanTerms) else asked.until
    assume(offer.schedule[0].due_on <= first_on)
    before = asked.schedule(facts.outstanding_cents)
    for day in {each.due_on for each in (*before, *offer.schedule)}:
        assert _sum_by(day, offer.schedule) >= _sum_by(day, before)


@given(ASKED, BOUNDS, FACTS)
def test_no_acceptable_offer_is_nearer_to_the_request(
    asked: Terms, bounds: ModalitySettings, facts: ModalityFacts
) -> None:
    terms = find(asked, bounds=bounds, facts=facts)
    if isinstance(asked, DeferralTerms):
        days = [each.until for each in list_offered_deferrals(bounds, facts, TODAY)]
        before = [each for each in days if each < asked.until]
        assert terms == (DeferralTerms(before[-1]) if before else None)
        return
    assume(asked.first_on > TODAY)
    least = terms.count if isinstance(terms, PlanTerms) else 1
    nearer = [PlanTerms(count, asked.first_on) for count in range(least + 1, asked.count)]
    if isinstance(terms, PlanTerms) and terms.first_on != asked.first_on:
        # The day is impossible even with fewer instalments.
        nearer = [PlanTerms(count, asked.first_on) for count in range(2, asked.count)]
    assert all(list_terms_faults(each, bounds, facts, TODAY) for each in nearer)


def _sum_by(day: date, schedule: tuple[Instalment, ...]) -> int:
    sums = accumulate(each.amount_cents for each in schedule if each.due_on <= day)
    return max(sums, default=0)
