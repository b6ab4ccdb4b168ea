"""What a debtor wants to pay and by which methods, as parsed from addresses and forms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import get_args

import msgspec

from dunwell.accounts.merchants.configuration import PartialPaymentSettings, PaymentMeans
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.cases.payments.choice import (
    PartBounds,
    PayableGroup,
    PaymentChoice,
    PaymentChoiceKind,
    allow_instalment,
    choose_items,
    compute_part_bounds,
    list_payable_groups,
    sum_outstanding,
)
from dunwell.cases.payments.provider import PaymentProviders
from dunwell.cases.payments.record_payment import render_provider_name
from dunwell.core.claims.balance import OwedItem
from dunwell.interfaces.landing.session.facts import PageClaim
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.states import decide_state, find_next_instalment, is_payable
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.amounts import parse_amount

_MAX_DIGITS = 12
# The query parameters that hold a choice.
FIELDS = ("want", "amount", "item", "cents", "items")
Query = Mapping[str, Sequence[str]]


class RefusedChoice(StrEnum):
    """Why an entered amount or a selection of items cannot be paid."""

    UNREADABLE = "UNREADABLE"
    TOO_SMALL = "TOO_SMALL"
    TOO_GREAT = "TOO_GREAT"
    NO_ITEM = "NO_ITEM"
    # The choice in the address or form is no longer available.
    CHANGED = "CHANGED"


@dataclass(frozen=True, slots=True)
class PaymentOptions:
    """The amounts of a claim that can be paid now."""

    outstanding_cents: int
    # None if the debtor cannot enter an amount.
    bounds: PartBounds | None
    # Empty if the debtor cannot choose items.
    groups: Sequence[PayableGroup]

    @property
    def whole(self) -> PaymentChoice:
        return PaymentChoice(PaymentChoiceKind.WHOLE, self.outstanding_cents)

    @property
    def has_choice(self) -> bool:
        """Return whether anything but the whole amount can be chosen."""
        return self.bounds is not None or bool(self.groups)


def compute_options(
    facts: PageClaim, partial: PartialPaymentSettings | None, *, shows_items: bool
) -> PaymentOptions:
    """Compute the options. `shows_items` says whether the session may see the items."""
    items = [
        OwedItem(
            item_id=each.item_id,
            position=position,
            type=each.type,
            value_cents=each.value_cents,
            allocated_cents=each.allocated_cents,
            due_on=each.due_on,
            reference=each.reference,
            item_on=each.item_on,
            fee_of=each.fee_of,
        )
        for position, each in enumerate(facts.items)
    ]
    groups = list_payable_groups(partial, items) if shows_items else []
    return PaymentOptions(sum_outstanding(items), compute_part_bounds(partial, items), groups)


def parse_choice(
    query: Query, options: PaymentOptions, currency: str, language: str
) -> PaymentChoice | RefusedChoice:
    """Parse the choice from a query. Without any parameter it is the whole amount."""
    if "items" in query:
        ids = _parse_numbers(query["items"][-1].split(","))
        return _choose_items(options, ids) or RefusedChoice.CHANGED
    if "cents" in query:
        found = _parse_numbers(query["cents"][-1:])
        part = _check_part(options, found[0]) if found else RefusedChoice.CHANGED
        return RefusedChoice.CHANGED if isinstance(part, RefusedChoice) else part
    wanted = query.get("want", [""])[-1]
    if wanted == "items":
        return (
            _choose_items(options, _parse_numbers(query.get("item", ()))) or RefusedChoice.NO_ITEM
        )
    if wanted == "part":
        cents = parse_amount(query.get("amount", [""])[-1], currency, language)
        return RefusedChoice.UNREADABLE if cents is None else _check_part(options, cents)
    return options.whole


def parse_submitted_choice(
    form: Mapping[str, str], options: PaymentOptions, currency: str
) -> PaymentChoice | None:
    """Parse the choice of a form. Return None if its amount is no longer the one that the page
    showed."""
    choice_fields = {name: [form[name]] for name in ("cents", "items") if name in form}
    choice = parse_choice(choice_fields, options, currency, "")
    if isinstance(choice, RefusedChoice) or form.get("shown") != str(choice.cents):
        return None
    return choice


def render_choice(choice: PaymentChoice) -> str:
    """Render the choice as a query parameter."""
    if choice.kind is PaymentChoiceKind.PART:
        return f"cents={choice.cents}"
    if choice.kind is PaymentChoiceKind.ITEMS:
        return f"items={','.join(map(str, choice.item_ids))}"
    return "want=whole"


def _check_part(options: PaymentOptions, cents: int) -> PaymentChoice | RefusedChoice:
    if cents == options.outstanding_cents:
        return options.whole
    bounds = options.bounds
    if cents > options.outstanding_cents:
        return RefusedChoice.TOO_GREAT
    if bounds is None or cents < bounds.min_cents:
        return RefusedChoice.TOO_SMALL
    return PaymentChoice(PaymentChoiceKind.PART, cents)


def _choose_items(options: PaymentOptions, ids: Sequence[int]) -> PaymentChoice | None:
    """Choose items. If all items are chosen, the choice is the whole amount."""
    choice = choose_items(options.groups, ids)
    if choice is not None and choice.cents == options.outstanding_cents:
        return options.whole
    return choice


def _parse_numbers(texts: Sequence[str]) -> list[int]:
    """Parse numbers. Return an empty list if one of them is invalid."""
    if not all(text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS for text in texts):
        return []
    return [int(text) for text in texts]


# These providers show the wallets of the debtor's device next to the card's fields.
_KINDS_WITH_WALLETS = frozenset({"STRIPE"})


class ShownMethod(msgspec.Struct, frozen=True, gc=False):
    """A payment method as the pages offer it."""

    # The name of the provider's account in the configuration.
    name: str
    # The provider as pages show it.
    label: str
    # The means of payment. None if the provider's page asks for it.
    means: PaymentMeans | None = None
    # Whether the provider offers Apple Pay and Google Pay with a card.
    has_wallets: bool = False


def parse_means(text: str) -> PaymentMeans | None:
    """Parse the means of payment in a form. Return None if it is missing or unknown. This does not
    check whether the merchant offers it."""
    return next((each for each in get_args(PaymentMeans) if each == text), None)


def list_methods(providers: PaymentProviders, merchant: Merchant) -> list[ShownMethod]:
    """List the merchant's payment providers that are installed and not closed, in the merchant's
    order."""
    return [
        ShownMethod(
            each.provider,
            render_provider_name(provider.kind),
            means=each.means,
            has_wallets=each.means == "CARD" and provider.kind in _KINDS_WITH_WALLETS,
        )
        for each in merchant.configuration.payment.methods
        if (provider := providers.get(each.provider)) is not None and not provider.is_closed
    ]


def accepts_transfers(merchant: Merchant) -> bool:
    return merchant.configuration.payment.bank_account is not None


def has_method(providers: PaymentProviders, merchant: Merchant) -> bool:
    """Return whether the merchant offers a way to pay."""
    return accepts_transfers(merchant) or bool(list_methods(providers, merchant))


def can_pay(site: DebtorSite, opened: OpenedClaim) -> bool:
    state = decide_state(opened.facts, opened.merchant.now(site.resources.clock))
    return is_payable(state) and has_method(site.providers, opened.merchant)


def get_options(opened: OpenedClaim) -> PaymentOptions:
    partial = opened.merchant.configuration.payment.partial
    shows_items = opened.session.level.reaches(Level.FACT)
    instalment = find_next_instalment(opened.modality) if shows_items else None
    partial = allow_instalment(partial, None if instalment is None else instalment.left_cents)
    return compute_options(opened.facts, partial, shows_items=shows_items)
