"""The costs of messages by provider."""

from decimal import Decimal

import msgspec
import pytest

from dunwell.accounts.installation.delivery_providers import Credentials, TwilioProvider
from dunwell.cases.rollout.preview.costs import (
    MessageCost,
    PriceableMessages,
    PricedProvider,
    compute_costs,
)
from dunwell.contact.sending.report import PricedMessage, compute_number_country, compute_price

_PROVIDER = TwilioProvider(
    channel="SMS", credentials=Credentials(user="AC", password_file="t"),
    prices={"DE": 7.5, "*": 12},
)  # fmt: skip


@pytest.mark.parametrize(
    ("weight", "cents"),
    [
        (PricedMessage(1, "DE"), "7.5"),
        (PricedMessage(3, "DE"), "22.5"),
        (PricedMessage(2, "AT"), "24"),
        (PricedMessage(1), "12"),
    ],
)
def test_a_message_costs_its_parts_by_its_country(weight: PricedMessage, cents: str) -> None:
    assert compute_price(_PROVIDER, weight) == Decimal(cents)


def test_a_provider_without_a_price_gives_no_cost() -> None:
    provider = TwilioProvider(channel="SMS", credentials=_PROVIDER.credentials, prices={"DE": 7})
    assert compute_price(provider, PricedMessage(1, "AT")) is None


def test_the_country_of_a_number_is_found() -> None:
    numbers = ["+4915112345678", "+436641234567", "+1", "x"]
    assert [compute_number_country(each) for each in numbers] == ["DE", "AT", "ZZ", "ZZ"]


@pytest.mark.parametrize(
    ("provider", "units", "country", "spent"),
    [
        (PricedProvider("sms", _PROVIDER), 2, "DE", MessageCost(3, 0, Decimal(45))),
        # No provider, an unknown size, a country without a price.
        (None, 2, "DE", MessageCost(3, 3)),
        (PricedProvider("sms", _PROVIDER), None, "DE", MessageCost(3, 3)),
        (
            PricedProvider("sms", msgspec.structs.replace(_PROVIDER, prices={"AT": 8})),
            2,
            "DE",
            MessageCost(3, 3),
        ),
    ],
)
def test_messages_without_a_price_are_counted_separately(
    provider: PricedProvider | None, units: int | None, country: str, spent: MessageCost
) -> None:
    costs = compute_costs([], [PriceableMessages(3, "SMS", provider, country, units)])
    assert (costs.before, costs.after) == (MessageCost(), spent)
