"""The costs of an SMS for the names of a merchant's claims."""

from decimal import Decimal

import pytest

from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.cases.rollout.preview.preview_message import WantedMessage
from dunwell.cases.rollout.trials import sms_costs
from dunwell.cases.rollout.trials.sms_costs import SmsCosts, compute_sms_costs, prepare_sms_costs
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.harness import Harness
from tests.support.texts import a_harness_with_prices, a_texts_definition

_GERMAN, _AUSTRIAN, _SWISS = "+4915112345678", "+436641234567", "+41791234567"


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness_with_prices(resources, clock)


async def find(harness: Harness, text: str = "{{ debtor.name }}: {{ outstanding }}") -> SmsCosts:
    templates = {"first": {"SMS": {"body": {"de": text, "en": text}}}}
    async with harness.work(COMMAND_LINE) as work:
        prepared = await prepare_sms_costs(
            work, harness.resources, a_texts_definition(templates=templates),
            WantedMessage("first", "SMS", "de"),
        )  # fmt: skip
    return await compute_sms_costs(prepared)


async def test_sms_costs_use_the_names_and_countries_of_claims(harness: Harness) -> None:
    await harness.create("A-1", mobileNumber=_GERMAN, debtorLastName="Ng")
    await harness.create("A-2", mobileNumber=_GERMAN, debtorLastName="Ñ" + "n" * 200)
    await harness.create("A-3", mobileNumber=_AUSTRIAN, debtorLastName="Ωmega")
    await harness.create("A-4")

    costs = await find(harness)

    assert (costs.claims, costs.without_number, costs.too_long) == (4, 1, 0)
    by_country = [(each.country, each.messages, each.parts, each.cost) for each in costs.countries]
    assert by_country == [("DE", 2, 3, Decimal("22.5")), ("AT", 1, 1, Decimal(8))]
    assert costs.by_parts == {1: 2, 2: 1}
    assert costs.cost == Decimal("30.5")
    assert costs.longest is not None
    assert costs.longest.reference_number == "A-2"


async def test_the_total_is_unknown_with_a_country_without_a_price(harness: Harness) -> None:
    await harness.create("A-1", mobileNumber=_SWISS)

    costs = await find(harness)

    assert [(each.country, each.cost) for each in costs.countries] == [("CH", None)]
    assert costs.cost is None


async def test_a_text_that_is_refused_is_counted(harness: Harness) -> None:
    await harness.create("A-1", mobileNumber=_GERMAN)

    costs = await find(harness, "{{ debtor.name }} " * 130)

    assert (costs.too_long, costs.messages, costs.longest) == (1, 0, None)


async def test_sms_costs_use_only_the_newest_claims(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sms_costs, "MAX_CLAIMS", 2)
    await harness.create("OLD", mobileNumber=_GERMAN, debtorLastName="n" * 250)
    await harness.create("NEW-1", mobileNumber=_GERMAN)
    await harness.create("NEW-2", mobileNumber=_GERMAN)

    costs = await find(harness)

    assert (costs.claims, costs.by_parts) == (2, {1: 2})


async def test_sms_costs_of_a_merchant_without_claims_are_zero(harness: Harness) -> None:
    costs = await find(harness)

    assert (costs.claims, costs.messages, costs.cost) == (0, 0, Decimal(0))
