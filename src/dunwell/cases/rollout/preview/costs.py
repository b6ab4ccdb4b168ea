"""The costs of the contacts in a preview by the prices of the delivery providers: by channel,
provider and country, for the present version and for the draft. Costs are in cents, with fractions.
Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.cases.rollout.preview.effects import SentKey
from dunwell.contact.sending.report import UNKNOWN_COUNTRY, HasPrices, PricedMessage, compute_price

# Step id and channel -> the size of the message: the parts of an SMS, the sheets of a letter, or 1
# for an e-mail. None if it could not be measured.
Units = Mapping[tuple[int, Channel], int | None]


@dataclass(frozen=True, slots=True)
class PricedProvider:
    name: str
    provider: HasPrices


class MessageCost(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The cost of messages. `cents` covers those that have a price."""

    messages: int = 0
    # How many of them have no price: no delivery provider, none for their country, or an unknown
    # size.
    unpriced: int = 0
    cents: Decimal = Decimal(0)

    @property
    def has_no_price(self) -> bool:
        """True if there are messages and none of them has a known price."""
        return self.messages > 0 and self.messages == self.unpriced

    @property
    def whole_cents(self) -> int:
        """The cost rounded to whole cents, as it is shown for many messages."""
        return int(self.cents.to_integral_value(ROUND_HALF_UP))

    def plus(self, other: "MessageCost") -> "MessageCost":
        return MessageCost(
            self.messages + other.messages, self.unpriced + other.unpriced,
            self.cents + other.cents,
        )  # fmt: skip


class CostRow(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    channel: Channel
    # None if the channel has no delivery provider, such as the outbox.
    provider: str | None
    # None if the price does not depend on the country or the country is unknown.
    country: str | None
    before: MessageCost
    after: MessageCost


class PreviewCosts(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The costs within the previewed days under the present version and under the draft, if each
    message is accepted and nothing is paid."""

    rows: list[CostRow]
    before: MessageCost
    after: MessageCost


def compute_costs(
    before: list["PriceableMessages"], after: list["PriceableMessages"]
) -> PreviewCosts:
    """Sum up the costs by channel, provider and country."""
    sides = [_group(before), _group(after)]
    keys = sorted({key for side in sides for key in side}, key=str)
    nothing = MessageCost()
    rows = [CostRow(*key, *(side.get(key, nothing) for side in sides)) for key in keys]
    return PreviewCosts(rows, _sum(each.before for each in rows), _sum(each.after for each in rows))


@dataclass(frozen=True, slots=True)
class PriceableMessages:
    """The messages of one step through one channel to one country. `units` is the size of each
    (`Units`)."""

    messages: int
    channel: Channel
    provider: PricedProvider | None
    country: str
    units: int | None

    @property
    def key(self) -> tuple[Channel, str | None, str | None]:
        depends_on_country = self.channel != "EMAIL" and self.country != UNKNOWN_COUNTRY
        provider = self.provider.name if self.provider else None
        return self.channel, provider, self.country if depends_on_country else None

    def price(self) -> MessageCost:
        if self.provider is None or self.units is None:
            return MessageCost(self.messages, self.messages)
        price = compute_price(self.provider.provider, PricedMessage(self.units, self.country))
        if price is None:
            return MessageCost(self.messages, self.messages)
        return MessageCost(self.messages, 0, price * self.messages)


def list_priceable(
    sent: Mapping[SentKey, int], units: Units, providers: Mapping[Channel, PricedProvider]
) -> list[PriceableMessages]:
    return [
        PriceableMessages(
            messages,
            channel,
            provider=providers.get(channel),
            country=country,
            units=units.get((step_id, channel)),
        )
        for (step_id, channel, country), messages in sent.items()
    ]


def _group(
    messages: Iterable[PriceableMessages],
) -> Mapping[tuple[Channel, str | None, str | None], MessageCost]:
    costs: dict[tuple[Channel, str | None, str | None], MessageCost] = defaultdict(MessageCost)
    for each in messages:
        costs[each.key] = costs[each.key].plus(each.price())
    return costs


def _sum(spent: Iterable[MessageCost]) -> MessageCost:
    total = MessageCost()
    for each in spent:
        total = total.plus(each)
    return total
