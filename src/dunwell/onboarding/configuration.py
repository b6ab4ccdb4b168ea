"""From a merchant file to the configuration that is stored, and back into the file's words. Pure.

Absent keys leave what stands: at the top, in `payment` and `landingPage`, and each channel of
`channels`. The other objects (legal, contact, brand, a bank account, a channel) are stated whole.
"""

import hashlib
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET
from schwifty import IBAN

from dunwell.merchants.configuration import (
    BankAccount,
    Brand,
    ChannelSetup,
    Configuration,
    Contact,
    LandingPage,
    Legal,
    Logo,
    Payment,
    PaymentMethod,
)
from dunwell.onboarding.account_rules import list_channels
from dunwell.onboarding.file import (
    BankAccountPart,
    BrandPart,
    ContactPart,
    LegalPart,
    MerchantFile,
)

Stored = TypeVar("Stored", bound=msgspec.Struct)

_DEFAULT_CURRENCY = "EUR"


def merge_configuration(
    file: MerchantFile, logo: Logo | None, standing: Configuration | None
) -> Configuration:
    """The merchant's configuration once the file is applied; `logo` is the image it names."""
    before = standing or Configuration(file.language, file.timezone, _DEFAULT_CURRENCY)
    channels = {} if file.channels is UNSET else list_channels(file.channels)
    return Configuration(
        language=file.language,
        timezone=file.timezone,
        currency=before.currency if file.currency is UNSET else file.currency,
        legal=before.legal if file.legal is UNSET else _copy(file.legal, Legal),
        contact=before.contact if file.contact is UNSET else _copy(file.contact, Contact),
        brand=before.brand if file.brand is UNSET else _read_brand(file.brand, logo),
        landing_page=_merge_page(file, before.landing_page),
        payment=_merge_payment(file, before.payment),
        channels={
            **before.channels,
            **{name: ChannelSetup(each.adapter, each.sender) for name, each in channels.items()},
        },
    )


def render_configuration(name: str, configuration: Configuration) -> dict[str, Any]:
    """Name and configuration under the file's keys, for showing differences."""
    payment, channels = configuration.payment, configuration.channels
    return {
        "name": name,
        "language": configuration.language,
        "timezone": configuration.timezone,
        "currency": configuration.currency,
        "legal": _render(configuration.legal, LegalPart),
        "contact": _render(configuration.contact, ContactPart),
        "brand": {
            "logo": _describe_logo(configuration.brand.logo),
            "color": configuration.brand.color,
        },
        "landingPage": {"languages": list(configuration.landing_page.languages)},
        "payment": {
            "methods": [{"provider": each.provider} for each in payment.methods],
            "bankAccount": _render(payment.bank_account, BankAccountPart),
            "allocation": payment.allocation,
        },
        "channels": {
            channel: {"adapter": setup.adapter, "from": setup.sender}
            for channel, setup in channels.items()
        },
    }


def _merge_payment(file: MerchantFile, before: Payment) -> Payment:
    if file.payment is UNSET:
        return before
    account, allocation = file.payment.bank_account, file.payment.allocation
    methods = file.payment.methods
    return Payment(
        methods=(
            before.methods
            if methods is UNSET
            else tuple(PaymentMethod(each.provider) for each in methods)
        ),
        bank_account=before.bank_account if account is UNSET else _read_account(account),
        allocation=before.allocation if allocation is UNSET else allocation,
    )


def _merge_page(file: MerchantFile, before: LandingPage) -> LandingPage:
    if file.landing_page is UNSET or file.landing_page.languages is UNSET:
        return before
    return LandingPage(tuple(file.landing_page.languages))


def _read_brand(part: BrandPart, logo: Logo | None) -> Brand:
    return Brand(logo, None if part.color is None else part.color.lower())


def _describe_logo(logo: Logo | None) -> str | None:
    """Enough to tell one image from another."""
    if logo is None:
        return None
    digest = hashlib.sha256(logo.content).hexdigest()[:8]
    return f"{logo.content_type}, {len(logo.content)} bytes, {digest}"


def _read_account(part: BankAccountPart) -> BankAccount:
    """IBAN and BIC without spaces, in capitals."""
    bic = None if part.bic is None else part.bic.replace(" ", "").upper()
    return BankAccount(iban=IBAN(part.iban).compact, holder=part.holder, bic=bic)


def _copy(part: msgspec.Struct, shape: type[Stored]) -> Stored:
    return shape(**msgspec.structs.asdict(part))


def _render(stored: msgspec.Struct | None, shape: type[msgspec.Struct]) -> Any:
    return None if stored is None else msgspec.to_builtins(_copy(stored, shape))
