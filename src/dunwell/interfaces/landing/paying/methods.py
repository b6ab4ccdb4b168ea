"""Whether, by which ways and how much of a claim can be paid from its pages."""

import msgspec

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.cases.payments.choice import allow_rate
from dunwell.cases.payments.provider import Providers
from dunwell.cases.payments.record_payment import label_provider
from dunwell.interfaces.landing.paying.choosing import Options, find_options
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.states import decide_state, find_next_rate, is_payable
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.interfaces.landing.web.site import DebtorSite


class Method(msgspec.Struct, frozen=True, gc=False):
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


def can_pay(site: DebtorSite, opened: OpenedClaim) -> bool:
    state = decide_state(opened.facts, opened.merchant.now(site.resources.clock))
    return is_payable(state) and has_method(site.providers, opened.merchant)


def list_options(opened: OpenedClaim) -> Options:
    partial = opened.merchant.configuration.payment.partial
    shows_items = opened.session.level.reaches(Level.FACT)
    rate = find_next_rate(opened.modality) if shows_items else None
    partial = allow_rate(partial, None if rate is None else rate.left_cents)
    return find_options(opened.facts, partial, shows_items=shows_items)
