"""Parsing of the requested plan or deferment from a form or an address."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.accounts.merchants.configuration import (
    DeferralSettings,
    ModalitySettings,
    PlanSettings,
)
from dunwell.cases.modalities.limits import DeferralTerms, ModalityFacts, PlanTerms
from dunwell.cases.modalities.offers import compute_instalment_cents, list_offers, list_plans
from dunwell.interfaces.landing.payment_plans.modality_requests import (
    ModalityRequestFacts,
    RefusedRequest,
    is_available,
    parse_deferral,
    parse_plan,
    parse_plan_address,
    render_deferral,
)

TODAY = date(2026, 3, 2)
COUNTED = ModalitySettings(PlanSettings(counts=(2, 3, 6)), DeferralSettings(max_days=30))
BY_RATE = ModalitySettings(PlanSettings(min_rate="1000"), DeferralSettings(max_days=30))
REQUEST_FACTS = ModalityRequestFacts(COUNTED, ModalityFacts(10240), TODAY)
BY_RATE_FACTS = ModalityRequestFacts(BY_RATE, ModalityFacts(100000), TODAY)
DAY = {"first_day": "20", "first_month": "3", "first_year": "2026"}


def test_an_offer_can_be_requested_unchanged() -> None:
    plan = parse_plan({"offer": "3"}, REQUEST_FACTS, "EUR", "en")

    assert plan == PlanTerms(3, date(2026, 3, 16))


def test_an_offer_can_start_on_a_chosen_day() -> None:
    plan = parse_plan({"offer": "3", **DAY}, REQUEST_FACTS, "EUR", "en")

    assert plan == PlanTerms(3, date(2026, 3, 20))


@pytest.mark.parametrize(
    ("monthly_amount", "count"),
    [("50", 20), ("50.01", 20), ("49.99", 21), ("333.33", 4), ("333.34", 3)],
)
def test_a_monthly_amount_gives_the_fewest_instalments_within_it(
    monthly_amount: str, count: int
) -> None:
    plan = parse_plan(
        {"offer": "own", "monthly_amount": monthly_amount}, BY_RATE_FACTS, "EUR", "en"
    )

    assert plan == PlanTerms(count, date(2026, 3, 16))


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({}, [RefusedRequest.NO_CHOICE]),
        ({"offer": "4"}, [RefusedRequest.CHANGED]),
        ({"offer": "own", "monthly_amount": "fifty"}, [RefusedRequest.AMOUNT_UNREADABLE]),
        ({"offer": "own", "monthly_amount": "17.06"}, [RefusedRequest.AMOUNT_TOO_SMALL]),
        ({"offer": "own", "monthly_amount": "102.40"}, [RefusedRequest.AMOUNT_TOO_GREAT]),
        ({"offer": "3", "first_day": "20"}, [RefusedRequest.DAY_UNREADABLE]),
        ({"offer": "3", **DAY, "first_month": "2"}, [RefusedRequest.DAY_OUT_OF_RANGE]),
        ({"offer": "3", **DAY, "first_month": "4"}, [RefusedRequest.DAY_OUT_OF_RANGE]),
        ({"offer": "3", **DAY, "first_day": "32"}, [RefusedRequest.DAY_UNREADABLE]),
        ({**DAY, "first_year": "x"}, [RefusedRequest.NO_CHOICE, RefusedRequest.DAY_UNREADABLE]),
        ({"count": "4", "first": "2026-03-16"}, [RefusedRequest.CHANGED]),
        ({"count": "3", "first": "2026-04-02"}, [RefusedRequest.CHANGED]),
        ({"count": "3"}, [RefusedRequest.CHANGED]),
        ({"count": "٣", "first": "2026-03-16"}, [RefusedRequest.CHANGED]),
    ],
)
def test_an_invalid_plan_is_refused_with_every_reason(
    fields: dict[str, str], refused: list[RefusedRequest]
) -> None:
    assert parse_plan(fields, REQUEST_FACTS, "EUR", "en") == refused


def test_a_plan_that_would_end_after_the_claims_last_day_is_refused() -> None:
    request_facts = ModalityRequestFacts(COUNTED, ModalityFacts(10240, date(2026, 5, 17)), TODAY)

    assert parse_plan({"offer": "3", **DAY}, request_facts, "EUR", "en") == [
        RefusedRequest.ENDS_TOO_LATE
    ]
    assert parse_plan({"offer": "3"}, request_facts, "EUR", "en") == PlanTerms(3, date(2026, 3, 16))


@given(
    cents=st.integers(2000, 500_000),
    monthly_amount=st.integers(1, 500_000),
    least=st.integers(1, 5_000),
)
def test_the_plan_for_an_amount_never_asks_for_more_a_month(
    cents: int, monthly_amount: int, least: int
) -> None:
    bounds = ModalitySettings(PlanSettings(min_rate=str(least)))
    request_facts = ModalityRequestFacts(bounds, ModalityFacts(cents), TODAY)
    typed = f"{monthly_amount // 100}.{monthly_amount % 100:02}"

    plan = parse_plan({"offer": "own", "monthly_amount": typed}, request_facts, "EUR", "en")

    if not isinstance(plan, PlanTerms):
        possible = [
            compute_instalment_cents(each, request_facts.facts)
            for each in list_plans(bounds, request_facts.facts, TODAY)
        ]
        assert monthly_amount >= cents or monthly_amount < min(possible, default=cents)
        return
    assert max(each.amount_cents for each in plan.schedule(cents)) <= monthly_amount
    assert is_available(plan, request_facts)


def test_the_terms_in_an_address_are_parsed_unchanged() -> None:
    plan, day = PlanTerms(3, date(2026, 3, 16)), DeferralTerms(date(2026, 3, 31))
    carried = {"count": "3", "first": "2026-03-16"}

    assert parse_plan_address(carried) == plan
    assert parse_plan(carried, REQUEST_FACTS, "EUR", "en") == plan
    assert parse_deferral(_split(render_deferral(day)), REQUEST_FACTS) == day


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, RefusedRequest.NO_CHOICE),
        ({"until": "2026-03-17"}, DeferralTerms(date(2026, 3, 17))),
        ({"until": "own", **{f"on_{k}": v for k, v in (("day", "5"), ("month", "3"),
                                                           ("year", "2026"))}},
         DeferralTerms(date(2026, 3, 5))),
        ({"until": "own"}, RefusedRequest.DAY_UNREADABLE),
        ({"until": "soon"}, RefusedRequest.DAY_UNREADABLE),
        ({"until": "2026-03-02"}, RefusedRequest.DAY_OUT_OF_RANGE),
        ({"until": "2026-04-02"}, RefusedRequest.DAY_OUT_OF_RANGE),
        ({"until": "99999-01-01"}, RefusedRequest.DAY_UNREADABLE),
    ],
)  # fmt: skip
def test_a_deferment_ends_on_a_day_within_the_bounds(
    fields: dict[str, str], expected: RefusedRequest | DeferralTerms
) -> None:
    assert parse_deferral(fields, REQUEST_FACTS) == expected


def test_every_offer_on_the_page_can_be_requested() -> None:
    for request_facts in (REQUEST_FACTS, BY_RATE_FACTS):
        for offer in list_offers(request_facts.modalities, request_facts.facts, TODAY):
            assert is_available(offer.terms, request_facts)
            if isinstance(offer.terms, PlanTerms):
                chosen = parse_plan({"offer": str(offer.terms.count)}, request_facts, "EUR", "en")
                assert chosen == offer.terms


def _split(carried: str) -> dict[str, str]:
    return dict(part.split("=") for part in carried.split("&"))
