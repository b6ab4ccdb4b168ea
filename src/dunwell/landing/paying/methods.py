"""The ways to pay that a claim's page can offer, and what they are called. Pure."""

from dataclasses import dataclass

from dunwell.merchants.merchant import Merchant
from dunwell.payments.provider import Providers


@dataclass(frozen=True, slots=True)
class Method:
    # As the configuration names it.
    name: str
    # As people read it.
    label: str


def list_methods(providers: Providers, merchant: Merchant) -> list[Method]:
    """The providers that the merchant chose and that are installed here, in the merchant's
    order."""
    return [
        Method(each.provider, label_provider(each.provider))
        for each in merchant.configuration.payment.methods
        if each.provider in providers
    ]


def takes_transfers(merchant: Merchant) -> bool:
    return merchant.configuration.payment.bank_account is not None


def has_method(providers: Providers, merchant: Merchant) -> bool:
    """Whether there is any way to pay from the page."""
    return takes_transfers(merchant) or bool(list_methods(providers, merchant))


def label_provider(name: str) -> str:
    return name[:1].upper() + name[1:]
